import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { VirtualClock } from '#base/clock';
import type { Message, Passage } from '#core/message';
import { foundIn, sessionIn, type StoreBench, storeBench, tableSizes } from '#test/store-bench';
import { DurableStore } from './durable-store.ts';
import { MemoryEngine } from './memory-engine.ts';
import { numbersAfter } from './numbers.ts';
import { delivery, headOf, ownMessage } from './session-store-fixture.ts';
import { SharedEngine } from './shared-engine.ts';
import { Table } from './table.ts';

const group = { name: 'g', filter: 'a/+', redispatch: () => undefined };

function passing(passage: Passage): Message {
  const message = ownMessage('x', { qos: 2 });
  message.passage = passage;
  return message;
}

async function atRest({ store, engine }: StoreBench): Promise<void> {
  do {
    await store.flushed();
    await turn();
  } while (store.pendingBytes > 0 || engine.count(Table.ended) > 0);
}

test('a message that came under a name is marked with it in the same batch', async () => {
  const bench = storeBench();
  const [publisher, receiver] = [sessionIn(bench, 'p'), sessionIn(bench, 'r')];
  const passage = { sessionNo: publisher.no, packetId: 7 };
  await bench.store.flushed();
  bench.engine.hold();
  receiver.put(1, passing(passage), delivery());
  receiver.put(2, ownMessage('plain'), delivery());
  const commit = await bench.engine.next();
  assert.deepEqual(commit.writes, ['put queue', 'put passages', 'put queue']);
  const told = bench.store.hasPassed(passage, receiver.no);
  assert.ok(told instanceof Promise, 'not flushed');
  commit.resolve();
  await told;
  await bench.store.flushed();
  const has = (of: Passage, to: Parameters<typeof bench.store.hasPassed>[1]): unknown =>
    bench.store.hasPassed(of, to);
  assert.equal(has(passage, receiver.no), true);
  assert.equal(has({ ...passage, packetId: 8 }, receiver.no), false);
  assert.equal(has({ ...passage, sessionNo: receiver.no }, receiver.no), false);
  assert.equal(has(passage, publisher.no), false);
  assert.equal(has(passage, group), false);
});

test('a message to a shared subscription is marked by that, whoever got it', async () => {
  const bench = storeBench();
  const receiver = sessionIn(bench);
  const passage = { sessionNo: 3, packetId: 65_535 };
  receiver.put(1, passing(passage), delivery({ group }));
  await bench.store.flushed();
  assert.equal(bench.store.hasPassed(passage, { name: 'g', filter: 'a/+' }), true);
  assert.equal(bench.store.hasPassed(passage, { name: 'g', filter: 'a' }), false);
  assert.equal(bench.store.hasPassed(passage, { name: 'ga', filter: '/+' }), false);
  assert.equal(bench.store.hasPassed(passage, receiver.no), false);
});

test('a message that is settled before it is written has passed all the same', async () => {
  const bench = storeBench();
  const receiver = sessionIn(bench);
  const passage = { sessionNo: 3, packetId: 1 };
  const message = passing(passage);
  receiver.settle(1, message, receiver.put(1, message, delivery()));
  await bench.store.flushed();
  assert.deepEqual(tableSizes(bench), { sessions: 1, passages: 1 });
});

test('a message that could not be stored has not passed, one that was handed on has in the end', async () => {
  const bench = storeBench();
  const receiver = sessionIn(bench);
  await bench.store.flushed();
  bench.engine.fail();
  receiver.put(1, passing({ sessionNo: 3, packetId: 1 }), delivery());
  receiver.put(2, passing({ sessionNo: 3, packetId: 2 }), delivery(), true);
  await assert.rejects(bench.store.flushed());
  bench.engine.pass();
  bench.clock.advance(1000);
  await bench.store.flushed();
  assert.equal(bench.store.hasPassed({ sessionNo: 3, packetId: 1 }, receiver.no), false);
  assert.equal(bench.store.hasPassed({ sessionNo: 3, packetId: 2 }, receiver.no), true);
});

