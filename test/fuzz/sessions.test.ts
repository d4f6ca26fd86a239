// Whole sessions against the real broker over real sockets: clients of all versions that connect,
// leave, get lost, take over, subscribe and publish at random, beside a model that knows what must
// reach whom; and byte streams with faults in them, which must hurt nobody but their sender.
// FUZZ_SEED repeats a run (the choices; the network's own timing differs).

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createConnection } from 'node:net';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { startBroker, type TestBroker } from '#test/broker';
import { matches } from '#topics/match';
import { cases } from '#wire/cases';
import { encodePacket } from '#wire/encode';
import { packetTypes, type ProtocolVersion, type QoS } from '#wire/packet';
import { DeliveryModel, isShared, type Sent } from './delivery-model.ts';
import { LogicalClient } from './logical-client.ts';
import { fuzzSeed, Random } from './random.ts';

const levels: readonly QoS[] = [0, 1, 2];
const topics = ['t/a', 't/b', 't/a/b', 't/ä', 's/1', 's/2'];
const groupFilter = '$share/group/s/#';
const filters = [
  't/a',
  't/b',
  't/+',
  't/#',
  't/a/#',
  '+/a',
  't/+/b',
  't/r/+',
  groupFilter,
  groupFilter,
];

/** One run: a broker, its clients, and an observer that never leaves and sees everything. */
class Scenario {
  readonly #random: Random;
  readonly #broker: TestBroker;
  readonly #model: DeliveryModel;
  readonly #observer: LogicalClient;
  readonly #clients: LogicalClient[];
  readonly #retained = new Map<string, Sent>();

  constructor(broker: TestBroker, random: Random, isNarrow: boolean) {
    this.#broker = broker;
    this.#model = new DeliveryModel(isNarrow);
    this.#random = random;
    const parts = { broker, model: this.#model, random };
    const client = (name: string, version: ProtocolVersion, isDurable: boolean): LogicalClient =>
      new LogicalClient(name, version, isDurable, parts);
    this.#observer = client('observer', 5, true);
    this.#clients = [
      client('durable-3', 3, true),
      client('durable-4', 4, true),
      client('durable-5', 5, true),
      client('brief-4', 4, false),
      client('brief-5', 5, false),
    ];
  }

