// A worker dies: its connections end and nobody else's; its stored sessions are there again, with what
// was acknowledged, once; whoever published for it waits for its successor; its clients' wills are sent.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { WorkerPeers } from '#cluster/worker-peers';
import type { Broker } from '#core/broker';
import { startBroker, type TestBroker } from '#test/broker';
import { SlowEngine } from '#test/slow-engine';
import { fuzzSeed, Random } from '../fuzz/random.ts';
import { until } from './event-turns.ts';
import {
  assertRising,
  firstArrivals,
  Taker,
  turns,
  twice,
  workerIndexes,
  Writer,
} from './worker-company.ts';

const properties = { sessionExpirySeconds: 1000 };

/** Kills a worker and waits until its successor serves. */
async function killAndRecover(broker: TestBroker, index: number): Promise<void> {
  broker.kill(index);
  await recovered(broker);
}

const recovered = (broker: TestBroker): Promise<void> =>
  until('all workers again', () => broker.isRecovered, 10_000);

test("the connections of a worker that dies end, and nobody else's", async () => {
  await using broker = await startBroker({ workers: 3 });
  const clients = [];
  for (const worker of workerIndexes) clients.push(await broker.connect({ worker }));
  await killAndRecover(broker, 1);
  await clients[1]?.expectClosed();
  for (const i of [0, 2]) await clients[i]?.expectNothing();
  for (let i = 0; i < 3; i++) await broker.expectService();
  await until('the count', () => broker.stat('connections') === 2);
  assert.equal(broker.stat('sessions'), 2);
});

test('a stored session of a dead worker has what was acknowledged, in every worker', async () => {
  for (const to of workerIndexes) {
    await using broker = await startBroker({ workers: 3 });
    const first = await broker.connect({ clientId: 's', properties, worker: 1 });
    await first.subscribe(['t', '$share/g/s'], { qos: 2 });
    await broker.lose(first, 's');
    const writers = [];
    for (const worker of workerIndexes) writers.push(await broker.connect({ worker }));
    for (const [i, writer] of writers.entries()) {
      await writer.publish('t', `QoS 1 of ${i}`, { qos: 1 });
      await writer.publish('s', `shared of ${i}`, { qos: 2 });
    }
    await killAndRecover(broker, 1);
    const again = await broker.connect({
      clientId: 's',
      cleanStart: false,
      properties,
      worker: to,
    });
    assert.equal(again.connack?.sessionPresent, true);
    const wanted = workerIndexes.flatMap((i) => [`QoS 1 of ${i}`, `shared of ${i}`]);
    assert.deepEqual((await again.receivePayloads(6)).sort(), wanted.sort());
    await again.expectNothing();
    await writers[0]?.publish('t', 'later', { qos: 1 });
    assert.deepEqual(await again.receivePayloads(1), ['later']);
    assert.equal(broker.stat('sessions'), 3, 'two writers and this one');
    assert.equal(broker.stat('subscriptions'), 2);
  }
});

test('the claim of an id whose worker has died waits for the successor and gets the session', async () => {
  await using broker = await startBroker({ workers: 3 });
  const first = await broker.connect({ clientId: 's', properties, worker: 1 });
  await first.subscribe('t', { qos: 1 });
  broker.kill(1);
  const again = await broker.connect({ clientId: 's', cleanStart: false, properties, worker: 2 });
  assert.equal(again.connack?.sessionPresent, true);
  await (await broker.connect({ worker: 0 })).publish('t', 'x', { qos: 1 });
  assert.deepEqual(await again.receivePayloads(1), ['x']);
});

test('a publish for a session of a dead worker is acknowledged when the successor has it, and not before', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ workers: 3, engine });
  const first = await broker.connect({ clientId: 's', properties, worker: 1 });
  await first.subscribe('t', { qos: 2 });
  const writers = [await broker.connect({ worker: 0 }), await broker.connect({ worker: 2 })];
  await broker.flushed();
  engine.hold();
  // Something of it is on its way to the disk: its successor waits for that.
  const owner = await broker.connect({ clientId: 'other', properties, worker: 1 });
  owner.sendPublish('r', 'kept', { qos: 1, retain: true });
  await engine.next();
  broker.kill(1);
  for (const writer of writers) {
    writer.sendPublish('t', 'one', { qos: 1, packetId: 1 });
    writer.sendPublish('t', 'two', { qos: 2, packetId: 2 });
    await writer.expectNothing();
  }
  engine.pass();
  for (const writer of writers) {
    assert.equal((await writer.next('puback')).reasonCode, 0);
    assert.equal((await writer.next('pubrec')).reasonCode, 0);
  }
  const again = await broker.connect({ clientId: 's', cleanStart: false, properties, worker: 0 });
  assert.deepEqual((await again.receivePayloads(4)).sort(), ['one', 'one', 'two', 'two']);
  await again.expectNothing();
});

