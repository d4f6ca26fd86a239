import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';
import { Worker } from 'node:worker_threads';
import { SharedGauges } from './shared-gauges.ts';

const gauges = 2;

function memoryFor(holders: number): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(4 * SharedGauges.placesOf(gauges, holders)));
}

test('shared gauges add up what their holders move, and keep the highest total', () => {
  const memory = memoryFor(3);
  const [first, second, third] = [0, 1, 2].map(
    (holder) => new SharedGauges(memory, gauges, holder),
  );
  first?.move(0, 5);
  second?.move(0, 7);
  second?.move(1, 1);
  first?.move(0, -4);
  third?.move(0, 1);
  for (const one of [first, second, third]) {
    assert.deepEqual([one?.total(0), one?.total(1)], [9, 1]);
    assert.deepEqual([one?.highest(0), one?.highest(1)], [12, 1]);
  }
  assert.deepEqual([first?.share(0), second?.share(0), third?.share(0)], [1, 7, 1]);
});

test('shared gauges forget what a dead holder had, once', () => {
  const memory = memoryFor(2);
  const [first, second] = [
    new SharedGauges(memory, gauges, 0),
    new SharedGauges(memory, gauges, 1),
  ];
  first.move(0, 3);
  second.move(0, 4);
  second.move(1, 2);
  first.forget(1);
  first.forget(1);
  assert.deepEqual([first.total(0), first.total(1), first.highest(0)], [3, 0, 7]);
  second.move(0, 1);
  assert.deepEqual([first.total(0), second.share(0)], [4, 1], 'its successor begins at 0');
});

test('shared gauges refuse an offer at the limit, whoever reached it', () => {
  const memory = memoryFor(2);
  const [first, second] = [
    new SharedGauges(memory, gauges, 0),
    new SharedGauges(memory, gauges, 1),
  ];
  assert.deepEqual([first.offer(0, 2), second.offer(0, 2), first.offer(0, 2)], [true, true, false]);
  first.move(0, -1);
  assert.equal(second.offer(0, 2), true);
  assert.deepEqual([first.share(0), second.share(0), first.highest(0)], [0, 2, 2]);
});

test('shared gauges have no place for a holder beyond their memory', () => {
  assert.throws(() => new SharedGauges(memoryFor(2), gauges, 2), /Invariant broken/);
});

test('shared gauges lose nothing when threads move them at the same time', async (t) => {
  const holders = 3;
  const rounds = 20_000;
  const limit = 10_000;
  const memory = memoryFor(holders);
  const body = `
    const { workerData } = require('node:worker_threads');
    import(workerData.module).then(({ SharedGauges }) => {
      const { memory, gauges, holder, rounds, limit } = workerData;
      const mine = new SharedGauges(memory, gauges, holder);
      for (let i = 0; i < rounds; i++) {
        mine.move(0, 2);
        mine.move(0, -1);
        mine.offer(1, limit);
      }
    });
  `;
  const module = new URL('shared-gauges.ts', import.meta.url).href;
  const workers = Array.from({ length: holders }, (_, holder) => {
    const workerData = { module, memory, gauges, holder, rounds, limit };
    return new Worker(body, { eval: true, workerData });
  });
  t.after(() => Promise.all(workers.map((worker) => worker.terminate())));
  await Promise.all(workers.map((worker) => once(worker, 'exit')));
  const reader = new SharedGauges(memory, gauges, 0);
  assert.equal(reader.total(0), holders * rounds);
  assert.equal(reader.total(1), limit);
  assert.equal(reader.highest(1), limit);
  for (let holder = 0; holder < holders; holder++) reader.forget(holder);
  assert.deepEqual([reader.total(0), reader.total(1)], [0, 0], 'shares add up to the total');
});
