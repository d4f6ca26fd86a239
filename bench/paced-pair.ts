// One publisher and one subscriber at a rate, QoS 0. What becomes due in a millisecond is one write, whose
// last message is timed, or each of them.

import { setTimeout as delay } from 'node:timers/promises';
import { Client } from './client.ts';
import { payloadBytes, publishFrame, sampledAt, sentAt } from './frames.ts';
import { Latency } from './latency.ts';
import { Pacer } from './pacer.ts';
import { Subscriber } from './receivers.ts';

export interface PairShape {
  /** Of its topic and its clients. */
  readonly name: string;
  readonly rate: number;
  readonly isEachTimed: boolean;
}

/** For what is still under way. */
const settleMs = 1000;

export class PacedPair {
  /** Where latencies are recorded; may be changed. */
  latency: Latency = new Latency();
  readonly #publisher: Client;
  readonly #listener: Client;
  readonly #subscriber: Subscriber;
  readonly #pacer: Pacer;
  readonly #frame: Buffer;
  readonly #isEachTimed: boolean;

  static async open(port: number, shape: PairShape): Promise<PacedPair> {
    const topic = `bench/${shape.name}`;
    const listener = await Client.open(port, `bench-${shape.name}-sub`);
    await listener.subscribe(topic, 0);
    const publisher = await Client.open(port, `bench-${shape.name}-pub`);
    return new PacedPair(publisher, listener, topic, shape);
  }

  private constructor(publisher: Client, listener: Client, topic: string, shape: PairShape) {
    this.#publisher = publisher;
    this.#listener = listener;
    const record = (ms: number): void => this.latency.record(ms);
    this.#subscriber = new Subscriber(listener.socket, { record });
    listener.receive(this.#subscriber);
    this.#frame = publishFrame(topic, 0, 0, 0);
    this.#isEachTimed = shape.isEachTimed;
    this.#pacer = new Pacer(shape.rate, (count) => this.#send(count));
  }

  get sent(): number {
    return this.#pacer.count;
  }

  #send(count: number): void {
    const { length } = this.#frame;
    const bytes = Buffer.alloc(count * length, this.#frame);
    for (let i = this.#isEachTimed ? 0 : count - 1; i < count; i++) {
      const payloadAt = (i + 1) * length - payloadBytes;
      bytes[payloadAt + sampledAt] = 1;
      bytes.writeDoubleLE(performance.now(), payloadAt + sentAt);
    }
    this.#publisher.socket.write(bytes);
  }

  /** Answers how many messages never came. */
  async end(): Promise<number> {
    this.#pacer.stop();
    await delay(settleMs);
    const missing = this.#pacer.count - this.#subscriber.received;
    await Promise.all([this.#publisher.disconnect(), this.#listener.disconnect()]);
    return missing;
  }
}