test('the wills of the clients of a dead worker are sent, once, to everybody', async () => {
  await using broker = await startBroker({ workers: 3 });
  const watchers = workerIndexes.map((i) => new Taker(broker, `watcher-${i}`));
  for (const [i, watcher] of watchers.entries()) await watcher.come(i, ['w/#']);
  const will = (topic: string, willDelaySeconds = 0): object => ({
    will: { topic: `w/${topic}`, payload: topic, qos: 1, properties: { willDelaySeconds } },
  });
  await broker.connect({ clientId: 'brief', worker: 1, ...will('brief') });
  await broker.connect({ clientId: 'lasting', worker: 1, properties, ...will('lasting') });
  await broker.connect({ clientId: 'late', worker: 1, properties, ...will('late', 10) });
  await broker.connect({ clientId: 'back', worker: 1, properties, ...will('back', 10) });
  await broker.connect({ clientId: 'elsewhere', worker: 0, properties, ...will('elsewhere') });
  await broker.flushed();
  await killAndRecover(broker, 1);
  await watchers[1]?.come(2);
  for (const watcher of watchers) await watcher.untilAll(['brief', 'lasting']);
  await broker.connect({ clientId: 'back', cleanStart: false, properties, worker: 2 });
  broker.advance(20_000);
  for (const watcher of watchers) await watcher.untilAll(['brief', 'lasting', 'late']);
  await turns();
  for (const { payloads } of watchers) {
    assert.deepEqual(payloads.toSorted(), ['brief', 'lasting', 'late']);
  }
});

test('a QoS 2 publish that has not crossed when its worker dies is taken when it comes again', async () => {
  await using broker = await startBroker({ workers: 3 });
  const taker = new Taker(broker, 'taker');
  await taker.come(0, ['t']);
  const before = await broker.connect({ clientId: 'p', properties, worker: 1 });
  // It dies before what it has for the other is on its way.
  const [way] = broker.brokers[1]?.core.router.routeTo('t').peers ?? [];
  assert.ok(way !== undefined);
  way.peer.forward = () => new Promise(() => undefined);
  before.sendPublish('t', 'x', { qos: 2, packetId: 7 });
  await before.expectNothing();
  await broker.flushed();
  await killAndRecover(broker, 1);
  const after = await broker.connect({ clientId: 'p', cleanStart: false, properties, worker: 2 });
  assert.equal(after.connack?.sessionPresent, true);
  after.sendPublish('t', 'x', { qos: 2, packetId: 7, dup: true });
  assert.equal((await after.next('pubrec')).reasonCode, 0);
  await taker.untilAll(['x']);
});

test('a session that is claimed while its worker is down has what was published meanwhile', async () => {
  for (const [victim, to, from] of [
    [1, 0, 2],
    [1, 2, 0],
    [0, 1, 2],
    [2, 0, 1],
    [1, 0, 0],
  ] as const) {
    const engine = new SlowEngine();
    await using broker = await startBroker({ workers: 3, engine });
    const taker = new Taker(broker, 'taker');
    await taker.come(victim, ['t']);
    await taker.lose();
    const writer = new Writer(broker, 'writer');
    await writer.come(from);
    const other = await broker.connect({ worker: victim });
    await broker.flushed();
    engine.hold();
    // Something of it is on its way to the disk: its successor waits for that.
    other.sendPublish('r', 'kept', { qos: 1, retain: true });
    await engine.next();
    broker.kill(victim);
    const coming = taker.come(to);
    for (let i = 0; i < 20; i++) writer.publish('t', ((i % 2) + 1) as 1 | 2);
    await until('the claim', () => broker.workers?.workers.registry.waiting === 1);
    engine.pass();
    await writer.untilBelow(1);
    await coming;
    assert.equal(taker.isPresent, true);
    await taker.untilAll(writer.acked);
    assert.deepEqual(twice(taker.payloads), []);
    assert.equal(writer.acked.length, 20, `${victim} died, from ${from} to ${to}`);
  }
});

