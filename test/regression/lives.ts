// One disk and one clock, and brokers that live on them one after another; and the few words in which
// the tests of restarts speak to them.

import assert from 'node:assert/strict';
import { VirtualClock } from '#base/clock';
import { MemoryEngine } from '#store/memory-engine';
import { type JoinOptions, type Overrides, startBroker, type TestBroker } from '#test/broker';
import type { RawClient } from '#test/raw-client';
import { SlowEngine } from '#test/slow-engine';
import { settled } from './event-turns.ts';

/** Of the sessions that `join` begins. */
export const expirySeconds: number = 1000;

export class Lives implements AsyncDisposable {
  readonly clock: VirtualClock = new VirtualClock();
  readonly #memory = new MemoryEngine();
  readonly #overrides: Overrides;
  #broker: TestBroker | undefined;
  engine: SlowEngine = new SlowEngine(this.#memory);

  constructor(overrides: Overrides = {}) {
    this.#overrides = overrides;
  }

  /** The next broker; `overrides` are what its operator has changed. */
  async start(overrides: Overrides = {}): Promise<TestBroker> {
    assert.equal(this.#broker, undefined, 'the one before is dead');
    this.engine = new SlowEngine(this.#memory);
    const { clock, engine } = this;
    this.#broker = await startBroker({ ...this.#overrides, ...overrides, clock, engine });
    return this.#broker;
  }

  /** Kills the broker: nothing of what happens to its connections reaches the disk. */
  async crash(): Promise<void> {
    this.engine.cut();
    await this.#end();
  }

  /** Flushes everything first, so that a test knows what was on disk. */
  async crashFlushed(): Promise<void> {
    await settled();
    await this.#broker?.flushed();
    await this.crash();
  }

  async crashAndStart(overrides?: Overrides): Promise<TestBroker> {
    await this.crashFlushed();
    return this.start(overrides);
  }

  /** Stops the broker in order. */
  async stop(): Promise<void> {
    for (const broker of this.#broker?.brokers ?? []) broker.stop();
    await settled();
    await this.#broker?.flushed();
    await this.crash();
  }

  async #end(): Promise<void> {
    const broker = this.#broker;
    this.#broker = undefined;
    await broker?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.crash();
  }
}

/** A client whose session lives on; it says whether there was one. */
export async function join(
  broker: TestBroker,
  clientId: string,
  isPresent: boolean,
  options: JoinOptions = {},
): Promise<RawClient> {
  const { properties = {}, ...rest } = options;
  const version = options.version ?? 5;
  const client = await broker.connect({
    clientId,
    cleanStart: false,
    properties: version === 5 ? { sessionExpirySeconds: expirySeconds, ...properties } : {},
    ...rest,
  });
  assert.equal(client.connack?.sessionPresent, isPresent, `session of "${clientId}"`);
  return client;
}

/** The next PUBLISH as `payload id`, with `dup` where that is set. Nothing is acknowledged. */
export async function nextSeen(client: RawClient): Promise<string> {
  const { payload, packetId, dup } = await client.next('publish');
  return `${payload.toString()} ${packetId}${dup ? ' dup' : ''}`;
}

export async function publishAll(
  broker: TestBroker,
  topic: string,
  texts: readonly string[],
  qos: 1 | 2 = 1,
): Promise<void> {
  const writer = await broker.connect();
  for (const text of texts) await writer.publish(topic, text, { qos });
  await writer.disconnect();
}
