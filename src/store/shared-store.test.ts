// Several stores on one engine, as the workers of a broker have them: what one has flushed another
// sees, and what none has flushed is nobody's but its own.

import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { VirtualClock } from '#base/clock';
import type { Store, StoredWill } from '#core/store-port';
import type { Subscription } from '#core/subscription';
import { Batch } from './batch.ts';
import { DurableStore } from './durable-store.ts';
import type { Engine } from './engine.ts';
import { entriesOf } from './engine-fixture.ts';
import { joinLmdb } from './lmdb/join.ts';
import { openTemporary } from './lmdb/store-fixture.ts';
import { makeMemory } from './journal-fixture.ts';
import { numberKey, pairKey } from './keys.ts';
import { numbersAfter } from './numbers.ts';
import { retainedMessage } from './retained-fixture.ts';
import {
  delivery,
  headOf,
  ownMessage,
  payloadsOf,
  sharedMessage,
} from './session-store-fixture.ts';
import { SharedEngine } from './shared-engine.ts';
import { Table } from './table.ts';

type Body = (one: DurableStore, two: DurableStore, engine: Engine) => Promise<void>;

function storesOn(engines: readonly Engine[], numbers: SharedArrayBuffer): DurableStore[] {
  const onFault = (error: unknown): never => {
    throw error;
  };
  const options = { clock: new VirtualClock(), onTrouble: onFault, onFault, isShared: true };
  return engines.map(
    (engine, i) => new DurableStore(engine, { ...options, numbers, isReaping: i === 0 }),
  );
}

/** On lanes of one engine, and on LMDB as two threads have it. */
function on(title: string, body: Body): void {
  test(`${title}: on lanes`, async () => {
    await using made = await makeMemory();
    const shared = new SharedEngine(made.engine);
    const engines = [shared.lane(), shared.lane()];
    const [one, two] = storesOn(engines, numbersAfter(made.engine));
    assert.ok(one !== undefined && two !== undefined);
    await body(one, two, made.engine);
  });
  test(`${title}: on LMDB`, async () => {
    await using made = await openTemporary();
    const seated = joinLmdb(made.engine.seat().seat);
    const [one, two] = storesOn([made.engine, seated], made.engine.numbers);
    assert.ok(one !== undefined && two !== undefined);
    await body(one, two, made.engine);
    await two[Symbol.asyncDispose]();
    await one[Symbol.asyncDispose]();
  });
}

async function atRest(store: DurableStore): Promise<void> {
  do {
    await store.flushed();
    await turn();
  } while (store.pendingBytes > 0);
}

function topicsOf({ retained }: Store): string[] {
  const topics: string[] = [];
  retained.slice('#', '', 100, ({ topic }) => topics.push(topic) > 0);
  return topics;
}

function retain({ retained }: Store, topic: string): void {
  retained.put(retainedMessage(topic, topic), Number.POSITIVE_INFINITY);
}

const longTopic = 'l'.repeat(3000);

on('retained messages of one are seen by the other when they are flushed', async (one, two) => {
  retain(one, 'a');
  retain(one, longTopic);
  assert.deepEqual([one.retained.pending, two.retained.pending], [2, 0]);
  assert.deepEqual([topicsOf(one), topicsOf(two)], [['a', longTopic], []]);
  await one.flushed();
  assert.equal(one.retained.pending, 0);
  assert.deepEqual(topicsOf(two), ['a', longTopic]);
  assert.equal(two.retained.has('a'), true);
  two.retained.delete('a');
  await two.flushed();
  assert.deepEqual([topicsOf(one), one.retained.has('a')], [[longTopic], false]);
});

on('sizes count what others wrote as of the last flush, and do not drift', async (one, two) => {
  for (const topic of ['a', 'b', 'c']) retain(one, topic);
  for (const topic of ['b', 'c', 'd', longTopic]) retain(two, topic);
  assert.deepEqual([one.retained.size, two.retained.size], [3, 4]);
  await Promise.all([one.flushed(), two.flushed()]);
  for (const store of [one, two]) {
    store.retained.delete('b');
    store.retained.delete('never there');
    retain(store, 'e');
  }
  await one.flushed();
  await two.flushed();
  retain(one, 'f');
  await one.flushed();
  retain(two, 'f');
  await two.flushed();
  retain(one, longTopic);
  await one.flushed();
  assert.deepEqual([one.retained.size, two.retained.size], [6, 6]);
});

on('what one has told is removed by the other, though it could not see it', async (one, two) => {
  retain(one, 'a');
  one.records('ban').put('c', 1);
  // Told later, flushed later.
  two.retained.delete('a');
  two.records('ban').delete('c');
  await one.flushed();
  await two.flushed();
  assert.deepEqual([topicsOf(one), topicsOf(two)], [[], []]);
  assert.deepEqual([...one.records('ban').entries()], []);
});

