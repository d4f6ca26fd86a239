import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { truncateSync, writeFileSync } from 'node:fs';
import test from 'node:test';
import { Batch } from '../batch.ts';
import { Table } from '../table.ts';
import { entriesOf, key, put } from '../engine-fixture.ts';
import { StoreDamaged } from '../store-damaged.ts';
import { openLmdb } from './open.ts';
import { TemporaryStore } from './store-fixture.ts';

/** The size of a page stands in the first of them. */
function pageBytesOf(bytes: Buffer): number {
  return bytes.readUInt32LE(48);
}

/** A store with records on many pages, closed. */
async function filled(store: TemporaryStore): Promise<void> {
  const engine = await store.open();
  const batch = new Batch();
  for (let i = 0; i < 3000; i += 1) batch.put(Table.queue, key(`k${i}`), Buffer.alloc(100, i));
  await engine.commit(batch);
  await engine.close();
}

function asideOf(store: TemporaryStore): string[] {
  return readdirSync(store.dataDir).filter((name) => name.startsWith('store.damaged-'));
}

/** Overwrites all pages that hold records of a filled store, and none of the others. */
function spoilRecords(store: TemporaryStore): void {
  const bytes = readFileSync(store.dataFile);
  const pageBytes = pageBytesOf(bytes);
  const leafFlag = 0x02;
  for (let at = 2 * pageBytes; at < bytes.length; at += pageBytes) {
    const isLeaf = bytes.readUInt16LE(at + 18) === leafFlag;
    const isFull = bytes.readUInt16LE(at + 20) > 60;
    // Fewer records than there were, in an order that is none.
    if (isLeaf && isFull) bytes.copyWithin(at + 24, at + 40, at + 60);
  }
  writeFileSync(store.dataFile, bytes);
}

const damages: readonly [string, (store: TemporaryStore) => void, RegExp][] = [
  [
    'no LMDB file',
    (store) => writeFileSync(store.dataFile, Buffer.alloc(100_000, 'x')),
    /"[^"]*data\.mdb" is not in order: no meta page begins at byte 0/,
  ],
  [
    'a file that lost its end',
    (store) => truncateSync(store.dataFile, 10 * pageBytesOf(readFileSync(store.dataFile))),
    /reading "[^"]*" ends a process by SIGBUS/,
  ],
  [
    'wrong pages, and a start that died of them',
    (store) => {
      spoilRecords(store);
      writeFileSync(store.marker, '');
    },
    /is not in order: the table 3 (is not in order|has \d+ records, it says 3000)/,
  ],
];

for (const [what, spoil, found] of damages) {
  test(`openLmdb stops at a damaged store when told to: ${what}`, async () => {
    await using store = new TemporaryStore();
    await filled(store);
    spoil(store);
    const before = readFileSync(store.dataFile);
    for (let time = 0; time < 2; time += 1) {
      await assert.rejects(store.open(), (error: Error) => {
        assert.match(error.message, found);
        const frame = `Cannot open the store "${store.dir}": `;
        assert.ok(error.message.startsWith(frame), error.message);
        assert.match(error.message, /; node\.on_corrupt_store = continue sets it aside/);
        return true;
      });
    }
    assert.deepEqual(readFileSync(store.dataFile), before);
    assert.deepEqual(asideOf(store), []);
  });

  test(`openLmdb sets a damaged store aside when told to: ${what}`, async () => {
    await using store = new TemporaryStore();
    const spoilt: Buffer[] = [];
    for (let time = 1; time <= 2; time += 1) {
      await filled(store);
      spoil(store);
      spoilt.push(readFileSync(store.dataFile));
      store.logged.length = 0;
      const engine = await store.open({ onCorrupt: 'continue' });
      assert.equal(engine.count(Table.queue), 0);
      await put(engine, Table.queue, [['a', '1']]);
      await engine.close();
      assert.equal(asideOf(store).length, time);
      const { event, fields } = store.logged.at(-1) ?? { event: '', fields: {} };
      assert.equal(event, 'store.damaged');
      assert.equal(fields['dir'], store.dir);
      assert.equal(fields['setAside'], `${store.dataDir}/${asideOf(store).sort().at(-1)}`);
      assert.match(String(fields['found']), found);
    }
    const kept = asideOf(store).sort();
    assert.deepEqual(
      kept.map((name) => readFileSync(`${store.dataDir}/${name}/data.mdb`)),
      spoilt,
    );
    assert.match(kept[0] ?? '', /^store\.damaged-\d{8}T\d{6}\.\d{3}Z$/);
  });
}

