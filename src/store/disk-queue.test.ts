import assert from 'node:assert/strict';
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { DiskQueue, type DiskQueueOptions } from './disk-queue.ts';

class Bench {
  readonly dir = mkdtempSync(join(tmpdir(), 'broker-disk-queue-'));
  readonly skipped: number[] = [];
  readonly own: Partial<DiskQueueOptions>;

  constructor(t: TestContext, own: Partial<DiskQueueOptions> = {}) {
    this.own = own;
    t.after(() => rmSync(this.dir, { recursive: true, force: true }));
  }

  open(): Promise<DiskQueue> {
    return DiskQueue.open({
      ...{ dir: this.dir, segmentBytes: 1024, bytesMax: 1_000_000 },
      onSkipped: (_file, bytes) => this.skipped.push(bytes),
      ...this.own,
    });
  }

  get files(): string[] {
    return readdirSync(this.dir)
      .filter((name) => name.endsWith('.replaylog'))
      .sort();
  }
}

async function append(queue: DiskQueue, ...items: readonly string[]): Promise<void> {
  await Promise.all(items.map((item) => queue.append(Buffer.from(item))));
}

/** Everything that it gives, acknowledged as it comes. */
async function drain(queue: DiskQueue, itemsMax = 100): Promise<string[]> {
  const found: string[] = [];
  for (;;) {
    const batch = await queue.next(itemsMax, 1_000_000);
    if (batch === undefined) return found;
    found.push(...batch.items.map(String));
    await batch.ack();
  }
}

const many = Array.from({ length: 300 }, (_, i) => `item ${i} ${'x'.repeat(i % 50)}`);

test('a queue on disk gives what was appended, in order, over many files, and leaves none behind', async (t) => {
  const bench = new Bench(t);
  await using queue = await bench.open();
  assert.equal(await queue.next(1, 1), undefined);
  for (const item of many) await append(queue, item);
  assert.ok(bench.files.length > 5);
  assert.deepEqual(await drain(queue, 7), many);
  assert.ok(queue.isEmpty);
  assert.equal(queue.bytes, 0);
  assert.equal(bench.files.length, 1);
  await append(queue, 'more');
  assert.deepEqual(await drain(queue), ['more']);
});

test('a queue on disk survives: what was not acknowledged is given again', async (t) => {
  const bench = new Bench(t);
  for (const acked of [0, 1, 10, 120, 300]) {
    const queue = await bench.open();
    await drain(queue);
    for (const item of many) await append(queue, item);
    for (let left = acked; left > 0; ) {
      const batch = await queue.next(Math.min(left, 9), 1_000_000);
      await batch?.ack();
      left -= batch?.items.length ?? left;
    }
    // Given and not acknowledged.
    await queue.next(5, 1_000_000);
    await queue[Symbol.asyncDispose]();
    await using again = await bench.open();
    await append(again, 'later');
    assert.deepEqual(await drain(again), [...many.slice(acked), 'later']);
  }
});

test('a queue on disk keeps what is whole before a broken end, and says how much is not', async (t) => {
  for (const damage of ['torn', 'flipped', 'rubbish'] as const) {
    const bench = new Bench(t, { segmentBytes: 1_000_000 });
    const queue = await bench.open();
    await append(queue, 'a', 'bb', 'ccc');
    await queue[Symbol.asyncDispose]();
    const path = join(bench.dir, bench.files[0] ?? '');
    const whole = readFileSync(path);
    if (damage === 'torn') writeFileSync(path, whole.subarray(0, -1));
    if (damage === 'flipped') writeFileSync(path, whole.fill(0x7a, whole.length - 1));
    if (damage === 'rubbish') appendFileSync(path, 'rubbish');
    await using again = await bench.open();
    await append(again, 'd');
    const kept = damage === 'rubbish' ? ['a', 'bb', 'ccc', 'd'] : ['a', 'bb', 'd'];
    assert.deepEqual(await drain(again), kept);
    assert.equal(bench.skipped.length, 1);
  }
});

test('a mark that is torn or speaks of files that are gone costs nothing but repetition', async (t) => {
  for (const mark of ['', 'nonsense', '900 3\n', '1 99999\n']) {
    const bench = new Bench(t);
    const queue = await bench.open();
    for (const item of many) await append(queue, item);
    await queue[Symbol.asyncDispose]();
    writeFileSync(join(bench.dir, 'COMMIT'), mark);
    await using again = await bench.open();
    const given = await drain(again);
    const isFirstDone = mark.startsWith('1 ');
    assert.ok(isFirstDone ? given.length > 250 && given.length < 300 : given.length === 300, mark);
    assert.deepEqual(given, many.slice(many.length - given.length), mark);
    await append(again, 'new');
    assert.deepEqual(await drain(again), ['new']);
  }
});

test('a queue on disk refuses what is beyond its limit until something is acknowledged', async (t) => {
  const bench = new Bench(t, { bytesMax: 100 });
  await using queue = await bench.open();
  await append(queue, 'x'.repeat(50));
  await assert.rejects(queue.append(Buffer.alloc(60)), /100 bytes are the limit/);
  await drain(queue);
  await append(queue, 'x'.repeat(60));
  assert.equal(queue.bytes, 69);
});

test('a batch is as great as it may be, and never empty', async (t) => {
  await using queue = await new Bench(t).open();
  await append(queue, 'aaaa', 'bbbb', 'c'.repeat(100));
  const first = await queue.next(10, 8);
  assert.deepEqual(first?.items.map(String), ['aaaa', 'bbbb']);
  await first?.ack();
  assert.equal((await queue.next(10, 8))?.items.length, 1);
});
