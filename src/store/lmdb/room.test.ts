import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { fuzzSeed, Random } from '../../../test/fuzz/random.ts';
import { Batch } from '../batch.ts';
import { pairKey } from '../keys.ts';
import { Table } from '../table.ts';
import { TemporaryStore } from './store-fixture.ts';

/** A disk of its own, or undefined where none can be mounted. */
function smallDisk(t: TestContext, size: string): (Disposable & { dir: string }) | undefined {
  const dir = mkdtempSync(join(tmpdir(), 'broker-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', dir], { stdio: 'pipe' });
  } catch (error) {
    rmSync(dir, { recursive: true });
    t.skip(`cannot mount a small disk: ${(error as Error).message.trim()}`);
    return undefined;
  }
  return {
    dir,
    [Symbol.dispose]() {
      execFileSync('umount', [dir]);
      rmSync(dir, { recursive: true });
    },
  };
}

const tables = [Table.queue, Table.bodies, Table.retained] as const;

function randomBatch(random: Random): Batch {
  const batch = new Batch();
  const isLasting = random.chance(30);
  const largest = random.pick([10, 100, 2000, 20_000, 200_000]);
  for (let left = 1 + random.below(random.pick([3, 50, 500])); left > 0; left--) {
    const key = pairKey(random.below(20), random.below(500));
    const table = random.pick(tables);
    if (random.chance(45)) batch.remove(table, key, isLasting);
    else if (batch.length < 1_000_000) {
      batch.put(table, key, Buffer.alloc(random.below(largest), 1), isLasting);
    }
  }
  return batch;
}

test('Room lets no commit reach LMDB for which the disk is too full', async (t) => {
  t.diagnostic(`FUZZ_SEED=${fuzzSeed}`);
  using disk = smallDisk(t, '12m');
  if (disk === undefined) return;
  const random = new Random(fuzzSeed);
  const ballast = join(disk.dir, 'ballast');
  await using store = new TemporaryStore(join(disk.dir, 'data'));
  const engine = await store.open();
  let refused = 0;
  let written = 0;
  for (let i = 0; i < 600; i++) {
    if (random.chance(5)) {
      rmSync(ballast, { force: true });
      const { bavail, bsize } = statfsSync(disk.dir);
      writeFileSync(ballast, Buffer.alloc(random.below(bavail * bsize)));
    }
    try {
      await engine.commit(randomBatch(random));
      written++;
    } catch (error) {
      assert.match((error as Error).message, /the disk is full, \d+ bytes are free/);
      refused++;
    }
  }
  t.diagnostic(`${written} commits were written, ${refused} refused`);
  assert.ok(written > 50 && refused > 50, 'the disk was too large or too small');
  await engine.close();
});
