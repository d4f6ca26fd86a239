import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { SessionStore } from '#core/store-port';
import { foundIn, sessionIn, type StoreBench, storeBench, tableSizes } from '#test/store-bench';
import { delivery, payloadsOf, sharedMessage } from './session-store-fixture.ts';
import { Table } from './table.ts';

const names = ['a', 'b', 'c'] as const;

function sessionsIn(bench: StoreBench): SessionStore[] {
  return names.map((name) => sessionIn(bench, name));
}

/** The store fails once, and goes on. */
async function failOnce(bench: StoreBench): Promise<void> {
  bench.engine.fail();
  await assert.rejects(bench.store.flushed());
  bench.engine.pass();
}

async function heal({ clock, store }: StoreBench): Promise<void> {
  await turn();
  clock.advance(1000);
  await store.flushed();
}

/** What the next process would find for each session; a reference to nothing is a fault. */
function foundBy(bench: StoreBench): string[][] {
  const next = bench.again();
  const found = names.map((name) => payloadsOf(foundIn(next, name).store));
  assert.deepEqual(next.faults, []);
  return found;
}

test('a message that several sessions hold is stored once and goes with the last of them', async () => {
  const bench = storeBench();
  const sessions = sessionsIn(bench);
  const message = sharedMessage('x');
  const receipts = sessions.map((session) => session.put(1, message, delivery()));
  await bench.store.flushed();
  for (const [i, session] of sessions.entries()) {
    const held = { queue: 3 - i, bodies: 1, references: 1 };
    assert.deepEqual(tableSizes(bench), { sessions: 3, ...held });
    session.settle(1, message, receipts[i] as number);
    await bench.store.flushed();
  }
  assert.deepEqual(tableSizes(bench), { sessions: 3 });
});

test('a message that some settle before it is written stays for the others', async () => {
  const bench = storeBench();
  const sessions = sessionsIn(bench);
  const message = sharedMessage('x');
  const receipts = sessions.map((session) => session.put(1, message, delivery()));
  sessions[0]?.settle(1, message, receipts[0] as number);
  sessions[2]?.settle(1, message, receipts[2] as number);
  await bench.store.flushed();
  assert.deepEqual(foundBy(bench), [[], ['x'], []]);
});

test('sessions of the next process share a message that they read', async () => {
  const before = storeBench();
  const message = sharedMessage('x');
  for (const session of sessionsIn(before)) session.put(1, message, delivery());
  await before.store.flushed();
  const bench = before.again();
  const entries = names.map((name) => foundIn(bench, name).store.read(0, 9, 9)[0]);
  assert.equal(entries[0]?.message, entries[1]?.message);
  for (const [i, name] of names.entries()) {
    const entry = entries[i];
    foundIn(bench, name).store.settle(1, entry?.message, entry?.receipt ?? 0);
  }
  await bench.store.flushed();
  assert.deepEqual(tableSizes(bench), { sessions: 3 });
});

test('a message of the next process is not taken for one that an older process left', async () => {
  const before = storeBench();
  sessionsIn(before)[0]?.put(1, sharedMessage('old'), delivery());
  await before.store.flushed();
  const bench = before.again();
  foundIn(bench, 'b').store.put(1, sharedMessage('new'), delivery());
  await bench.store.flushed();
  assert.deepEqual(foundBy(bench), [['old'], ['new'], []]);
});

test('a message whose batch failed is held by nobody, whatever is settled later', async () => {
  const bench = storeBench();
  const sessions = sessionsIn(bench);
  await bench.store.flushed();
  const message = sharedMessage('x');
  const receipts = sessions.map((session) => session.put(1, message, delivery()));
  await failOnce(bench);
  sessions[0]?.settle(1, message, receipts[0] as number);
  sessions[1]?.release(1, message, receipts[1] as number);
  await heal(bench);
  assert.deepEqual(foundBy(bench), [[], ['released'], []]);
  assert.equal(bench.engine.count(Table.bodies), 0);
});