test('openLmdb opens a store whose file is short of pages that nobody uses', async () => {
  await using store = new TemporaryStore();
  await filled(store);
  const bytes = readFileSync(store.dataFile);
  // The meta pages speak of pages behind the end, as they do after a crash in between.
  for (const page of [0, pageBytesOf(bytes)]) {
    bytes.writeBigUInt64LE(bytes.readBigUInt64LE(page + 144) + 50n, page + 144);
  }
  writeFileSync(store.dataFile, bytes);
  const engine = await store.open();
  assert.equal(engine.count(Table.queue), 3000);
  assert.deepEqual(store.logged, [
    { event: 'store.checking', fields: { dir: store.dir, reason: 'short' } },
  ]);
});

test('openLmdb says what restoring answered, and marks the store while it lasts', async () => {
  await using store = new TemporaryStore();
  const answer = await openLmdb(store.options(), async (engine) => {
    assert.ok(existsSync(store.marker));
    await put(engine, Table.queue, [['a', '1']]);
    return { engine, entries: entriesOf(engine, Table.queue) };
  });
  assert.equal(existsSync(store.marker), false);
  assert.deepEqual(answer.entries, [['a', '1']]);
  await answer.engine.close();
});

test('openLmdb stops when restoring finds damage and is told to stop', async () => {
  await using store = new TemporaryStore();
  await filled(store);
  const restore = (): never => {
    throw new StoreDamaged('record "k7" has 3 bytes, expected 12');
  };
  await assert.rejects(openLmdb(store.options(), restore), {
    message: `Cannot open the store "${store.dir}": record "k7" has 3 bytes, expected 12; node.on_corrupt_store = continue sets it aside and begins an empty one`,
  });
  const engine = await store.open();
  assert.equal(engine.count(Table.queue), 3000);
});

test('openLmdb has an empty store restored when restoring found damage and goes on', async () => {
  await using store = new TemporaryStore();
  await filled(store);
  const counts: number[] = [];
  const engine = await openLmdb(store.options({ onCorrupt: 'continue' }), (opened) => {
    counts.push(opened.count(Table.queue));
    if (counts.length === 1) throw new StoreDamaged('record "k7" has 3 bytes');
    return opened;
  });
  assert.deepEqual(counts, [3000, 0]);
  assert.equal(asideOf(store).length, 1);
  await assert.rejects(store.open(), /another process has it open/);
  await engine.close();
  await store.open();
});

test('openLmdb lets the store go when restoring fails for another reason', async () => {
  await using store = new TemporaryStore();
  await filled(store);
  const restore = (): never => {
    throw new TypeError('a mistake of ours');
  };
  await assert.rejects(
    openLmdb(store.options({ onCorrupt: 'continue' }), restore),
    /a mistake of ours/,
  );
  assert.deepEqual(asideOf(store), []);
  const engine = await store.open();
  assert.equal(engine.count(Table.queue), 3000);
});

test('openLmdb sets aside no store that it may not read', async () => {
  await using store = new TemporaryStore();
  mkdirSync(store.dir);
  mkdirSync(store.dataFile);
  await assert.rejects(store.open({ onCorrupt: 'continue' }), /EISDIR/);
  assert.deepEqual(asideOf(store), []);
  rmSync(store.dataFile, { recursive: true });
  await store.open();
});
