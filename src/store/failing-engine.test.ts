import assert from 'node:assert/strict';
import test from 'node:test';
import { Batch } from './batch.ts';
import type { Engine } from './engine.ts';
import { Table } from './table.ts';
import { engineContract } from './engine-contract.ts';
import { entriesOf, key, put } from './engine-fixture.ts';
import { FailingEngine } from './failing-engine.ts';
import { MemoryEngine } from './memory-engine.ts';

engineContract('FailingEngine that never fails', () => {
  const engine = new FailingEngine(new MemoryEngine(), { failAt: Number.POSITIVE_INFINITY });
  return { engine, [Symbol.asyncDispose]: () => engine.close() };
});

const commitA = async (engine: Engine): Promise<void> => put(engine, Table.queue, [['a', '1']]);
const refuse = (): never => assert.fail('nothing is visited');

/** Every kind of call once. */
const calls: readonly ((engine: Engine) => unknown)[] = [
  (engine) => engine.get(Table.queue, key('a')),
  (engine) => engine.has(Table.queue, key('a')),
  (engine) => engine.range(Table.queue, key(''), undefined, refuse),
  (engine) => engine.keys(Table.queue, key(''), undefined, refuse),
  (engine) => engine.lastKey(Table.queue, key(''), key('z')),
  (engine) => engine.count(Table.queue),
  (engine) => commitA(engine),
];

/** Which of the calls failed, counted from 1. */
async function failuresOf(engine: FailingEngine): Promise<number[]> {
  const failed: number[] = [];
  for (const [index, call] of calls.entries()) {
    try {
      await call(engine);
    } catch (error) {
      assert.match(String(error), new RegExp(`call ${index + 1} was to fail`));
      failed.push(index + 1);
    }
  }
  return failed;
}

for (let failAt = 1; failAt <= calls.length; failAt += 1) {
  test(`FailingEngine fails at call ${failAt} and at no other`, async () => {
    const engine = new FailingEngine(new MemoryEngine(), { failAt });
    assert.deepEqual(await failuresOf(engine), [failAt]);
    assert.equal(engine.calls, calls.length);
    assert.equal(engine.hasFailed, true);
  });

  test(`FailingEngine fails from call ${failAt} on until it is healed`, async () => {
    const engine = new FailingEngine(new MemoryEngine(), { failAt, isLasting: true });
    const expected = calls.map((_, index) => index + 1).filter((call) => call >= failAt);
    assert.deepEqual(await failuresOf(engine), expected);
    engine.heal();
    await commitA(engine);
    assert.deepEqual(entriesOf(engine, Table.queue), [['a', '1']]);
  });
}

test('FailingEngine says that it has not failed yet', () => {
  const engine = new FailingEngine(new MemoryEngine(), { failAt: 2 });
  engine.count(Table.queue);
  assert.equal(engine.hasFailed, false);
});

test('FailingEngine fails a commit on a later turn, and nothing of it happened', async () => {
  const inner = new MemoryEngine();
  const engine = new FailingEngine(inner, { failAt: 1 });
  const batch = new Batch();
  batch.put(Table.queue, key('a'), key('1'));
  let isSettled = false;
  const done = engine.commit(batch).finally(() => {
    isSettled = true;
  });
  await Promise.resolve();
  assert.equal(isSettled, false);
  await assert.rejects(done, /Cannot commit: call 1 was to fail/);
  assert.equal(inner.count(Table.queue), 0);
});