test('a message that is settled while its batch fails is held by nobody', async () => {
  const bench = storeBench();
  const sessions = sessionsIn(bench);
  await bench.store.flushed();
  bench.engine.hold();
  const message = sharedMessage('x');
  const receipts = sessions.map((session) => session.put(1, message, delivery()));
  const commit = await bench.engine.next();
  for (const [i, session] of sessions.entries()) {
    session.settle(1, message, receipts[i] as number);
  }
  commit.reject();
  bench.engine.pass();
  await heal(bench);
  assert.deepEqual(tableSizes(bench), { sessions: 3 });
});

test('a message that could not be written is written anew for whoever gets it next', async () => {
  const bench = storeBench();
  const [a, b] = sessionsIn(bench) as [SessionStore, SessionStore];
  await bench.store.flushed();
  const message = sharedMessage('x');
  a.put(1, message, delivery());
  await failOnce(bench);
  b.put(1, message, delivery());
  await heal(bench);
  assert.deepEqual(foundBy(bench), [[], ['x'], []]);
});

test('a message that goes to another session while its batch is under way is there, though that fails', async () => {
  const bench = storeBench();
  const [a, b, c] = sessionsIn(bench) as [SessionStore, SessionStore, SessionStore];
  await bench.store.flushed();
  bench.engine.hold();
  const message = sharedMessage('x');
  const receipts = [a.put(1, message, delivery()), b.put(1, message, delivery())];
  const commit = await bench.engine.next();
  a.settle(1, message, receipts[0] as number);
  const last = c.put(1, message, delivery());
  commit.reject();
  await turn();
  b.settle(1, message, receipts[1] as number);
  bench.engine.pass();
  await heal(bench);
  const found = bench.again();
  assert.deepEqual(payloadsOf(foundIn(found, 'c').store), ['x']);
  assert.deepEqual(found.faults, []);
  foundIn(found, 'c').store.settle(1, message, last);
  await found.store.flushed();
});

test('a message that goes to another session while its batch is under way is there when both succeed', async () => {
  const bench = storeBench();
  const [a, b] = sessionsIn(bench) as [SessionStore, SessionStore];
  await bench.store.flushed();
  bench.engine.hold();
  const message = sharedMessage('x');
  const first = a.put(1, message, delivery());
  const commit = await bench.engine.next();
  a.settle(1, message, first);
  const second = b.put(1, message, delivery());
  commit.resolve();
  bench.engine.pass();
  await turn();
  await bench.store.flushed();
  assert.deepEqual(payloadsOf(a), []);
  assert.deepEqual(payloadsOf(b), ['x']);
  b.settle(1, message, second);
  await bench.store.flushed();
  assert.deepEqual(tableSizes(bench), { sessions: 3 });
});

test('a message that one session gets and is done with in a batch that fails stays for the others', async () => {
  for (const done of ['settle', 'release'] as const) {
    const bench = storeBench();
    const [a, b, c] = sessionsIn(bench) as [SessionStore, SessionStore, SessionStore];
    const message = sharedMessage('x');
    a.put(1, message, delivery());
    b.put(1, message, delivery());
    await bench.store.flushed();
    c[done](1, message, c.put(1, message, delivery()));
    await failOnce(bench);
    await heal(bench);
    const next = bench.again();
    for (const name of ['a', 'b']) {
      const { store } = foundIn(next, name);
      const [entry] = store.read(0, 9, 9);
      assert.equal(entry?.message?.payload.toString(), 'x', `${name}, ${done}`);
      store.settle(1, entry?.message, entry?.receipt ?? 0);
      await next.store.flushed();
    }
    assert.deepEqual(next.faults, []);
    assert.deepEqual(
      [next.engine.count(Table.bodies), next.engine.count(Table.references)],
      [0, 0],
    );
  }
});
