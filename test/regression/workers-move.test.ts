// A session that moves from worker to worker: every message comes as often as its QoS says and in the
// order of its publisher, whatever was under way; and a client id has one client, however many claim it.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import type { RawClient } from '#test/raw-client';
import { fuzzSeed, Random } from '../fuzz/random.ts';
import { until } from './event-turns.ts';
import {
  assertRising,
  firstArrivals,
  pairs,
  Taker,
  turns,
  twice,
  workerIndexes,
  Writer,
} from './worker-company.ts';

const properties = { sessionExpirySeconds: 1000 };

interface Load {
  readonly zone?: { sessionDurability: 'memory' | 'sync' | 'async' };
  readonly moves: number;
  readonly group?: string;
}

/** Writers in all workers publish as fast as they are acknowledged, while the taker moves about. */
async function moveUnderLoad(
  random: Random,
  { zone = { sessionDurability: 'sync' }, moves, group }: Load,
): Promise<void> {
  await using broker = await startBroker({ workers: 3, zone: { ...zone, maxMqueueLen: 0 } });
  const taker = new Taker(broker, 'taker');
  await taker.come(0, [group === undefined ? 't/#' : `$share/${group}/t/#`]);
  const writers = workerIndexes.map((i) => new Writer(broker, `writer-${i}`));
  for (const [i, writer] of writers.entries()) await writer.come(i);
  let isOver = false;
  const writing = writers.map(async (writer, i) => {
    const qos = i === 2 ? 1 : 2;
    while (!isOver) {
      for (let n = 0; n < 5; n++) writer.publish(`t/${writer.name}`, qos);
      await writer.untilBelow(20);
      await turns(1);
    }
    await writer.untilBelow(1);
  });
  for (let i = 0; i < moves; i++) {
    // Sometimes it takes itself over, sometimes it comes back later.
    if (random.chance(50)) await taker.lose();
    await taker.come(random.below(3));
    assert.equal(taker.isPresent, true);
    await turns(random.below(20));
  }
  isOver = true;
  await Promise.all(writing);
  const acked = writers.flatMap((writer) => writer.acked);
  assert.deepEqual(
    writers.flatMap((writer) => writer.refused),
    [],
  );
  await taker.untilAll(acked);
  // What comes through a shared subscription is in no order.
  for (const { name } of group === undefined ? writers : []) {
    assertRising(firstArrivals(taker.payloads, name), `messages of "${name}"`);
  }
  assert.deepEqual(
    twice(taker.payloads).filter((one) => !one.startsWith('writer-2')),
    [],
    'QoS 2 came twice',
  );
  assert.ok(acked.length > moves, `${acked.length} messages`);
}

for (const [name, load] of [
  ['a stored session', { moves: 50 }],
  ['a session in memory', { moves: 12, zone: { sessionDurability: 'memory' } }],
  ['a session that is stored later', { moves: 12, zone: { sessionDurability: 'async' } }],
  ['the only member of a shared subscription', { moves: 15, group: 'g' }],
] as readonly (readonly [string, Load])[]) {
  test(`${name} moves under load and gets everything, QoS 2 once`, async (t) => {
    t.diagnostic(`FUZZ_SEED=${fuzzSeed}`);
    await moveUnderLoad(new Random(fuzzSeed), load);
  });
}

test('a session that moves has what was queued, in flight and to be released', async () => {
  await using broker = await startBroker({ workers: 3 });
  const writer = await broker.connect({ worker: 2 });
  for (const [from, to] of pairs) {
    const clientId = `c-${from}-${to}`;
    const first = await broker.connect({
      clientId,
      properties: { ...properties, receiveMaximum: 3 },
      worker: from,
    });
    await first.subscribe(clientId, { qos: 2 });
    for (const qos of [1, 2, 2, 1, 2] as const)
      await writer.publish(clientId, `QoS ${qos}`, { qos });
    const sent = [
      await first.next('publish'),
      await first.next('publish'),
      await first.next('publish'),
    ];
    const [one, two, three] = sent.map(({ packetId }) => packetId) as [number, number, number];
    first.ack('pubrec', three);
    assert.equal((await first.next('pubrel')).packetId, three);
    await broker.lose(first, clientId);
    const second = await broker.connect({ clientId, cleanStart: false, properties, worker: to });
    assert.equal(second.connack?.sessionPresent, true);
    assert.equal((await second.find('pubrel')).packetId, three);
    second.ack('pubcomp', three);
    for (const packetId of [one, two]) {
      const again = await second.next('publish');
      assert.deepEqual([again.packetId, again.dup], [packetId, true], `${from} to ${to}`);
      second.ack(again.qos === 1 ? 'puback' : 'pubrec', packetId);
    }
    await second.find('pubrel');
    second.ack('pubcomp', two);
    assert.deepEqual(await second.receivePayloads(2), ['QoS 1', 'QoS 2']);
    await second.expectNothing();
    await second.disconnect();
  }
});

