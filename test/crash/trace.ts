// What every client sent and got, packet by packet, for whoever has to find out why a law was broken.

import { closeSync, openSync, writeSync } from 'node:fs';
import type { Packet } from '#wire/packet';
import { parsePayload } from './numbered-message.ts';

export function tracePacket(client: string, way: '→' | '←', packet: Packet): string {
  const words = [client, way, packet.type];
  if ('packetId' in packet) words.push(String(packet.packetId));
  if (packet.type === 'publish') {
    const { publisher, number } = parsePayload(packet.payload);
    words.push(packet.topic, `qos ${packet.qos}`, `"${publisher} ${number}"`);
    if (packet.dup) words.push('dup');
    if (packet.retain) words.push('retain');
  }
  if (packet.type === 'connack') words.push(packet.sessionPresent ? 'present' : 'absent');
  if (packet.type === 'subscribe') words.push(...packet.filters.map(({ filter }) => filter));
  if (packet.type === 'unsubscribe') words.push(...packet.filters);
  return words.join(' ');
}

export class TraceFile implements Disposable {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, 'a');
  }

  write(line: string): void {
    writeSync(this.#file, `${new Date().toISOString().slice(11, 23)} ${line}\n`);
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}
