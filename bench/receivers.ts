// The two ends that count: a subscriber counts (and at QoS 1 acknowledges) what it is delivered, a
// publisher counts its PUBACKs. Per message this is a few loads and an addition: the generator must
// stay faster than any broker it judges.

import type { Socket } from 'node:net';
import type { Receiver } from './client.ts';
import type { Arrivals } from './flow.ts';
import { flowAt, packetIdAt, payloadBytes, puback, publish, sampledAt, sentAt } from './frames.ts';
import type { Latency } from './latency.ts';

/** Acknowledgements of one read, put together here and copied out for the write. */
const acknowledgements = Buffer.allocUnsafeSlow(64 * 1024);

export class Subscriber implements Receiver {
  received = 0;
  /** By flow index; empty when the load is not a closed loop. */
  readonly arrivals: Arrivals[] = [];
  readonly #socket: Socket;
  readonly #latency: Pick<Latency, 'record'>;
  #acknowledgementBytes = 0;

  constructor(socket: Socket, latency: Pick<Latency, 'record'>) {
    this.#socket = socket;
    this.#latency = latency;
  }

  frame(bytes: Buffer, header: number, bodyAt: number, end: number): void {
    if ((header & 0xf0) !== publish) return;
    this.received++;
    const payloadAt = end - payloadBytes;
    if (bytes[payloadAt + sampledAt] !== 0) {
      this.#latency.record(performance.now() - bytes.readDoubleLE(payloadAt + sentAt));
    }
    if ((header & 0x06) !== 0) this.#acknowledge(bytes, packetIdAt(bytes, bodyAt));
    const low = bytes[payloadAt + flowAt] ?? 0;
    const high = bytes[payloadAt + flowAt + 1] ?? 0;
    this.arrivals[low | (high << 8)]?.one();
  }

  readDone(): void {
    if (this.#acknowledgementBytes > 0) this.#flush();
  }

  #acknowledge(bytes: Buffer, idAt: number): void {
    if (this.#acknowledgementBytes === acknowledgements.length) this.#flush();
    const at = this.#acknowledgementBytes;
    acknowledgements[at] = puback;
    acknowledgements[at + 1] = 2;
    acknowledgements[at + 2] = bytes[idAt] ?? 0;
    acknowledgements[at + 3] = bytes[idAt + 1] ?? 0;
    this.#acknowledgementBytes = at + 4;
  }

  #flush(): void {
    this.#socket.write(Buffer.from(acknowledgements.subarray(0, this.#acknowledgementBytes)));
    this.#acknowledgementBytes = 0;
  }
}

export class Publisher implements Receiver {
  readonly #arrivals: Arrivals;

  constructor(arrivals: Arrivals) {
    this.#arrivals = arrivals;
  }

  frame(_bytes: Buffer, header: number): void {
    if (header === puback) this.#arrivals.one();
  }
}
