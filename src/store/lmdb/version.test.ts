import assert from 'node:assert/strict';
import test from 'node:test';
import { Batch } from '../batch.ts';
import { Table } from '../table.ts';
import { entriesOf, key, put } from '../engine-fixture.ts';
import { openRoot, openTable } from './environment.ts';
import { TemporaryStore } from './store-fixture.ts';
import { type Migration, migrations } from './version.ts';

const versionKey = key('version');

async function setVersion(store: TemporaryStore, value: Buffer | undefined): Promise<void> {
  const engine = await store.open();
  const batch = new Batch();
  if (value) batch.put(Table.meta, versionKey, value);
  else batch.remove(Table.meta, versionKey);
  await engine.commit(batch);
  await engine.close();
}

/** Appends its name to every value of the queue. */
function appending(name: string): Migration {
  return {
    title: `append ${name}`,
    migrate(tables) {
      const changes: [Buffer, Buffer][] = [];
      tables.range(Table.queue, key(''), undefined, (next, value) => {
        return changes.push([next, Buffer.concat([value, key(name)])]) > 0;
      });
      for (const [next, value] of changes) tables.put(Table.queue, next, value);
    },
  };
}

test('a new store is of the version that this broker knows', async () => {
  await using store = new TemporaryStore();
  const engine = await store.open();
  assert.equal(engine.get(Table.meta, versionKey)?.readUInt32LE(0), 1 + migrations.length);
  await engine.close();
  const again = await store.open();
  assert.equal(again.get(Table.meta, versionKey)?.readUInt32LE(0), 1 + migrations.length);
});

test('a store that was made before a table was known gets it, and keeps the others', async () => {
  await using store = new TemporaryStore();
  const first = await store.open();
  await put(first, Table.queue, [['a', '1']]);
  await first.close();
  const root = openRoot(store.dir, 'write');
  openTable(root, String(Table.passages))?.dropSync();
  await root.close();
  const engine = await store.open();
  assert.deepEqual(entriesOf(engine, Table.queue), [['a', '1']]);
  await put(engine, Table.passages, [['b', '2']]);
  assert.deepEqual(entriesOf(engine, Table.passages), [['b', '2']]);
});

test('a store of a newer version is refused and left alone', async () => {
  await using store = new TemporaryStore();
  await setVersion(store, Buffer.from([9, 0, 0, 0]));
  for (const onCorrupt of ['stop', 'continue'] as const) {
    await assert.rejects(store.open({ onCorrupt, migrations: [] }), {
      message: `Cannot open the store "${store.dir}": it is of version 9, this broker knows versions up to 1`,
    });
  }
  const newer = await store.open({ migrations: Array.from({ length: 8 }, () => appending('x')) });
  assert.equal(newer.get(Table.meta, versionKey)?.readUInt32LE(0), 9);
});

test('a store of an older version is brought up step by step, and once', async () => {
  await using store = new TemporaryStore();
  const first = await store.open({ migrations: [] });
  await put(first, Table.queue, [
    ['a', '1'],
    ['b', '2'],
  ]);
  await first.close();
  const steps = [appending('+two'), appending('+three')];
  for (let time = 0; time < 2; time += 1) {
    const engine = await store.open({ migrations: steps });
    assert.deepEqual(entriesOf(engine, Table.queue), [
      ['a', '1+two+three'],
      ['b', '2+two+three'],
    ]);
    assert.equal(engine.get(Table.meta, versionKey)?.readUInt32LE(0), 3);
    await engine.close();
  }
  const step = (from: number, title: string): object => ({
    dir: store.dir,
    from,
    to: from + 1,
    title,
  });
  assert.deepEqual(store.logged, [
    { event: 'store.migrating', fields: step(1, 'append +two') },
    { event: 'store.migrated', fields: step(1, 'append +two') },
    { event: 'store.migrating', fields: step(2, 'append +three') },
    { event: 'store.migrated', fields: step(2, 'append +three') },
  ]);
});

test('a step that fails leaves the store at the version before it', async () => {
  await using store = new TemporaryStore();
  const first = await store.open({ migrations: [] });
  await put(first, Table.queue, [['a', '1']]);
  await first.close();
  const failing: Migration = {
    title: 'fail',
    migrate(tables) {
      appending('+lost').migrate(tables);
      throw new Error('cannot go on');
    },
  };
  await assert.rejects(store.open({ migrations: [appending('+two'), failing] }), /cannot go on/);
  const engine = await store.open({ migrations: [appending('+two')] });
  assert.deepEqual(entriesOf(engine, Table.queue), [['a', '1+two']]);
  assert.equal(engine.get(Table.meta, versionKey)?.readUInt32LE(0), 2);
});

test('a store with a version that no broker wrote is damaged', async () => {
  for (const value of [Buffer.alloc(4), Buffer.from([1]), Buffer.alloc(0)]) {
    await using store = new TemporaryStore();
    await setVersion(store, value);
    const hex = value.toString('hex');
    await assert.rejects(store.open(), new RegExp(`has the version 0x${hex}; node\\.on_corrupt`));
  }
});

test('a store with records and no version is damaged, an empty one is new', async () => {
  await using store = new TemporaryStore();
  await setVersion(store, undefined);
  const engine = await store.open();
  assert.equal(engine.has(Table.meta, versionKey), true);
  await put(engine, Table.queue, [['a', '1']]);
  await engine.close();
  await setVersion(store, undefined);
  await assert.rejects(store.open(), /has records and no version; node\.on_corrupt_store/);
});
