import assert from 'node:assert/strict';
import test from 'node:test';
import { systemClock, VirtualClock } from '#base/clock';
import { SlowEngine } from '#test/slow-engine';
import { DurableStore } from './durable-store.ts';
import { FailingEngine } from './failing-engine.ts';
import { makeMemory } from './journal-fixture.ts';
import { openTemporary, TemporaryStore } from './lmdb/store-fixture.ts';
import { MemoryEngine } from './memory-engine.ts';
import { delivery, headOf, ownMessage, payloadsOf } from './session-store-fixture.ts';
import { storeContract } from './store-contract.ts';

storeContract('memory', makeMemory);
storeContract('LMDB', openTemporary);
storeContract('an engine that could fail', () => ({
  engine: new FailingEngine(new MemoryEngine(), { failAt: Number.POSITIVE_INFINITY }),
  [Symbol.asyncDispose]: async () => {},
}));

test('what was told is on disk when the store is closed, though nobody waited', async () => {
  await using place = new TemporaryStore();
  const store = new DurableStore(await place.open(), { clock: systemClock });
  store.createSession(headOf('s')).put(1, ownMessage('x'), delivery());
  store.records('kind').put('key', 'value');
  await store[Symbol.asyncDispose]();
  const again = new DurableStore(await place.open(), { clock: systemClock });
  const [session] = [...again.sessions()];
  assert.ok(session !== undefined);
  assert.deepEqual(payloadsOf(session.store), ['x']);
  assert.equal(again.records('kind').get('key'), 'value');
});

test('trouble with the disk is told when it begins and when it is over', async () => {
  const engine = new SlowEngine();
  const clock = new VirtualClock();
  const troubles: unknown[] = [];
  const store = new DurableStore(engine, { clock, onTrouble: (error) => troubles.push(error) });
  engine.fail();
  store.createSession(headOf('s'));
  await assert.rejects(store.flushed(), /the disk is full/);
  assert.equal(troubles.length, 1);
  engine.pass();
  clock.advance(1000);
  await store.flushed();
  assert.deepEqual([troubles.length, troubles[1]], [2, undefined]);
  assert.equal([...store.sessions()].length, 1, 'a session that began is stored in the end');
});
