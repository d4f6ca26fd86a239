// One connection of a client: packets out, packets in, and its end, told once. It survives being cut
// at any byte: what did not arrive whole was never said.

import { createConnection, type Socket } from 'node:net';
import { decodePacket } from '#wire/decode';
import { encodePacket } from '#wire/encode';
import { Framer } from '#wire/framer';
import type { Packet, ProtocolVersion } from '#wire/packet';
import { ProtocolError } from '#wire/protocol-error';

export interface LinkOwner {
  onPacket(packet: Packet): void;
  /** Nothing comes after it. A fault is something that the broker must not have sent. */
  onClosed(fault: Error | undefined): void;
}

const packetBytesMax = 1 << 20;

export class Link {
  readonly #socket: Socket;
  readonly #version: ProtocolVersion;
  readonly #owner: LinkOwner;
  readonly #framer: Framer = new Framer(packetBytesMax);
  #isOver = false;

  constructor(port: number, version: ProtocolVersion, owner: LinkOwner) {
    this.#version = version;
    this.#owner = owner;
    this.#socket = createConnection({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk));
    // A reset is one way of closing: `close` follows.
    this.#socket.on('error', () => undefined);
    this.#socket.on('close', () => this.#end(undefined));
  }

  send(packet: Packet): void {
    if (!this.#isOver) this.#socket.write(encodePacket(packet, this.#version));
  }

  /** Many packets in one write, as long as `body` runs. */
  together(body: () => void): void {
    this.#socket.cork();
    body();
    this.#socket.uncork();
  }

  /** Ends it without a word, as a lost network does. */
  cut(): void {
    this.#end(undefined);
  }

  #read(chunk: Buffer): void {
    if (this.#isOver) return;
    const sink = {
      frame: (bytes: Buffer, start: number, body: number, end: number): boolean => {
        const header = bytes[start] ?? 0;
        this.#owner.onPacket(decodePacket(header, bytes, body, end, this.#version));
        return !this.#isOver;
      },
    };
    try {
      this.#framer.push(sink, chunk, 0, chunk.length);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#end(error);
    }
  }

  #end(fault: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#socket.destroy();
    this.#owner.onClosed(fault);
  }
}