  async run(rounds: number): Promise<void> {
    await this.#observer.connect();
    await this.#observer.subscribe('t/#', 2);
    await this.#observer.subscribe('w/#', 1);
    await this.#observer.subscribe(groupFilter, 1);
    for (let i = 0; i < rounds; i++) {
      this.#model.round++;
      for (const client of this.#clients) await this.#control(client);
      this.#model.round++;
      await this.#publishing();
      await this.#settle();
    }
    for (const client of this.#clients) if (!client.isConnected) await client.connect();
    await this.#settle();
    this.#model.settleShared();
    for (const client of this.#all) await client.drop();
  }

  get #all(): LogicalClient[] {
    return [this.#observer, ...this.#clients];
  }

  /** One change of a client, with everything at rest before and after it. */
  async #control(client: LogicalClient): Promise<void> {
    const random = this.#random;
    if (!client.isConnected) {
      if (random.chance(70)) await client.connect({ hasWill: random.chance(50) });
      return;
    }
    const choice = random.below(10);
    const current = client.session?.filters ?? [];
    if (choice < 4) await this.#subscribe(client, random.pick(filters));
    else if (choice === 4 && current.length > 0) await client.unsubscribe(random.pick(current));
    else if (choice === 5) await client.leave();
    else if (choice === 6) await client.drop();
    else if (choice === 7) await client.connect({ hasWill: random.chance(50) });
    else if (choice === 8 && client.version === 5) await client.connect({ cleanStart: true });
  }

  /** A new subscription is sent what is retained, and that alone. */
  async #subscribe(client: LogicalClient, filter: string): Promise<void> {
    await this.#rest();
    const { session } = client;
    assert.ok(session !== undefined);
    session.replays.length = 0;
    await client.subscribe(filter, isShared(filter) ? 1 : this.#random.pick(levels));
    await this.#rest();
    const expected = [...this.#retained.values()].filter(({ topic }) => matches(filter, topic));
    assert.deepEqual(
      session.replays.map(({ key }) => key).sort(),
      expected.map(({ key }) => key).sort(),
      `"${client.name}" subscribed to "${filter}"`,
    );
  }

  /** Publishes from everywhere, with connections lost and taken over in the middle of it. */
  async #publishing(): Promise<void> {
    const random = this.#random;
    for (let step = random.below(12); step >= 0; step--) {
      const client = random.pick(this.#all);
      for (let count = random.below(6); count > 0 && client.isConnected; count--) {
        this.#publish(client);
      }
      const unlucky = random.pick(this.#clients);
      if (!unlucky.isConnected) continue;
      const fate = random.below(100);
      if (fate < 8) await unlucky.drop();
      else if (fate < 16) await unlucky.connect({ hasWill: random.chance(50) });
      if (random.chance(30)) await turn();
    }
  }

  #publish(client: LogicalClient): void {
    const random = this.#random;
    const bytes = random.chance(10) ? 10_000 : random.below(200);
    if (client.isDurable && random.chance(10)) {
      const topic = `t/r/${client.name}`;
      // Always the same QoS: of two, what is sent again as QoS 1 may rightly be retained last.
      const qos = client.version === 4 ? 1 : 2;
      this.#retained.set(topic, client.publish(topic, qos, true, bytes));
    } else {
      client.publish(random.pick(topics), random.pick(levels), false, bytes);
    }
  }

  async #settle(): Promise<void> {
    // What a publisher has to send again must come before anybody's subscriptions change.
    for (const client of this.#clients) {
      if (client.hasUnacknowledged && !client.isConnected) await client.connect();
    }
    await this.#rest();
    const connected = new Set(
      this.#all.filter(({ isConnected }) => isConnected).map(({ session }) => session),
    );
    this.#model.settle((session) => connected.has(session));
    const seen = this.#observer.session?.counts ?? new Map<string, number>();
    for (const { wills } of this.#clients) {
      for (const { key } of wills.due) assert.equal(seen.get(key), 1, `will "${key}" is due`);
      for (const { key } of wills.takenBack)
        assert.ok(!seen.has(key), `will "${key}" was taken back`);
    }
  }

  /** Until everybody has what is theirs: nothing in flight, nothing queued, no connection half gone. */
  async #rest(): Promise<void> {
    for (let attempt = 0, quiet = 0; quiet < 2; attempt++) {
      assert.ok(attempt < 500, `Cannot come to rest: ${this.#unrest()}`);
      const connected = this.#all.filter(({ isConnected }) => isConnected);
      await Promise.all(connected.map((client) => client.ping()));
      for (const { failure } of this.#all) if (failure !== undefined) throw failure;
      const isQuiet =
        this.#broker.stat('connections') === connected.length && this.#unrest() === '';
      quiet = isQuiet ? quiet + 1 : 0;
    }
  }

  /** What is still under way, in words. */
  #unrest(): string {
    return this.#all
      .filter(({ isConnected }) => isConnected)
      .flatMap(({ name, hasUnacknowledged }) => {
        const { window, queue } = this.#broker.session(name)?.out ?? {};
        const left = (window?.inflight.size ?? 0) + (queue?.length ?? 0);
        if (left === 0 && !hasUnacknowledged) return [];
        return [`"${name}" is owed ${left}${hasUnacknowledged ? ' and waits for acks' : ''}`];
      })
      .join(', ');
  }
}

for (let run = 0; run < 8; run++) {
  test(`sessions keep every promise, whatever happens to connections, run ${run}`, async (t) => {
    t.diagnostic(`FUZZ_SEED=${fuzzSeed}`);
    const isNarrow = run % 2 === 1;
    const maxOutboxBytes = isNarrow ? 2048 : 4_194_304;
    await using broker = await startBroker({
      zone: { maxMqueueLen: 0, mqueueStoreQos0: true, maxAwaitingRel: 0, maxOutboxBytes },
    });
    await new Scenario(broker, new Random(fuzzSeed + run), isNarrow).run(25);
  });
}

const fromClients: ReadonlySet<number> = new Set([
  packetTypes.connect,
  packetTypes.publish,
  packetTypes.puback,
  packetTypes.pubrec,
  packetTypes.pubrel,
  packetTypes.pubcomp,
  packetTypes.subscribe,
  packetTypes.unsubscribe,
  packetTypes.pingreq,
  packetTypes.auth,
]);
const bricks = cases.filter((row) => 'packet' in row && fromClients.has((row.bytes[0] ?? 0) >> 4));

/** A CONNECT and what may follow it, then a few faults. */
function faultyStream(random: Random): Buffer {
  const version = random.pick([3, 4, 5] as const);
  const connect = encodePacket(
    {
      type: 'connect',
      version,
      isBridge: false,
      cleanStart: random.chance(50),
      keepaliveSeconds: random.below(100),
      clientId: `faulty-${random.below(5)}`,
      properties: {},
      will: { topic: 'w', payload: Buffer.from('gone'), qos: 1, retain: true, properties: {} },
    },
    version,
  );
  const fitting = bricks.filter((row) => row.version === version);
  const packets = Array.from({ length: random.below(12) }, () => random.pick(fitting).bytes);
  const bytes = [...Buffer.concat([connect, ...packets])];
  // Half of the streams keep their CONNECT, so that the faults meet an open session.
  const from = random.chance(50) ? connect.length : 0;
  for (let faults = random.below(5); faults > 0; faults--) {
    const at = from + random.below(bytes.length - from + 1);
    const choice = random.below(5);
    if (choice === 0) bytes[at] = random.below(256);
    else if (choice === 1) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
    else if (choice === 2) bytes.splice(at, 0, random.pick([0, 1, 0x7f, 0x80, 0xff]));
    else if (choice === 3) bytes.splice(at, 1 + random.below(3));
    else bytes.splice(at, 0, ...bytes.slice(at, at + random.below(40)));
  }
  return Buffer.from(bytes.map((byte) => byte ?? 0));
}

/** Sends a stream in pieces and sees the connection end. */
async function suffer(port: number, random: Random): Promise<void> {
  const bytes = faultyStream(random);
  const socket = createConnection({ port, host: '127.0.0.1', noDelay: true });
  const closed = once(socket, 'close', { signal: AbortSignal.timeout(5000) });
  socket.on('error', () => undefined);
  socket.resume();
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + random.below(random.chance(50) ? bytes.length : 5);
    socket.write(bytes.subarray(at, end));
    at = end;
    if (random.chance(20)) await turn();
  }
  if (random.chance(80)) socket.end();
  else socket.destroy();
  await closed;
}

test('byte streams with faults end their own connection at most', async (t) => {
  t.diagnostic(`FUZZ_SEED=${fuzzSeed}`);
  const random = new Random(fuzzSeed);
  await using broker = await startBroker();
  const subscriber = await broker.connect();
  await subscriber.subscribe('steady', { qos: 1 });
  const publisher = await broker.connect({ version: 4 });
  for (let round = 0; round < 40; round++) {
    await Promise.all(Array.from({ length: 15 }, () => suffer(broker.port, random)));
    await publisher.publish('steady', `${round}`, { qos: 1 });
    assert.deepEqual(await subscriber.receivePayloads(1), [`${round}`]);
    if (random.chance(20)) broker.advance(random.below(100_000));
  }
  await broker.expectService();
});
