import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import test from 'node:test';
import { Batch } from '../batch.ts';
import { Table } from '../table.ts';
import { engineContract } from '../engine-contract.ts';
import { entriesOf, key, patterned, put } from '../engine-fixture.ts';
import { openTemporary, TemporaryStore } from './store-fixture.ts';

engineContract('LmdbEngine', openTemporary);

test('LmdbEngine sees a commit at once while it is being read without a pause', async () => {
  await using store = await openTemporary();
  const { engine } = store;
  for (let round = 1; round <= 100; round += 1) {
    let isUnderWay = true;
    const read = (): void => {
      if (!isUnderWay) return;
      engine.get(Table.queue, key('a'));
      engine.keys(Table.queue, key(''), undefined, () => true);
      setImmediate(read);
    };
    read();
    await put(engine, Table.queue, [['a', `${round}`]]);
    isUnderWay = false;
    assert.deepEqual(entriesOf(engine, Table.queue), [['a', `${round}`]]);
  }
});

test('LmdbEngine has after closing and opening what was committed before', async () => {
  await using store = new TemporaryStore();
  const first = await store.open();
  await put(first, Table.queue, [['a', '1']]);
  const batch = new Batch();
  batch.put(Table.bodies, key('large'), patterned(3_000_000));
  const last = first.commit(batch);
  await first.close();
  await last;
  const second = await store.open();
  assert.deepEqual(entriesOf(second, Table.queue), [['a', '1']]);
  assert.deepEqual(second.get(Table.bodies, key('large')), patterned(3_000_000));
  await put(second, Table.queue, [['b', '2']]);
  assert.equal(second.count(Table.queue), 2);
});

test('LmdbEngine hands out values of 20 MB whole, again and again', async () => {
  await using store = await openTemporary();
  const { engine } = store;
  const batch = new Batch();
  for (const name of ['a', 'b']) batch.put(Table.bodies, key(name), patterned(20_000_000));
  await engine.commit(batch);
  const first = engine.get(Table.bodies, key('a'));
  engine.get(Table.bodies, key('b'))?.fill(0);
  engine.range(Table.bodies, key(''), undefined, (_, value) => {
    assert.equal(Buffer.compare(value, patterned(20_000_000)), 0);
    return true;
  });
  assert.equal(Buffer.compare(first ?? key(''), patterned(20_000_000)), 0);
});

test('LmdbEngine that is closed refuses to commit, and closes once', async () => {
  await using store = await openTemporary();
  const { engine } = store;
  await Promise.all([engine.close(), engine.close()]);
  await assert.rejects(engine.commit(new Batch()), /Cannot write to the store: it is closed/);
});

test('LmdbEngine takes one commit at a time', async () => {
  await using store = await openTemporary();
  const { engine } = store;
  const first = engine.commit(new Batch());
  await assert.rejects(engine.commit(new Batch()), /one commit at a time/);
  await first;
});

test('LmdbEngine keeps its files to its user, and no others', async () => {
  await using store = new TemporaryStore();
  await store.open();
  const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
  assert.equal(modeOf(store.dir), '700');
  assert.equal(modeOf(store.dataFile), '600');
  assert.equal(modeOf(`${store.dir}/lock.mdb`), '600');
  assert.equal(modeOf(`${store.dir}.lock`), '600');
  assert.deepEqual(readdirSync(store.dataDir).sort(), ['store', 'store.lock']);
});

test('LmdbEngine keeps its file as long as it says it is', async () => {
  await using store = new TemporaryStore();
  const engine = await store.open();
  const batch = new Batch();
  batch.put(Table.bodies, key('short-lived'), Buffer.alloc(1_000_000));
  batch.remove(Table.bodies, key('short-lived'));
  await engine.commit(batch);
  await engine.close();
  await store.open();
  assert.deepEqual(
    store.logged.map(({ event }) => event),
    [],
  );
});
