import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import test from 'node:test';
import { Batch } from '../batch.ts';
import { engineContract } from '../engine-contract.ts';
import { key, put } from '../engine-fixture.ts';
import { Table } from '../table.ts';
import { joinLmdb } from './join.ts';
import { openRoot } from './environment.ts';
import { holdersIn, SeatedThread } from './seat-fixture.ts';
import { openTemporary, TemporaryStore } from './store-fixture.ts';

engineContract('LmdbEngine that was seated', async () => {
  const owned = await openTemporary();
  const engine = joinLmdb(owned.engine.seat().seat);
  return {
    engine,
    [Symbol.asyncDispose]: async () => {
      await engine.close();
      await owned[Symbol.asyncDispose]();
    },
  };
});

/** Snapshots that are open, of all threads. */
function openSnapshots(store: TemporaryStore): string[] {
  const root = openRoot(store.dir, 'read');
  const list = root.readerList();
  void root.close();
  // A reader that has no snapshot shows a dash in place of a transaction.
  return list.split('\n').filter((line) => /^\s*\d+\s+\w+\s+\d+/.test(line));
}

test('threads that are seated write side by side, and each sees what the others have flushed', async () => {
  await using store = new TemporaryStore();
  const engine = await store.open();
  await using one = new SeatedThread(engine, 1);
  await using two = new SeatedThread(engine, 2);
  await Promise.all([one.tells(30), two.tells(30)]);
  await put(engine, Table.records, [['of the owner', '']]);
  for (const thread of [one, two]) thread.order('close');
  await Promise.all([one.ended(), two.ended()]);
  await Promise.all([one.left(), two.left()]);
  assert.deepEqual([one.error, two.error], [undefined, undefined]);
  const counts = [one.batchesIn(engine), two.batchesIn(engine)] as const;
  assert.deepEqual(counts, [one.lastNumber + 1, two.lastNumber + 1]);
  assert.equal(holdersIn(engine), counts[0] + counts[1]);
});

for (const how of ['halt', 'read', 'throw', 'exit'] as const) {
  test(`a thread that ends (${how}) loses nothing that was answered, and a successor goes on`, async () => {
    await using store = new TemporaryStore();
    const engine = await store.open();
    await using other = new SeatedThread(engine, 2);
    let next = 0;
    for (let round = 0; round < 5; round += 1) {
      await using mortal = new SeatedThread(engine, 1, next);
      await mortal.tells(5 + round * 3);
      if (how === 'halt' || how === 'read') {
        await mortal.stop(how);
        if (how === 'read') assert.ok(openSnapshots(store).length > 0);
        await mortal.terminate();
      } else {
        mortal.order(how);
        await mortal.ended();
      }
      await mortal.left();
      const batches = mortal.batchesIn(engine);
      assert.equal(batches, mortal.lastNumber + 2, 'what was answered, and the one under way');
      if (how === 'throw') assert.match(String(mortal.error), /a mistake of ours/);
      assert.ok(batches > next);
      next = batches;
      await other.tells(3);
    }
    other.order('close');
    await other.ended();
    assert.equal(other.error, undefined);
    assert.equal(holdersIn(engine), next + other.batchesIn(engine));
  });
}

test('a thread that ends while it reads does not keep old pages from being used again', async () => {
  await using store = new TemporaryStore();
  const engine = await store.open();
  const overwrite = async (): Promise<void> => {
    const batch = new Batch();
    batch.put(Table.records, key('again and again'), Buffer.alloc(100_000));
    await engine.commit(batch);
  };
  await using mortal = new SeatedThread(engine, 1);
  await mortal.tells(3);
  await mortal.stop('read');
  const before = statSync(store.dataFile).size;
  for (let i = 0; i < 20; i += 1) await overwrite();
  const pinned = statSync(store.dataFile).size;
  assert.ok(pinned - before >= 1_500_000, `its snapshot was in the way: ${pinned - before} bytes`);
  await mortal.terminate();
  await mortal.left();
  engine.renew();
  assert.deepEqual(openSnapshots(store), []);
  for (let i = 0; i < 100; i += 1) await overwrite();
  const after = statSync(store.dataFile).size;
  assert.ok(after - pinned < 1_000_000, `the file has grown by ${after - pinned} bytes`);
});

test('who is seated is told when the thread that writes has ended', async () => {
  await using store = new TemporaryStore();
  const owner = await store.open();
  const { seat, left } = owner.seat();
  const engine = joinLmdb(seat);
  await put(engine, Table.queue, [['a', '1']]);
  const last = put(engine, Table.queue, [['b', '1']]);
  await owner.close();
  await last;
  await assert.rejects(put(engine, Table.queue, [['c', '1']]), /its thread ended, restart/);
  await assert.rejects(left, /its thread ended/);
  await engine.close();
  const again = await store.open();
  assert.equal(again.count(Table.queue), 2);
});
