// A publisher that is judged by its PUBACKs: every message has a number of its own, so that it can be
// said later which of those that were acknowledged are missing. PUBACKs come in the order of the
// messages, hence the first `acked` of them are the acknowledged ones.

import type { Client, Receiver } from './client.ts';
import { numberAt, payloadBytes, puback, publishFrame } from './frames.ts';
import type { Latency } from './latency.ts';

/** Ids that are never in use twice: far more than are under way. */
const ids = 60_000;

export class AckedPublisher implements Receiver {
  sent = 0;
  acked = 0;
  /** Of the PUBACKs that were not for the message that was next. */
  disordered = 0;
  /** Told after each read that brought PUBACKs. */
  onAcked: () => void = () => undefined;
  readonly #client: Client;
  readonly #latency: Latency;
  readonly #frame: Buffer;
  readonly #sentAtMs = new Float64Array(ids + 1);

  constructor(client: Client, topic: string, latency: Latency) {
    this.#client = client;
    this.#latency = latency;
    this.#frame = publishFrame(topic, 1, 1, 0);
    client.receive(this);
  }

  send(count: number): void {
    const size = this.#frame.length;
    const bytes = Buffer.allocUnsafe(count * size);
    const now = performance.now();
    for (let at = 0; at < bytes.length; at += size) {
      const id = idOf(this.sent);
      this.#frame.copy(bytes, at);
      bytes.writeUInt16BE(id, at + size - payloadBytes - 2);
      bytes.writeUInt32LE(this.sent, at + size - payloadBytes + numberAt);
      this.#sentAtMs[id] = now;
      this.sent++;
    }
    this.#client.socket.write(bytes);
  }

  frame(bytes: Buffer, header: number, bodyAt: number): void {
    if (header !== puback) return;
    const id = bytes.readUInt16BE(bodyAt);
    if (id !== idOf(this.acked)) this.disordered++;
    this.#latency.record(performance.now() - (this.#sentAtMs[id] ?? 0));
    this.acked++;
  }

  readDone(): void {
    this.onAcked();
  }
}

function idOf(number: number): number {
  return (number % ids) + 1;
}
