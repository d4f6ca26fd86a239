import assert from 'node:assert/strict';
import test from 'node:test';
import { Batch } from './batch.ts';
import type { Engine } from './engine.ts';
import { engineContract } from './engine-contract.ts';
import { key, keysOf, put } from './engine-fixture.ts';
import { openTemporary } from './lmdb/store-fixture.ts';
import { MemoryEngine } from './memory-engine.ts';
import { SharedEngine } from './shared-engine.ts';
import { storeContract } from './store-contract.ts';
import { Table } from './table.ts';

engineContract('a lane of memory', () => {
  const engine = new SharedEngine(new MemoryEngine()).lane();
  return { engine, [Symbol.asyncDispose]: () => engine.close() };
});

engineContract('a lane of LMDB', async () => {
  const owned = await openTemporary();
  const engine = new SharedEngine(owned.engine).lane();
  return { engine, [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose]() };
});

storeContract('a lane', () => {
  const engine = new SharedEngine(new MemoryEngine()).lane();
  return { engine, [Symbol.asyncDispose]: () => engine.close() };
});

/** Memory that tells when it is closed, and minds two commits at once. */
class WatchedEngine extends MemoryEngine {
  isClosed = false;
  #isBusy = false;

  override async commit(batch: Batch): Promise<void> {
    assert.equal(this.#isBusy, false);
    this.#isBusy = true;
    await super.commit(batch);
    this.#isBusy = false;
  }

  override async close(): Promise<void> {
    await super.close();
    this.isClosed = true;
  }
}

test('lanes commit one after another, in the order in which they were asked', async () => {
  const shared = new SharedEngine(new WatchedEngine());
  const lanes = Array.from({ length: 4 }, () => shared.lane());
  const told: number[] = [];
  const commit = async (lane: Engine, i: number): Promise<void> => {
    await put(lane, Table.queue, [[`k${i}`, '']]);
    told.push(i);
  };
  await Promise.all(lanes.map(commit));
  assert.deepEqual(told, [0, 1, 2, 3]);
  for (const lane of lanes) assert.deepEqual(keysOf(lane, Table.queue), ['k0', 'k1', 'k2', 'k3']);
});

test('a lane whose commit fails is told alone', async () => {
  const shared = new SharedEngine(new MemoryEngine());
  const [bad, good] = [shared.lane(), shared.lane()];
  const wrong = new Batch();
  wrong.put(200 as Table, key('a'), key('1'));
  const refused = bad.commit(wrong);
  const taken = put(good, Table.queue, [['a', '1']]);
  await assert.rejects(refused, /Cannot write to table 200/);
  await taken;
  await put(bad, Table.queue, [['b', '1']]);
  assert.deepEqual(keysOf(good, Table.queue), ['a', 'b']);
});

test('a lane takes one commit at a time, and none when it is closed', async () => {
  const shared = new SharedEngine(new MemoryEngine());
  const lane = shared.lane();
  const first = put(lane, Table.queue, [['a', '1']]);
  await assert.rejects(put(lane, Table.queue, [['b', '1']]), /one commit at a time/);
  await first;
  await lane.close();
  await assert.rejects(put(lane, Table.queue, [['c', '1']]), /it is closed/);
});

test('the engine is closed with the last lane, and each waits for its own commit', async () => {
  const engine = new WatchedEngine();
  const shared = new SharedEngine(engine);
  const [one, two] = [shared.lane(), shared.lane()];
  const commit = put(one, Table.queue, [['a', '1']]);
  await Promise.all([one.close(), one.close()]);
  await commit;
  assert.equal(engine.isClosed, false);
  await put(two, Table.queue, [['b', '1']]);
  await two.close();
  assert.equal(engine.isClosed, true);
});
