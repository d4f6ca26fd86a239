// Shared subscriptions over several workers: the members are one list for all publishers, whoever leaves
// or is away, and what a member has not finished goes to another one wherever that is.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker, type TestBroker } from '#test/broker';
import type { RawClient } from '#test/raw-client';
import { until } from './event-turns.ts';
import { pairs, Taker, turns, workerIndexes } from './worker-company.ts';

type Strategy = 'random' | 'round_robin' | 'sticky' | 'hash';
const properties = { sessionExpirySeconds: 1000 };

interface Stage {
  readonly broker: TestBroker;
  readonly takers: Taker[];
  readonly writers: RawClient[];
}

/** Two members and a writer in each worker. */
async function stage(
  strategy: Strategy,
  overrides: { sharedDispatchAckEnabled?: boolean } = {},
): Promise<Stage> {
  const broker = await startBroker({
    workers: 3,
    broker: { sharedSubscriptionStrategy: strategy, ...overrides },
  });
  const takers: Taker[] = [];
  const writers: RawClient[] = [];
  for (let i = 0; i < 6; i++) {
    const taker = new Taker(broker, `member-${i}`);
    await taker.come(i % 3, ['$share/g/t/#']);
    takers.push(taker);
  }
  for (const worker of workerIndexes) writers.push(await broker.connect({ worker }));
  return { broker, takers, writers };
}

const counts = (takers: readonly Taker[]): number[] =>
  takers.map(({ payloads }) => payloads.length);
const total = (takers: readonly Taker[]): number => counts(takers).reduce((sum, n) => sum + n, 0);

async function publishAll({ writers }: Stage, count: number, topic = 't/x'): Promise<string[]> {
  const sent: string[] = [];
  for (let i = 0; i < count; i++) {
    const text = `${topic} ${sent.length} ${Math.random()}`;
    await writers[i % 3]?.publish(topic, text, { qos: ((i % 2) + 1) as 1 | 2 });
    sent.push(text);
  }
  return sent;
}

async function allArrived(takers: readonly Taker[], sent: readonly string[]): Promise<void> {
  const had = (): Set<string> => new Set(takers.flatMap(({ payloads }) => payloads));
  await until('every message', () => sent.every((one) => had().has(one)));
}

test('round robin is exact over members and publishers in all workers', async () => {
  const set = await stage('round_robin');
  await using _ = set.broker;
  const sent = await publishAll(set, 60);
  await allArrived(set.takers, sent);
  await turns();
  assert.deepEqual(counts(set.takers), [10, 10, 10, 10, 10, 10]);
});

test('round robin goes on with who is next when members leave, come and move', async () => {
  const set = await stage('round_robin');
  await using _ = set.broker;
  const { takers } = set;
  await takers[1]?.client.unsubscribe('$share/g/t/#').catch(() => undefined);
  await until('five members', () =>
    set.broker.brokers.every(({ core }) => core.filters.group('t/#', 'g')?.size === 5),
  );
  const five = takers.filter((_taker, i) => i !== 1);
  await allArrived(five, await publishAll(set, 50));
  assert.deepEqual(counts(five), [10, 10, 10, 10, 10]);
  // The session of a member goes elsewhere and keeps its place.
  await takers[0]?.come(2);
  await allArrived(five, await publishAll(set, 50));
  await turns();
  assert.deepEqual(counts(five), [20, 20, 20, 20, 20]);
});

test('a sticky group sticks to one member for all publishers, and to another when that one has gone', async () => {
  const set = await stage('sticky');
  await using _ = set.broker;
  await allArrived(set.takers, await publishAll(set, 30));
  const stuck = set.takers.find(({ payloads }) => payloads.length > 0);
  assert.equal(stuck?.payloads.length, 30);
  await stuck?.client.disconnect(0, { sessionExpirySeconds: 0 }).catch(() => undefined);
  await until('five members', () =>
    set.broker.brokers.every(({ core }) => core.filters.group('t/#', 'g')?.size === 5),
  );
  await allArrived(set.takers, await publishAll(set, 30));
  assert.deepEqual(
    counts(set.takers).sort((a, b) => b - a),
    [30, 30, 0, 0, 0, 0],
  );
});

test('hash gives each publisher one member, the same wherever the publisher is', async () => {
  const set = await stage('hash');
  await using _ = set.broker;
  for (const worker of workerIndexes) {
    const writer = await set.broker.connect({ clientId: 'same', worker });
    for (let i = 0; i < 10; i++) await writer.publish('t', `${worker} ${i}`, { qos: 1 });
    await until('all', () => total(set.takers) === (worker + 1) * 10);
  }
  assert.deepEqual(
    counts(set.takers).filter((count) => count > 0),
    [30],
  );
});

