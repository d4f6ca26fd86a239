import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';
import { Worker } from 'node:worker_threads';
import { systemClock } from './clock.ts';
import { TokenBucket } from './token-bucket.ts';

function sharedTokens(): BigInt64Array {
  return new BigInt64Array(new SharedArrayBuffer(8));
}

const modules = ['token-bucket.ts', 'clock.ts'].map((name) => new URL(name, import.meta.url).href);

/** A law of buckets holds for one of its own and for one in shared memory. */
function everyBucket(
  law: string,
  body: (make: (rate: number, burst: number, nowMs: number) => TokenBucket) => void,
): void {
  test(`a bucket ${law}`, () => body((...args) => new TokenBucket(...args)));
  test(`a shared bucket ${law}`, () => body((...args) => new TokenBucket(...args, sharedTokens())));
}

everyBucket('lets its burst through without a wait', (make) => {
  const bucket = make(100, 50, 0);
  assert.equal(bucket.take(20, 0), 0);
  assert.equal(bucket.take(30, 0), 0);
});

everyBucket('answers the wait of what is missing when tokens are short', (make) => {
  const bucket = make(100, 50, 0);
  assert.equal(bucket.take(60, 0), 100);
  assert.equal(bucket.take(5, 50), 100);
});

everyBucket('is even again after the wait it asked for', (make) => {
  const bucket = make(1000, 10, 0);
  const wait = bucket.take(30, 0);
  assert.equal(wait, 20);
  assert.equal(bucket.take(0, wait), 0);
  assert.equal(bucket.take(1, wait), 1);
});

everyBucket('never holds more than its burst however long it rests', (make) => {
  const bucket = make(1000, 10, 0);
  assert.equal(bucket.take(10, 1_000_000), 0);
  assert.equal(bucket.take(1, 1_000_000), 1);
});

everyBucket('gains nothing when the clock steps back', (make) => {
  const bucket = make(1000, 1, 100);
  assert.equal(bucket.take(1, 50), 0);
  assert.equal(bucket.take(1, 50), 1);
});

everyBucket('lets a burst through in single tokens whatever the rate', (make) => {
  for (const rate of [3, 6, 7, 1000]) {
    const bucket = make(rate, rate, 0);
    for (let i = 0; i < rate; i++) assert.equal(bucket.take(1, 12.345), 0, `${i} of ${rate}`);
    const waitMs = bucket.take(1, 12.345);
    assert.ok(Math.abs(waitMs - 1000 / rate) < 1e-3, `${waitMs} at ${rate}`);
  }
});

test('a shared bucket is one for all who take from it', () => {
  const shared = sharedTokens();
  const [first, second] = [1, 2].map(() => new TokenBucket(1000, 10, 0, shared));
  assert.equal(first?.take(6, 0), 0);
  assert.equal(second?.take(6, 0), 2);
  assert.equal(first?.take(1, 0), 3);
  assert.equal(second?.take(0, 3), 0);
});

test('a shared bucket is full for a taker that comes later', () => {
  const shared = sharedTokens();
  assert.equal(new TokenBucket(1000, 10, 0, shared).take(10, 0), 0);
  assert.equal(new TokenBucket(1000, 10, 5, shared).take(6, 5), 1, 'what was taken is taken');
  assert.equal(new TokenBucket(1000, 10, 100, shared).take(10, 100), 0);
});

test('a shared bucket is told one time, because monotonic time is that of the process', async (t) => {
  const body = `
    const { parentPort, workerData } = require('node:worker_threads');
    import(workerData[1]).then(({ systemClock }) => {
      parentPort.postMessage(systemClock.monotonicMs());
    });
  `;
  const beforeMs = systemClock.monotonicMs();
  const worker = new Worker(body, { eval: true, workerData: modules });
  t.after(() => worker.terminate());
  const [theirMs] = (await once(worker, 'message')) as [number];
  const afterMs = systemClock.monotonicMs();
  assert.ok(theirMs >= beforeMs, `${theirMs} is before ${beforeMs}`);
  assert.ok(theirMs <= afterMs, `${theirMs} is after ${afterMs}`);
});

test('a shared bucket loses no token when threads take at the same time', async (t) => {
  const memory = sharedTokens();
  const body = `
    const { workerData } = require('node:worker_threads');
    Promise.all(workerData.modules.map((module) => import(module))).then(([bucket, clock]) => {
      const { systemClock } = clock;
      // A rate of one an hour: what is missing at the end was taken.
      const mine = new bucket.TokenBucket(1 / 3600, 1, systemClock.monotonicMs(), workerData.memory);
      for (let i = 0; i < 20_000; i++) mine.take(1, systemClock.monotonicMs());
    });
  `;
  const modules = ['token-bucket.ts', 'clock.ts'].map(
    (name) => new URL(name, import.meta.url).href,
  );
  const workers = [1, 2, 3].map(
    () => new Worker(body, { eval: true, workerData: { modules, memory } }),
  );
  t.after(() => Promise.all(workers.map((worker) => worker.terminate())));
  await Promise.all(workers.map((worker) => once(worker, 'exit')));
  const nowMs = systemClock.monotonicMs();
  const waitMs = new TokenBucket(1 / 3600, 1, nowMs, memory).take(0, nowMs);
  const hours = waitMs / 3_600_000;
  // Threads and test take seconds together, which is far less than a token.
  assert.ok(hours > 59_998.5 && hours <= 59_999, `${hours} tokens are owed`);
});