on('records of one are seen by the other when they are flushed', async (one, two) => {
  const [ours, theirs] = [one.records('ban'), two.records('ban')];
  ours.put('c', 1);
  assert.deepEqual([theirs.get('c'), [...theirs.entries()]], [undefined, []]);
  await one.flushed();
  assert.deepEqual([theirs.get('c'), [...theirs.entries()]], [1, [['c', 1]]]);
});

on('sessions of several stores have numbers and bodies of their own', async (one, two, engine) => {
  const sessions = [one, two, one, two].map((store, i) => store.createSession(headOf(`c${i}`)));
  assert.equal(new Set(sessions.map(({ no }) => no)).size, 4);
  const ofOne = sharedMessage('of one');
  const ofTwo = sharedMessage('of two');
  for (const [i, session] of sessions.entries()) {
    session.put(1, i % 2 === 0 ? ofOne : ofTwo, delivery());
  }
  await Promise.all([one.flushed(), two.flushed()]);
  engine.renew();
  assert.equal(engine.count(Table.bodies), 2);
  assert.deepEqual(sessions.map(payloadsOf), [['of one'], ['of two'], ['of one'], ['of two']]);
});

on('a session goes on in another store with all that was flushed', async (one, two, engine) => {
  const session = one.createSession(headOf('mover'));
  const stayer = one.createSession(headOf('stayer'));
  const message = sharedMessage('of both');
  for (const each of [session, stayer]) each.put(1, message, delivery());
  session.put(2, ownMessage('of its own'), delivery());
  session.take(5, 100);
  await one.flushed();
  const moved = two.adoptSession(session.no);
  assert.deepEqual(moved.extent(0), { count: 2, lastSeq: 2 });
  assert.deepEqual(payloadsOf(moved), ['of both', 'of its own']);
  assert.deepEqual([...moved.taken()], [[5, 100]]);
  for (const { seq, message: read, receipt } of moved.read(0, 10, 10)) {
    moved.settle(seq, read, receipt);
  }
  moved.free(5);
  moved.update(headOf('mover', { leftAtMs: 7 }));
  await two.flushed();
  assert.deepEqual(payloadsOf(stayer), ['of both'], 'its body is still there');
  stayer.end();
  await atRest(one);
  moved.end();
  await atRest(two);
  engine.renew();
  for (const table of [Table.sessions, Table.queue, Table.bodies, Table.taken, Table.ended]) {
    assert.deepEqual(entriesOf(engine, table), [], `table ${table}`);
  }
});

on('sessions and wills are read by share, with what belongs to them', async (one, two) => {
  const names = Array.from({ length: 2500 }, (_, i) => `c${i}`);
  const filter = (name: string): Subscription => ({
    filter: `of/${name}`,
    routed: `of/${name}`,
    group: undefined,
    qos: 1,
    noLocal: false,
    retainAsPublished: false,
    retainHandling: 0,
    subscriptionId: undefined,
  });
  const will: StoredWill = {
    topic: 'w',
    payload: Buffer.alloc(0),
    qos: 0,
    retain: false,
    properties: {},
    from: { clientId: 'c', username: undefined, address: '', port: 0 },
    delaySeconds: 0,
    dueAtMs: undefined,
  };
  for (const name of names) {
    one.createSession(headOf(name)).subscribe(filter(name));
    one.wills.put(name, will);
  }
  await one.flushed();
  const shares: ((name: string) => boolean)[] = [
    (name) => name.endsWith('7'),
    (name) => name === 'c2499',
    () => false,
    () => true,
  ];
  for (const isWanted of shares) {
    const found = [...two.sessions(isWanted)];
    const wanted = names.filter(isWanted);
    assert.deepEqual(
      found.map(({ head }) => head.clientId),
      wanted,
    );
    for (const { head, subscriptions } of found) {
      assert.deepEqual(subscriptions, [filter(head.clientId)]);
    }
    const wills = [...two.wills.all(isWanted)].map(([name]) => name);
    assert.deepEqual(wills, wanted.toSorted());
  }
  assert.equal([...two.sessions()].length, names.length);
});

test('of several stores the one that is to clears what the last process left', async () => {
  await using made = await makeMemory();
  const left = new Batch();
  left.put(Table.ended, numberKey(5), Buffer.alloc(0));
  left.put(Table.queue, pairKey(5, 1), Buffer.alloc(0));
  await made.engine.commit(left);
  const shared = new SharedEngine(made.engine);
  const options = { clock: new VirtualClock(), numbers: numbersAfter(made.engine), isShared: true };
  const idle = new DurableStore(shared.lane(), { ...options, isReaping: false });
  await atRest(idle);
  assert.equal(made.engine.count(Table.ended), 1);
  await atRest(new DurableStore(shared.lane(), { ...options, isReaping: true }));
  assert.equal(made.engine.count(Table.ended), 0);
  assert.equal(made.engine.count(Table.queue), 0);
});