for (const strategy of ['random', 'round_robin', 'sticky', 'hash'] as const) {
  test(`${strategy}: nothing acknowledged is lost when members are away, leave and come back`, async () => {
    const set = await stage(strategy);
    await using _ = set.broker;
    const { takers, broker } = set;
    const sent: string[] = [];
    for (let round = 0; round < 12; round++) {
      const taker = takers[round % 6] as Taker;
      await taker.lose();
      sent.push(...(await publishAll(set, 9)));
      // Some end their session, and leave what they have to the others.
      if (round % 4 === 3) {
        await broker.connect({
          clientId: taker.clientId,
          cleanStart: true,
          worker: (round + 1) % 3,
        });
      }
      await taker.come((round * 2) % 3, ['$share/g/t/#']);
    }
    await allArrived(takers, sent);
    await turns();
    assert.equal(total(takers), sent.length, 'nobody was away with something unfinished');
  });
}

test('what a member has not acknowledged goes to one in another worker when its session ends', async () => {
  await using broker = await startBroker({
    workers: 3,
    broker: { sharedSubscriptionStrategy: 'sticky' },
  });
  for (const isDurable of [false, true]) {
    for (const other of [1, 2]) {
      const clientId = `leaving-${String(isDurable)}-${other}`;
      const topic = clientId;
      const leaving = await broker.connect({
        clientId,
        worker: 0,
        ...(isDurable && { properties }),
      });
      await leaving.subscribe(`$share/g/${topic}`, { qos: 1 });
      const writer = await broker.connect({ worker: other });
      for (let i = 0; i < 5; i++) await writer.publish(topic, `${i}`, { qos: 1 });
      for (let i = 0; i < 3; i++) await leaving.next('publish');
      const staying = new Taker(broker, `staying-${clientId}`);
      await staying.come(other, [`$share/g/${topic}`]);
      if (isDurable) await broker.lose(leaving, clientId);
      if (isDurable) await broker.connect({ clientId, cleanStart: true, worker: other });
      else leaving.destroy();
      await staying.untilAll(['0', '1', '2', '3', '4']);
    }
  }
});

/** A durable writer that has moved: its first QoS 2 publishes may be repetitions. */
async function movedWriter(
  broker: TestBroker,
  clientId: string,
  worker: number,
): Promise<RawClient> {
  const before = await broker.connect({ clientId, properties, worker: (worker + 1) % 3 });
  await broker.lose(before, clientId);
  return broker.connect({ clientId, cleanStart: false, properties, worker });
}

for (const isReleased of [false, true]) {
  const when = isReleased ? 'after' : 'before';
  test(`what a member leaves goes to another one, ${when} its publisher has released it, and no later one is taken for it`, async () => {
    await using broker = await startBroker({ workers: 3 });
    for (const [from, to] of pairs) {
      const name = `${from}-${to}`;
      const filter = `$share/g/${name}`;
      const leaving = await broker.connect({
        clientId: `leaving-${name}`,
        properties: { ...properties, receiveMaximum: 1 },
        worker: from,
      });
      await leaving.subscribe(filter, { qos: 2 });
      const writer = await movedWriter(broker, `writer-${name}`, 1);
      await writer.publish(name, 'in its window', { qos: 1 });
      writer.sendPublish(name, 'first', { qos: 2, packetId: 7 });
      await writer.next('pubrec');
      const release = async (): Promise<void> => {
        writer.ack('pubrel', 7);
        await writer.next('pubcomp');
      };
      if (isReleased) await release();
      const staying = new Taker(broker, `staying-${name}`);
      await staying.come(to, [filter]);
      await broker.connect({ clientId: `leaving-${name}`, cleanStart: true, worker: from });
      await staying.untilAll(['first']);
      if (!isReleased) await release();
      writer.sendPublish(name, 'second', { qos: 2, packetId: 7 });
      await writer.next('pubrec');
      await staying.untilAll(['second']);
    }
  });
}

test('a message waits for nobody who is away or full while another member is ready', async () => {
  const set = await stage('round_robin', { sharedDispatchAckEnabled: true });
  await using _ = set.broker;
  const { takers, broker } = set;
  for (const i of [0, 1, 2, 3]) await takers[i]?.lose();
  const deaf = await broker.connect({
    clientId: 'deaf',
    properties: { receiveMaximum: 1 },
    worker: 1,
  });
  await deaf.subscribe('$share/g/t/#', { qos: 2 });
  await turns();
  const sent = await publishAll(set, 30);
  const ready = [takers[4] as Taker, takers[5] as Taker];
  await until('all but one', () => total(ready) >= sent.length - 1);
  assert.equal((await deaf.next('publish')).qos > 0, true);
  await deaf.expectNothing();
});

test('a plain and a shared subscription to the same topic each get their own', async () => {
  await using broker = await startBroker({ workers: 3 });
  const takers: Taker[] = [];
  for (const worker of workerIndexes) {
    const taker = new Taker(broker, `both-${worker}`);
    await taker.come(worker, ['t', '$share/g/t', '$share/h/+']);
    takers.push(taker);
  }
  const writers = workerIndexes.map((worker) => broker.connect({ worker }));
  for (const writer of await Promise.all(writers)) await writer.publish('t', 'x', { qos: 1 });
  await until('3 plain each, 3 of g, 3 of h', () => total(takers) === 9 + 3 + 3);
  await turns();
  assert.equal(total(takers), 15);
});
