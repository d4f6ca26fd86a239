// What has come to one session, by number, over as many connections as it had. It acknowledges what it
// gets, as a subscriber does, and is never asked to forget.

import type { Socket } from 'node:net';
import type { Receiver } from './client.ts';
import { numberAt, packetIdAt, payloadBytes, puback, publish } from './frames.ts';

const acknowledgementBytes = 4;

export class SessionInbox {
  /** Different messages; and all of them. */
  distinct = 0;
  received = 0;
  /** Told after each read that brought messages. */
  onReceived: () => void = () => undefined;
  #seen = new Uint8Array(1 << 20);

  has(number: number): boolean {
    return this.#seen[number] === 1;
  }

  /** How many of the first so many are missing. */
  missingOf(count: number): number {
    let missing = 0;
    for (let number = 0; number < count; number++) if (!this.has(number)) missing++;
    return missing;
  }

  /** Takes what comes on one connection. */
  over(socket: Socket): Receiver {
    const ids: number[] = [];
    return {
      frame: (bytes, header, bodyAt, end) => {
        if ((header & 0xf0) !== publish) return;
        ids.push(bytes.readUInt16BE(packetIdAt(bytes, bodyAt)));
        this.#take(bytes.readUInt32LE(end - payloadBytes + numberAt));
      },
      readDone: () => {
        if (ids.length === 0) return;
        socket.write(acknowledgements(ids));
        ids.length = 0;
        this.onReceived();
      },
    };
  }

  #take(number: number): void {
    this.received++;
    if (this.has(number)) return;
    while (number >= this.#seen.length) this.#grow();
    this.#seen[number] = 1;
    this.distinct++;
  }

  #grow(): void {
    const larger = new Uint8Array(this.#seen.length * 2);
    larger.set(this.#seen);
    this.#seen = larger;
  }
}

function acknowledgements(ids: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(ids.length * acknowledgementBytes);
  for (const [place, id] of ids.entries()) {
    const at = place * acknowledgementBytes;
    bytes[at] = puback;
    bytes[at + 1] = 2;
    bytes.writeUInt16BE(id, at + 2);
  }
  return bytes;
}