test('the release of a publish forgets its marks, together with its id, and no others', async () => {
  const bench = storeBench();
  const publisher = sessionIn(bench, 'p');
  const receivers = ['a', 'b'].map((name) => sessionIn(bench, name));
  for (const packetId of [1, 2, 258]) {
    const message = passing({ sessionNo: publisher.no, packetId });
    for (const receiver of receivers) receiver.put(packetId, message, delivery());
    receivers[0]?.put(packetId + 1000, message, delivery({ group }));
    publisher.take(packetId, 1);
  }
  await bench.store.flushed();
  assert.equal(bench.engine.count(Table.passages), 9);
  publisher.mayHavePassed = true;
  bench.engine.hold();
  publisher.free(2);
  const commit = await bench.engine.next();
  assert.deepEqual(commit.writes, ['remove taken', ...Array(3).fill('remove passages')]);
  const forgotten = bench.store.lastingFlushed();
  commit.reject();
  await turn();
  bench.engine.pass();
  bench.clock.advance(1000);
  await forgotten;
  assert.equal(bench.engine.count(Table.passages), 6, 'they go in the end');
  const { no } = receivers[0] as (typeof receivers)[number];
  for (const [packetId, expected] of [
    [1, true],
    [2, false],
    [258, true],
  ] as const) {
    assert.equal(bench.store.hasPassed({ sessionNo: publisher.no, packetId }, no), expected);
  }
});

test('marks are looked for only where some may be', async () => {
  const before = storeBench();
  const publisher = sessionIn(before);
  assert.equal(publisher.mayHavePassed, false);
  const keys = before.engine.keys.bind(before.engine);
  let looks = 0;
  before.engine.keys = (...given) => {
    looks++;
    keys(...given);
  };
  publisher.free(1);
  assert.equal(looks, 0);
  publisher.mayHavePassed = true;
  publisher.free(1);
  assert.equal(looks, 1);
  await before.store.flushed();
  assert.equal(foundIn(before.again()).store.mayHavePassed, true);
  assert.equal(before.store.adoptSession(publisher.no).mayHavePassed, true);
});

test('the end of the publisher takes its marks, the end of a receiver none', async () => {
  const bench = storeBench();
  const [publisher, receiver] = [sessionIn(bench, 'p'), sessionIn(bench, 'r')];
  const many = 1200;
  for (let packetId = 1; packetId <= many; packetId++) {
    receiver.put(packetId, passing({ sessionNo: publisher.no, packetId }), delivery());
  }
  await bench.store.flushed();
  receiver.end();
  await atRest(bench);
  assert.deepEqual(tableSizes(bench), { sessions: 1, passages: many });
  publisher.end();
  await atRest(bench);
  assert.deepEqual(tableSizes(bench), {});
});

test('marks of a publisher that is not there any more are cleared by the next process', async () => {
  const before = storeBench();
  const [publisher, receiver] = [sessionIn(before, 'p'), sessionIn(before, 'r')];
  receiver.put(1, passing({ sessionNo: publisher.no, packetId: 1 }), delivery());
  receiver.put(2, passing({ sessionNo: 4711, packetId: 1 }), delivery());
  await before.store.flushed();
  const bench = before.again();
  await atRest(bench);
  await atRest(bench);
  assert.deepEqual(tableSizes(bench), { sessions: 2, queue: 2, passages: 1 });
  assert.equal(bench.store.hasPassed({ sessionNo: publisher.no, packetId: 1 }, receiver.no), true);
});

test('what one store has marked another one sees and forgets', async () => {
  const memory = new MemoryEngine();
  const shared = new SharedEngine(memory);
  const options = { clock: new VirtualClock(), isShared: true, numbers: numbersAfter(memory) };
  const one = new DurableStore(shared.lane(), options);
  const two = new DurableStore(shared.lane(), { ...options, isReaping: false });
  const publisher = one.createSession(headOf('p'));
  const receiver = two.createSession(headOf('r'));
  const passage = { sessionNo: publisher.no, packetId: 9 };
  receiver.put(1, passing(passage), delivery());
  await two.flushed();
  assert.equal(one.hasPassed(passage, receiver.no), true);
  publisher.mayHavePassed = true;
  publisher.free(9);
  await one.flushed();
  assert.equal(two.hasPassed(passage, receiver.no), false);
});

test('an id is released although its marks cannot be read', async () => {
  const bench = storeBench();
  const publisher = sessionIn(bench);
  publisher.take(1, 1);
  await bench.store.flushed();
  publisher.mayHavePassed = true;
  bench.engine.keys = () => {
    throw new Error('Cannot read');
  };
  publisher.free(1);
  await bench.store.flushed();
  assert.deepEqual([...publisher.taken()], []);
  assert.match(String(bench.faults), /Cannot read/);
});
