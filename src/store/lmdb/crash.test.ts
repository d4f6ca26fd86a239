import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { Batch } from '../batch.ts';
import { Table } from '../table.ts';
import { entriesOf, key, patterned, put } from '../engine-fixture.ts';
import { StoreProcess } from './process-fixture.ts';
import { TemporaryStore } from './store-fixture.ts';

/** As `commits-fixture.ts` does it. */
const recordsPerBatch = 10;

test('a killed process leaves every commit that had resolved, and no part of one', async (t) => {
  const seed = Number(process.env['SEED'] ?? randomInt(2 ** 31));
  t.diagnostic(`SEED=${seed}`);
  await using store = new TemporaryStore();
  let resolved = -1;
  for (let round = 0; round < 5; round += 1) {
    const child = new StoreProcess(store.dir, 'commits');
    await child.told(2 + ((seed >>> (round * 3)) % 40));
    await child.kill();
    const last = Number(child.lines.at(-1));
    assert.ok(last > resolved, 'it went on where the last one ended');
    resolved = last;
    const engine = await store.open();
    const found: number[] = [];
    engine.range(Table.queue, key(''), undefined, (name, value) => {
      assert.deepEqual(value, Buffer.alloc(200, name.readUInt32BE(0)));
      return found.push(name.readUInt32BE(0) * recordsPerBatch + name.readUInt32BE(4)) > 0;
    });
    assert.deepEqual(
      found,
      found.map((_, index) => index),
      'none is missing in between',
    );
    assert.equal(found.length % recordsPerBatch, 0);
    assert.ok(found.length / recordsPerBatch > resolved);
    // At most the one that was under way.
    assert.ok(found.length / recordsPerBatch <= resolved + 2);
    resolved = found.length / recordsPerBatch - 1;
    await engine.close();
  }
});

test('a process that does nothing more ends by itself, though its store is open', async () => {
  await using store = new TemporaryStore();
  await using child = new StoreProcess(store.dir, 'idle');
  assert.deepEqual(await child.ended(), { code: 0, signal: null, errors: '' });
  const engine = await store.open();
  assert.equal(engine.count(Table.queue), recordsPerBatch);
});

for (const [what, expected] of [
  ['exit', 7],
  ['throw', 1],
] as const) {
  test(`a process ends by ${what} in the middle of a transaction, and that is whole`, async () => {
    await using store = new TemporaryStore();
    await using child = new StoreProcess(store.dir, what);
    const { code, signal } = await child.ended();
    assert.deepEqual({ code, signal }, { code: expected, signal: null });
    const engine = await store.open();
    const count = engine.count(Table.queue);
    assert.ok(count === recordsPerBatch || count === recordsPerBatch + 60_000, String(count));
  });
}

test('a store that a process has open is refused to another, and free when that is killed', async () => {
  await using store = new TemporaryStore();
  await using child = new StoreProcess(store.dir, 'commits');
  await child.told(3);
  await assert.rejects(store.open(), {
    message: `Cannot open the store "${store.dir}": another process has it open, expected a directory of its own`,
  });
  await child.told(child.lines.length + 2);
  await child.kill();
  const engine = await store.open();
  assert.ok(engine.count(Table.queue) > 0);
});

test('a store that this process has open is refused to it, and free when it is closed', async () => {
  await using store = new TemporaryStore();
  const first = await store.open();
  await assert.rejects(store.open(), /another process has it open/);
  await assert.rejects(store.open(), /another process has it open/);
  await using child = new StoreProcess(store.dir, 'idle');
  assert.match((await child.ended()).errors, /another process has it open/);
  await first.close();
  await store.open();
});

test('a process killed while it reads the store has it checked at the next start', async () => {
  await using store = new TemporaryStore();
  const first = await store.open();
  await put(first, Table.queue, [['a', '1']]);
  await first.close();
  await using child = new StoreProcess(store.dir, 'reading');
  await child.told(1);
  await child.kill();
  assert.ok(existsSync(store.marker));
  const second = await store.open();
  assert.deepEqual(entriesOf(second, Table.queue), [['a', '1']]);
  assert.deepEqual(store.logged, [
    { event: 'store.checking', fields: { dir: store.dir, reason: 'last start died' } },
  ]);
  await second.close();
  await store.open();
  assert.equal(store.logged.length, 1);
});

test('a full disk refuses commits, spoils nothing, and takes them again when there is room', async (t) => {
  const disk = mkdtempSync(join(tmpdir(), 'broker-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', disk], { stdio: 'pipe' });
  } catch (error) {
    rmSync(disk, { recursive: true });
    t.skip(`cannot mount a small disk: ${(error as Error).message.trim()}`);
    return;
  }
  try {
    await using store = new TemporaryStore(join(disk, 'data'));
    const engine = await store.open();
    const names: string[] = [];
    const fill = async (name: string): Promise<void> => {
      const batch = new Batch();
      batch.put(Table.bodies, key(name), patterned(500_000));
      await engine.commit(batch);
      names.push(name);
    };
    const refused = /Cannot write to the store ".*": the disk is full, \d+ bytes are free/;
    await assert.rejects(async () => {
      for (let i = 10; i < 30; i += 1) await fill(`n${i}`);
    }, refused);
    assert.ok(names.length >= 5, 'some of it went in');
    await assert.rejects(fill('again'), refused);
    // Room is kept for what cannot be taken back.
    const small = new Batch();
    small.put(Table.queue, key('small'), Buffer.from('fits'), true);
    await engine.commit(small);
    const batch = new Batch();
    for (const name of names.splice(2)) batch.remove(Table.bodies, key(name), true);
    await engine.commit(batch);
    // LMDB uses pages again that were given back two transactions ago.
    await put(engine, Table.queue, [['small', 'fits']]);
    await fill('n50');
    await engine.close();
    const second = await store.open();
    assert.deepEqual(entriesOf(second, Table.queue), [['small', 'fits']]);
    assert.deepEqual(
      entriesOf(second, Table.bodies).map(([name]) => name),
      names,
    );
    for (const name of names) {
      assert.deepEqual(second.get(Table.bodies, key(name)), patterned(500_000));
    }
  } finally {
    execFileSync('umount', [disk]);
    rmSync(disk, { recursive: true });
  }
});
