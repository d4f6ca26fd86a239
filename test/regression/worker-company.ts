// Clients of a node with several workers: one that takes everything it is sent, over as many connections
// as it has, and one that publishes until it is acknowledged, over as many as it takes.

import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TestBroker } from '#test/broker';
import type { FilterOptions, RawClient } from '#test/raw-client';
import { Watch } from '#test/watch';
import type { Packet, Properties, PublishPacket } from '#wire/packet';

export const workerCount: number = 3;
export const workerIndexes: readonly number[] = [0, 1, 2];
/** All ways from one worker to one, itself among them. */
export const pairs: readonly (readonly [number, number])[] = workerIndexes.flatMap((from) =>
  workerIndexes.map((to) => [from, to] as const),
);

const deadlineMs = 8_000;

/** Takes every message, acknowledges it, and knows QoS 2 packet ids from one connection to the next. */
export class Taker {
  readonly clientId: string;
  readonly payloads: string[] = [];
  readonly publishes: PublishPacket[] = [];
  readonly #broker: TestBroker;
  readonly #properties: Properties;
  readonly #known = new Set<number>();
  readonly #watch = new Watch();
  #client: RawClient | undefined;
  #reading: Promise<void> = Promise.resolve();
  isPresent = false;

  constructor(broker: TestBroker, clientId: string, properties: Properties = {}) {
    this.#broker = broker;
    this.clientId = clientId;
    this.#properties = { sessionExpirySeconds: 1000, ...properties };
  }

  get client(): RawClient {
    assert.ok(this.#client !== undefined, `"${this.clientId}" is not connected`);
    return this.#client;
  }

  /** To that worker. `subscribe` is sent before anything is read. */
  async come(
    worker: number,
    filters: readonly string[] = [],
    options: FilterOptions = {},
  ): Promise<void> {
    const before = this.#reading;
    const { clientId } = this;
    const client = await this.#broker.connect({
      clientId,
      cleanStart: false,
      properties: this.#properties,
      worker,
    });
    // What came on the connection before came first.
    await before;
    this.#client = client;
    this.isPresent = client.connack?.sessionPresent === true;
    if (!this.isPresent) this.#known.clear();
    if (filters.length > 0) await client.subscribe(filters, { qos: 2, ...options });
    this.#reading = this.#read(client);
  }

  /** Without a word. */
  async lose(): Promise<void> {
    await this.#broker.lose(this.client, this.clientId);
    await this.#reading;
    this.#client = undefined;
  }

  async until(what: string, look: () => boolean): Promise<void> {
    const late = (): Error =>
      new Error(`Cannot see ${what}: "${this.clientId}" has ${this.payloads.length} messages`);
    await this.#watch.until(() => look() || undefined, deadlineMs, late);
  }

  /** Has them all, in whatever order, and perhaps some twice. */
  async untilAll(wanted: readonly string[]): Promise<void> {
    const missing = (): string[] => {
      const had = new Set(this.payloads);
      return wanted.filter((one) => !had.has(one));
    };
    await this.until(`all of ${wanted.length}`, () => missing().length === 0).catch((cause) => {
      throw new Error(`"${this.clientId}" has not got ${missing().slice(0, 10).join()}`, { cause });
    });
  }

  async #read(client: RawClient): Promise<void> {
    for (;;) {
      let packet: Packet;
      try {
        packet = await client.next(undefined, 60_000);
      } catch {
        return; // The connection has ended.
      }
      this.#take(client, packet);
      this.#watch.wake();
    }
  }

  #take(client: RawClient, packet: Packet): void {
    if (packet.type === 'pubrel') {
      this.#known.delete(packet.packetId);
      client.ack('pubcomp', packet.packetId);
      return;
    }
    if (packet.type !== 'publish') return;
    const { qos, packetId } = packet;
    const isKnown = qos === 2 && this.#known.has(packetId);
    if (!isKnown) {
      this.publishes.push(packet);
      this.payloads.push(packet.payload.toString());
    }
    if (qos === 1) client.ack('puback', packetId);
    if (qos !== 2) return;
    this.#known.add(packetId);
    client.ack('pubrec', packetId);
  }
}

