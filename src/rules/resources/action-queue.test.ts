import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { ActionQueue } from './action-queue.ts';
import { JobFault, type Resource } from './resource-type.ts';

const limits = { jobsMax: 100, bytesMax: 1000, retryMs: 60_000, awayMs: 60_000 };
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** A queue in front of a resource that does what it is told. */
class Bench {
  readonly clock = new VirtualClock();
  readonly batches: (readonly unknown[])[] = [];
  readonly queue: ActionQueue;
  act: (jobs: readonly unknown[]) => Promise<void> = () => Promise.resolve();
  free: number;

  constructor({ batchMax = 1, concurrency = 1, ...own }: Partial<Resource & typeof limits> = {}) {
    this.free = concurrency;
    const resource: Resource = {
      ...{ concurrency, batchMax, isAlive: () => Promise.resolve(true), close: () => undefined },
      perform: (jobs) => {
        this.batches.push(jobs);
        return this.act(jobs);
      },
    };
    this.queue = new ActionQueue({
      ...{ resource, clock: this.clock, limits: { ...limits, ...own } },
      takeSlot: () => this.free > 0 && this.free-- > 0,
      freeSlot: () => {
        this.free++;
        this.queue.pump();
      },
    });
  }

  /** What became of each job. */
  offer(...jobs: readonly unknown[]): Promise<readonly string[]> {
    const done = jobs.map((job) =>
      this.queue.offer(job, 10).then(
        () => 'done',
        (error: Error) => error.message,
      ),
    );
    return Promise.all(done);
  }
}

test('a queue sends jobs in order, in batches as great as the resource takes', async () => {
  const bench = new Bench({ batchMax: 3 });
  assert.deepEqual(await bench.offer(1, 2, 3, 4, 5), ['done', 'done', 'done', 'done', 'done']);
  assert.deepEqual(bench.batches, [[1], [2, 3, 4], [5]]);
  assert.ok(bench.queue.isIdle);
});

test('a queue tries again what failed for a while, later each time, and keeps the order', async () => {
  const bench = new Bench();
  bench.act = () => Promise.reject(new JobFault('away', true));
  const outcome = bench.offer(1, 2);
  await turn();
  for (const [ms, tries] of [
    [99, 1],
    [1, 2],
    [199, 2],
    [1, 3],
    [399, 3],
    [1, 4],
  ] as const) {
    bench.clock.advance(ms);
    await turn();
    assert.equal(bench.batches.length, tries);
  }
  bench.act = () => Promise.resolve();
  bench.clock.advance(5000);
  assert.deepEqual(await outcome, ['done', 'done']);
  assert.deepEqual(bench.batches, [[1], [1], [1], [1], [1], [2]]);
});

test('a queue gives a job up when its time is over', async () => {
  const bench = new Bench({ retryMs: 300 });
  bench.act = () => Promise.reject(new JobFault('away', true));
  const outcome = bench.offer(1);
  await turn();
  bench.clock.advance(100);
  await turn();
  bench.clock.advance(200);
  assert.deepEqual(await outcome, ['away']);
  assert.equal(bench.batches.length, 3);
});

test('a job that fails for good is not tried again, and fails no neighbour of its batch', async () => {
  const bench = new Bench({ batchMax: 10 });
  bench.act = (jobs) =>
    jobs.includes('bad') ? Promise.reject(new Error('refused')) : Promise.resolve();
  assert.deepEqual(await bench.offer(0, 1, 'bad', 3), ['done', 'done', 'refused', 'done']);
  assert.deepEqual(bench.batches, [[0], [1, 'bad', 3], [1], ['bad'], [3]]);
});

test('a queue refuses what is beyond its limits, and takes more when there is room', async () => {
  const few = new Bench({ jobsMax: 2 });
  const outcome = await few.offer(1, 2, 3);
  assert.deepEqual(outcome, ['done', 'done', 'Cannot queue the event: 2 events wait already']);
  assert.deepEqual(await few.offer(4), ['done']);
  const small = new Bench({ bytesMax: 25 });
  const [, , third] = await small.offer(1, 2, 3);
  assert.equal(third, 'Cannot queue the event: 25 bytes wait already');
});

test('a queue that is closed fails what waits, what is under way when it fails, and what comes', async () => {
  const bench = new Bench();
  const away = Promise.withResolvers<void>();
  bench.act = () => away.promise;
  const outcome = bench.offer(1, 2);
  bench.queue.close(new Error('gone'));
  away.reject(new JobFault('away', true));
  assert.deepEqual(await outcome, ['gone', 'gone']);
  assert.deepEqual(await bench.offer(3), ['gone']);
  assert.equal(bench.batches.length, 1);
});

test('a queue has no more batches under way than there is room for', async () => {
  const bench = new Bench({ concurrency: 2 });
  const away = Promise.withResolvers<void>();
  bench.act = () => away.promise;
  const outcome = bench.offer(1, 2, 3);
  assert.equal(bench.batches.length, 2);
  away.resolve();
  assert.deepEqual(await outcome, ['done', 'done', 'done']);
});

test('a job waits for a resource that is away, and fails where somebody is there and it does not do', async () => {
  const bench = new Bench({ retryMs: 300, awayMs: Number.POSITIVE_INFINITY });
  bench.act = () => Promise.reject(new JobFault('away', true, true));
  const outcome = bench.offer(1);
  await turn();
  for (let i = 0; i < 100; i++) {
    bench.clock.advance(5000);
    await turn();
  }
  assert.equal(bench.queue.isIdle, false);
  bench.act = () => Promise.reject(new JobFault('broken', true));
  for (let i = 0; i < 3; i++) {
    bench.clock.advance(5000);
    await turn();
  }
  assert.deepEqual(await outcome, ['broken']);
});
