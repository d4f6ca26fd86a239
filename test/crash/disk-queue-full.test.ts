// A queue on a disk that fills up, also by itself: what it took it gives, what it could not take it refuses,
// and what is done makes room.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { DiskQueue } from '#store/disk-queue';
import { SmallDisk } from './small-disk.ts';

const itemOf = (number: number): Buffer => Buffer.from(`${number} ${'x'.repeat(3000)}`);

function open(disk: SmallDisk): Promise<DiskQueue> {
  return DiskQueue.open({
    ...{ dir: join(disk.place.dataDir, 'queue'), segmentBytes: 200_000, bytesMax: 2 ** 30 },
    onSkipped: (file, bytes) => assert.fail(`${file} has ${bytes} bytes that nobody can read`),
  });
}

/** Answers the numbers it took. */
async function appendUntilRefused(queue: DiskQueue, from: number): Promise<number[]> {
  for (const taken: number[] = []; ; ) {
    const number = from + taken.length;
    try {
      await queue.append(itemOf(number));
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
      return taken;
    }
    taken.push(number);
    assert.ok(taken.length < 10_000, 'the disk takes all');
  }
}

async function drain(queue: DiskQueue): Promise<number[]> {
  const found: number[] = [];
  for (let batch = await queue.next(50, 2 ** 20); batch; batch = await queue.next(50, 2 ** 20)) {
    found.push(...batch.items.map((item) => Number(item.toString().split(' ')[0])));
    // A full disk may take no mark: then some are given again after a restart, and none before.
    await batch.ack().catch((error: NodeJS.ErrnoException) => assert.equal(error.code, 'ENOSPC'));
  }
  return found;
}

test('a queue on a full disk refuses, loses nothing that it took, and makes room for more', async (t) => {
  const disk = SmallDisk.mount(2 * 2 ** 20, t);
  if (disk === undefined) return;
  using own = disk;
  // Closed before the disk goes, whatever happens.
  await using queue = await open(own);
  const first = await appendUntilRefused(queue, 0);
  assert.ok(first.length > 300);
  await assert.rejects(queue.append(itemOf(-1)), { code: 'ENOSPC' });
  assert.deepEqual(await drain(queue), first);
  assert.ok(own.freeBytes > 1_500_000, `${own.freeBytes} bytes are free`);
  const second = await appendUntilRefused(queue, first.length);
  assert.ok(second.length > 300);
  await queue[Symbol.asyncDispose]();
  // What it took is there for the next one, too.
  await using again = await open(own);
  const found = await drain(again);
  assert.deepEqual(found.slice(-second.length), second);
});
