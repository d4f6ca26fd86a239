import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { VirtualClock } from '#base/clock';
import type { SessionStore } from '#core/store-port';
import { foundIn, sessionIn, type StoreBench, storeBench, tableSizes } from '#test/store-bench';
import { Batch } from './batch.ts';
import { DurableStore } from './durable-store.ts';
import { FailingEngine } from './failing-engine.ts';
import { pairKey } from './keys.ts';
import { MemoryEngine } from './memory-engine.ts';
import {
  delivery,
  headOf,
  ownMessage,
  payloadsOf,
  sharedMessage,
} from './session-store-fixture.ts';
import { Table } from './table.ts';

/** More than one slice of each table. */
const many = 1200;

function subscribe(session: SessionStore, filter: string): void {
  const options = { qos: 1, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const;
  session.subscribe({
    filter,
    routed: filter,
    group: undefined,
    subscriptionId: undefined,
    ...options,
  });
}

/** A session with more of everything than is cleared at once; half of its messages are others' too. */
function fill(session: SessionStore, other: SessionStore): void {
  for (let i = 1; i <= many; i++) {
    const message = i % 2 === 0 ? sharedMessage(`${i}`) : ownMessage(`${i}`);
    session.put(i, message, delivery());
    if (i % 4 === 0) other.put(i, message, delivery());
    session.take(i, i);
    subscribe(session, `f/${i}`);
  }
}

/** Until nothing is left to clear; `each` is called with each flush. */
async function reaped(bench: StoreBench, each: () => void = () => undefined): Promise<void> {
  for (let i = 0; i < 100; i++) {
    await bench.store.flushed();
    each();
    if (bench.engine.count(Table.ended) === 0) return;
    await turn();
  }
  throw new Error('Cannot see the end: the session is still being cleared after 100 flushes');
}

/** What is left when only `other` of `fill` is there. */
const rest = { sessions: 1, queue: many / 4, bodies: many / 4, references: many / 4 };

test('the end of a session takes everything of it and nothing of others, a slice at a time', async () => {
  const bench = storeBench();
  const [session, other] = [sessionIn(bench), sessionIn(bench, 'other')];
  fill(session, other);
  await bench.store.flushed();
  session.end();
  let before = bench.engine.count(Table.queue) + bench.engine.count(Table.taken);
  await reaped(bench, () => {
    const now = bench.engine.count(Table.queue) + bench.engine.count(Table.taken);
    assert.ok(before - now <= 500, `${before - now} records at once`);
    before = now;
  });
  assert.deepEqual(tableSizes(bench), rest);
  assert.equal(payloadsOf(other).length, many / 4);
});

test('the next process goes on where the last one stopped', async () => {
  const first = storeBench();
  const [session, other] = [sessionIn(first), sessionIn(first, 'other')];
  fill(session, other);
  await first.store.flushed();
  session.end();
  await first.store.flushed();
  await first.store.flushed();
  const left = first.engine.count(Table.queue);
  assert.ok(left > many / 4 && left < many + many / 4, 'it was cut off in the middle');
  const bench = first.again();
  assert.deepEqual(
    [...bench.store.sessions()].map(({ head }) => head.clientId),
    ['other'],
  );
  await reaped(bench);
  assert.deepEqual(tableSizes(bench), rest);
});

test('a client that comes back at once has a session of its own, which is left alone', async () => {
  const bench = storeBench();
  const [old, other] = [sessionIn(bench), sessionIn(bench, 'other')];
  fill(old, other);
  await bench.store.flushed();
  old.end();
  const young = bench.store.createSession(headOf('s', { createdAtMs: 1 }));
  young.put(1, ownMessage('new'), delivery());
  subscribe(young, 'new');
  young.take(1, 1);
  await reaped(bench);
  const found = foundIn(bench.again());
  assert.equal(found.head.createdAtMs, 1);
  assert.deepEqual(
    found.subscriptions.map(({ filter }) => filter),
    ['new'],
  );
  assert.deepEqual(payloadsOf(found.store), ['new']);
  assert.deepEqual([...found.store.taken()], [[1, 1]]);
});

test('sessions that end one after another are all cleared', async () => {
  const bench = storeBench();
  const other = sessionIn(bench, 'other');
  const sessions = ['a', 'b', 'c'].map((name) => sessionIn(bench, name));
  for (const session of sessions) session.put(1, ownMessage('x'), delivery());
  await bench.store.flushed();
  for (const session of sessions) session.end();
  sessionIn(bench, 'brief').end();
  await reaped(bench);
  assert.deepEqual(tableSizes(bench), { sessions: 1 });
  assert.deepEqual(payloadsOf(other), []);
});

for (const [what, failAt] of [
  ['its mark', 0],
  ['the first slice', 1],
  ['the last slice', 3],
] as const) {
  test(`a store that fails at ${what} takes nothing twice and leaves nothing`, async () => {
    const bench = storeBench();
    const [session, other] = [sessionIn(bench), sessionIn(bench, 'other')];
    const messages = Array.from({ length: many }, (_, i) => sharedMessage(`${i}`));
    const receipts = messages.map((message, i) => {
      other.put(i + 1, message, delivery());
      return session.put(i + 1, message, delivery());
    });
    await bench.store.flushed();
    bench.engine.hold();
    for (let i = 0; i < 5; i++) {
      session.settle(i + 1, messages[i], receipts[i] as number);
    }
    session.release(6, messages[5] as never, receipts[5] as number);
    session.end();
    for (let i = 0; i < failAt; i++) (await bench.engine.next()).resolve();
    (await bench.engine.next()).reject();
    bench.engine.pass();
    await turn();
    bench.clock.advance(100);
    await reaped(bench);
    const held = { queue: many, bodies: many, references: many };
    assert.deepEqual(tableSizes(bench), { sessions: 1, ...held });
    const next = bench.again();
    const { store } = foundIn(next, 'other');
    for (const { seq, message, receipt } of store.read(0, many, many)) {
      store.settle(seq, message, receipt);
    }
    await next.store.flushed();
    assert.deepEqual(next.faults, []);
    assert.deepEqual(tableSizes(next), { sessions: 1 });
  });
}

test('a record that nobody can read is cleared like the others', async () => {
  const bench = storeBench();
  const session = sessionIn(bench);
  const message = sharedMessage('x');
  session.put(1, message, delivery());
  session.put(3, message, delivery());
  await bench.store.flushed();
  const damage = new Batch();
  damage.put(Table.queue, pairKey(session.no, 2), Buffer.of(9));
  await bench.engine.commit(damage);
  session.end();
  await reaped(bench);
  const later = sessionIn(bench, 'later');
  later.put(1, ownMessage('x'), delivery());
  await bench.store.flushed();
  later.end();
  await reaped(bench);
  assert.deepEqual(tableSizes(bench), {});
});

/** A store on an engine whose call `failAt` fails, with a message that three sessions hold. */
async function failing(failAt: number): Promise<{
  memory: MemoryEngine;
  engine: FailingEngine;
  clock: VirtualClock;
  store: DurableStore;
  ending: SessionStore[];
}> {
  const memory = new MemoryEngine();
  const engine = new FailingEngine(memory, { failAt });
  const clock = new VirtualClock();
  const store = new DurableStore(engine, { clock });
  const message = sharedMessage('x');
  const ending = ['a', 'b', 'stays'].map((name) => store.createSession(headOf(name)));
  for (const session of ending) session.put(1, message, delivery());
  ending.pop();
  await store.flushed();
  return { memory, engine, clock, store, ending };
}

test('whichever call of the engine fails, nothing is taken twice and nothing is left', async () => {
  const { calls } = (await failing(Number.POSITIVE_INFINITY)).engine;
  for (let failAt = 1, isOver = false; !isOver; failAt++) {
    const { memory, engine, clock, store, ending } = await failing(calls + failAt);
    for (const session of ending) {
      session.end();
      for (let i = 0; i < 6; i++) {
        await turn();
        clock.advance(1000);
      }
    }
    isOver = !engine.hasFailed;
    store.createSession(headOf('brings it back')).end();
    for (let i = 0; i < 20; i++) await turn();
    const bench = storeBench(memory);
    const { meta: _, ...sizes } = tableSizes(bench);
    assert.deepEqual(sizes, { sessions: 1, queue: 1, bodies: 1, references: 1 }, `call ${failAt}`);
    assert.deepEqual(payloadsOf(foundIn(bench, 'stays').store), ['x'], `call ${failAt}`);
  }
});