test('what is published when a worker dies that has just let a session go reaches the session', async () => {
  await using broker = await startBroker({ workers: 3 });
  const taker = new Taker(broker, 'taker');
  await taker.come(0, ['t']);
  await taker.lose();
  const writer = new Writer(broker, 'writer');
  await writer.come(2);
  const peers = (broker.brokers[1] as Broker).core.peers as WorkerPeers;
  const onWord = peers.onWord.bind(peers);
  peers.onWord = (peer, word) => {
    if (word[0] !== 'handover') {
      onWord(peer, word);
      return;
    }
    // It dies before the other has heard that the session is its own; the third knows that it is gone.
    peers.onWord = onWord;
    broker.kill(0);
    for (let i = 0; i < 10; i++) setImmediate(() => writer.publish('t', 1));
  };
  await taker.come(1);
  assert.equal(taker.isPresent, true);
  await writer.untilBelow(1);
  assert.equal(writer.sent, 10, 'the worker died');
  await taker.untilAll(writer.acked);
});

interface Turmoil {
  /** Who may die. */
  readonly victims: readonly number[];
  readonly deaths: number;
  readonly moves: number;
  readonly filter?: string;
}

/** Writers and a taker that come back whenever they are cut off, while workers die. */
async function turmoil(
  random: Random,
  { victims, deaths, moves, filter = 't/#' }: Turmoil,
): Promise<void> {
  await using broker = await startBroker({ workers: 3, zone: { maxMqueueLen: 0 } });
  const taker = new Taker(broker, 'taker');
  await taker.come(0, [filter]);
  const writers = workerIndexes.map((i) => new Writer(broker, `writer-${i}`));
  let isOver = false;
  const writing = writers.map(async (writer, i) => {
    const qos = i === 2 ? 1 : 2;
    const keepConnected = async (): Promise<void> => {
      for (;;) {
        await writer.come(random.below(3)).catch(() => undefined);
        await writer.ended();
        if (isOver && writer.unacknowledged === 0) return;
        await turns(1);
      }
    };
    void keepConnected();
    while (!isOver) {
      for (let n = 0; n < 5; n++) writer.publish(`t/${writer.name}`, qos);
      await writer.untilBelow(20);
      await turns(1);
    }
    await writer.untilBelow(1);
  });
  const comeSomewhere = async (): Promise<void> => {
    for (let tries = 0; tries < 1000; tries++) {
      try {
        await taker.come(random.below(3));
        return;
      } catch {
        await turns(1); // That worker is dead.
      }
    }
  };
  const steps = [
    ...Array.from({ length: deaths }, () => 'death' as const),
    ...Array.from({ length: moves }, () => 'move' as const),
  ].sort(() => random.below(3) - 1);
  for (const step of steps) {
    const coming = comeSomewhere();
    await turns(random.below(12));
    if (step === 'death') broker.kill(random.pick(victims));
    await coming;
    await turns(random.below(40));
  }
  isOver = true;
  await Promise.all(writing);
  await recovered(broker);
  await comeSomewhere();
  const acked = writers.flatMap((writer) => writer.acked);
  await taker.untilAll(acked);
  // What comes through a shared subscription is in no order.
  for (const { name } of filter.startsWith('$share') ? [] : writers) {
    assertRising(firstArrivals(taker.payloads, name), `messages of "${name}"`);
  }
  const qos2 = twice(taker.payloads).filter((one) => !one.startsWith('writer-2'));
  assert.deepEqual(qos2, [], 'QoS 2 came twice');
}

for (const [what, options] of [
  ['one worker dies', { victims: [0, 1, 2], deaths: 1, moves: 6 }],
  ['several workers die one after another', { victims: [0, 1, 2], deaths: 4, moves: 10 }],
  [
    'several workers die, of a member of a shared subscription,',
    { victims: [0, 1, 2], deaths: 4, moves: 10, filter: '$share/g/t/#' },
  ],
] as const) {
  test(`acknowledged messages arrive, QoS 2 once, when ${what} in the middle of moves`, async (t) => {
    t.diagnostic(`FUZZ_SEED=${fuzzSeed}`);
    await turmoil(new Random(fuzzSeed), options);
  });
}

test('an alarm says which worker died, until its successor has lived for a minute', async () => {
  await using broker = await startBroker({ workers: 3 });
  await killAndRecover(broker, 2);
  await turns();
  assert.deepEqual(broker.alarms, ['worker/2']);
  broker.advance(61_000);
  assert.deepEqual(broker.alarms, []);
});