interface Unacknowledged {
  readonly packet: PublishPacket;
  isReleased: boolean;
}

/** Publishes numbered messages `<name>:<number>` and sends again what was not acknowledged. */
export class Writer {
  readonly name: string;
  readonly acked: string[] = [];
  /** Refused for good. */
  readonly refused: string[] = [];
  readonly #broker: TestBroker;
  readonly #out = new Map<number, Unacknowledged>();
  readonly #watch = new Watch();
  #client: RawClient | undefined;
  #reading: Promise<void> = Promise.resolve();
  #lastId = 0;
  sent = 0;

  constructor(broker: TestBroker, name: string) {
    this.#broker = broker;
    this.name = name;
  }

  get unacknowledged(): number {
    return this.#out.size;
  }

  async come(worker: number): Promise<void> {
    const before = this.#reading;
    const client = await this.#broker.connect({
      clientId: this.name,
      cleanStart: false,
      properties: { sessionExpirySeconds: 1000 },
      worker,
    });
    await before;
    this.#client = client;
    this.#reading = this.#read(client);
    for (const { packet, isReleased } of this.#out.values()) {
      if (isReleased) client.ack('pubrel', packet.packetId);
      else client.send({ ...packet, dup: true });
    }
  }

  async ended(): Promise<void> {
    await this.#reading;
  }

  publish(topic: string, qos: 1 | 2, bytes = 0): void {
    do this.#lastId = (this.#lastId % 0xffff) + 1;
    while (this.#out.has(this.#lastId));
    const payload = Buffer.from(`${this.name}:${this.sent++}`.padEnd(bytes));
    const flags = { qos, dup: false, retain: false, packetId: this.#lastId };
    const packet: PublishPacket = { type: 'publish', topic, payload, properties: {}, ...flags };
    this.#out.set(this.#lastId, { packet, isReleased: false });
    this.#client?.send(packet);
  }

  /** Fewer than so many are not acknowledged. */
  async untilBelow(count: number): Promise<void> {
    const late = (): Error =>
      new Error(`"${this.name}" waits for ${this.#out.size} acknowledgements of ${this.sent}`);
    await this.#watch.until(() => this.#out.size < count || undefined, deadlineMs, late);
  }

  async #read(client: RawClient): Promise<void> {
    for (;;) {
      let packet: Packet;
      try {
        packet = await client.next(undefined, 60_000);
      } catch {
        return; // The connection has ended.
      }
      this.#take(client, packet);
      this.#watch.wake();
    }
  }

  #take(client: RawClient, packet: Packet): void {
    if (packet.type !== 'puback' && packet.type !== 'pubrec' && packet.type !== 'pubcomp') return;
    const { packetId, reasonCode, type } = packet;
    const out = this.#out.get(packetId);
    if (out === undefined) return;
    const text = out.packet.payload.toString().trim();
    if (type === 'pubcomp') {
      this.#out.delete(packetId);
      return;
    }
    if (reasonCode >= 0x80) {
      this.#out.delete(packetId);
      this.refused.push(text);
      return;
    }
    if (!out.isReleased) this.acked.push(text);
    if (type === 'puback') this.#out.delete(packetId);
    else {
      out.isReleased = true;
      client.ack('pubrel', packetId);
    }
  }
}

/** Lets the workers speak to each other a few times. */
export async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) await nextTurn();
}

/** The numbers of one writer in the order of their first arrival. */
export function firstArrivals(payloads: readonly string[], name: string): number[] {
  const seen = new Set<number>();
  for (const payload of payloads) {
    const [writer, number] = payload.trim().split(':');
    if (writer === name) seen.add(Number(number));
  }
  return [...seen];
}

/** What came more than once. */
export function twice(payloads: readonly string[]): string[] {
  const seen = new Set<string>();
  return payloads.filter((one) => seen.size === seen.add(one).size);
}

export function assertRising(numbers: readonly number[], what: string): void {
  for (let i = 1; i < numbers.length; i++) {
    const [before, after] = [numbers[i - 1] as number, numbers[i] as number];
    assert.ok(after > before, `${what}: ${after} came after ${before}`);
  }
}