test('[MQTT-4.3.3-10] a QoS 2 publish that was taken in one worker is known in the next', async () => {
  await using broker = await startBroker({ workers: 3 });
  const taker = new Taker(broker, 'taker');
  await taker.come(1, ['t']);
  for (const [from, to] of pairs) {
    const clientId = `p-${from}-${to}`;
    const first = await broker.connect({ clientId, properties, worker: from });
    first.sendPublish('t', clientId, { qos: 2, packetId: 9 });
    await first.next('pubrec');
    await broker.lose(first, clientId);
    const second = await broker.connect({ clientId, cleanStart: false, properties, worker: to });
    second.sendPublish('t', clientId, { qos: 2, packetId: 9, dup: true });
    assert.equal((await second.next('pubrec')).reasonCode, 0);
    second.ack('pubrel', 9);
    assert.equal((await second.next('pubcomp')).reasonCode, 0);
    second.sendPublish('t', `${clientId} new`, { qos: 2, packetId: 9 });
    await second.next('pubrec');
  }
  await taker.untilAll(pairs.flatMap(([a, b]) => [`p-${a}-${b}`, `p-${a}-${b} new`]));
  assert.equal(taker.payloads.length, 2 * pairs.length);
});

for (const cleanStart of [false, true]) {
  test(`take-over in all combinations of workers, ${cleanStart ? 'clean' : 'not clean'}`, async () => {
    await using broker = await startBroker({ workers: 3 });
    for (const [from, to] of pairs) {
      const clientId = `c-${from}-${to}`;
      const first = await broker.connect({ clientId, properties, worker: from });
      await first.subscribe([clientId, `$share/g/${clientId}/s`], { qos: 1 });
      const second = await broker.connect({ clientId, cleanStart, properties, worker: to });
      await first.expectDisconnected(0x8e);
      assert.equal(second.connack?.sessionPresent, !cleanStart);
      const writer = await broker.connect();
      const codes = [
        (await writer.publish(clientId, 'plain', { qos: 1 }))?.reasonCode,
        (await writer.publish(`${clientId}/s`, 'shared', { qos: 1 }))?.reasonCode,
      ];
      assert.deepEqual(codes, cleanStart ? [0x10, 0x10] : [0, 0], `${from} to ${to}`);
      if (!cleanStart) {
        assert.deepEqual((await second.receivePayloads(2)).sort(), ['plain', 'shared']);
      }
      await second.expectNothing();
      await writer.disconnect();
      await second.disconnect(0, { sessionExpirySeconds: 0 });
    }
    await until('every session gone', () => broker.sessionCount === 0);
    assert.equal(broker.stat('sessions'), 0);
    assert.equal(broker.stat('subscriptions'), 0);
    await until('every id free', () => broker.workers?.workers.registry.size === 0);
  });
}

test('a thousand simultaneous CONNECTs of one id end with one connected', async () => {
  await using broker = await startBroker({ workers: 3 });
  const open = await Promise.all(Array.from({ length: 1000 }, (_, i) => broker.open(5, i % 3)));
  for (const [i, client] of open.entries()) {
    void client.connect({ clientId: 'one', cleanStart: i % 4 === 0, properties }).catch(() => {});
  }
  const isOpen = ({ socket }: RawClient): boolean => !socket.destroyed && !socket.readableEnded;
  await until('one connected', () => open.filter(isOpen).length === 1, 20_000);
  assert.equal(broker.channels().length, 1);
  assert.equal(broker.sessionCount, 1);
  assert.equal(broker.stat('connections'), 1);
  await broker.expectService();
});

test('the will of a client that is taken over is sent once, at once or not at all', async () => {
  await using broker = await startBroker({ workers: 3 });
  const watcher = new Taker(broker, 'watcher');
  await watcher.come(2, ['w/#']);
  for (const [from, to] of pairs) {
    for (const [kind, willDelaySeconds] of [
      ['now', 0],
      ['late', 10],
    ] as const) {
      const clientId = `${kind}-${from}-${to}`;
      const will = {
        topic: `w/${clientId}`,
        payload: clientId,
        qos: 1 as const,
        properties: { willDelaySeconds },
      };
      await broker.connect({ clientId, properties, will, worker: from });
      const next = await broker.connect({ clientId, cleanStart: false, properties, worker: to });
      await next.expectNothing();
    }
  }
  await watcher.untilAll(pairs.map(([from, to]) => `now-${from}-${to}`));
  broker.advance(20_000);
  await turns();
  assert.equal(watcher.payloads.length, pairs.length);
});

test('the delayed will of a client that comes back elsewhere is not sent, that of one that does not is', async () => {
  await using broker = await startBroker({ workers: 3 });
  const watcher = new Taker(broker, 'watcher');
  await watcher.come(2, ['w/#']);
  const lost = async (clientId: string, worker: number): Promise<void> => {
    const will = {
      topic: `w/${clientId}`,
      payload: clientId,
      qos: 2 as const,
      properties: { willDelaySeconds: 10 },
    };
    await broker.lose(await broker.connect({ clientId, properties, will, worker }), clientId);
  };
  for (const [from, to] of pairs) {
    await lost(`back-${from}-${to}`, from);
    await lost(`gone-${from}-${to}`, from);
    await broker.connect({
      clientId: `back-${from}-${to}`,
      cleanStart: false,
      properties,
      worker: to,
    });
    await lost(`clean-${from}-${to}`, from);
    // Its session ends, and the will with it.
    await broker.connect({ clientId: `clean-${from}-${to}`, cleanStart: true, worker: to });
  }
  const clean = pairs.map(([from, to]) => `clean-${from}-${to}`);
  await watcher.untilAll(clean);
  assert.equal(watcher.payloads.length, clean.length);
  broker.advance(20_000);
  await watcher.untilAll(pairs.map(([from, to]) => `gone-${from}-${to}`));
  await turns();
  assert.equal(watcher.payloads.length, 2 * pairs.length);
});
