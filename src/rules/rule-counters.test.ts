import assert from 'node:assert/strict';
import test from 'node:test';
import { CounterPool, CounterRows, slabColumns } from './rule-counters.ts';

test('threads count apart, and are read together', () => {
  const pool = new CounterPool(3);
  const column = pool.take();
  const threads = [0, 1, 2].map((thread) => new CounterRows(thread));
  for (const rows of threads) rows.use(pool.memory);
  threads.forEach((rows, i) => {
    for (let n = 0; n <= i; n++) rows.add(column);
  });
  assert.equal(pool.value(column), 6);
});

test('a column of a second slab is another than that of the first', () => {
  const pool = new CounterPool(2);
  const columns = Array.from({ length: slabColumns + 2 }, () => pool.take());
  assert.equal(new Set(columns).size, columns.length);
  assert.equal(pool.memory.length, 2);
  const rows = new CounterRows(1);
  rows.use(pool.memory.slice(0, 1));
  rows.add(columns[0] as number);
  rows.use(pool.memory);
  rows.add(columns.at(-1) as number);
  rows.add(columns.at(-1) as number);
  assert.equal(pool.value(columns[0] as number), 1);
  assert.equal(pool.value(columns.at(-1) as number), 2);
  assert.equal(pool.value(columns[1] as number), 0);
});

test('a reset and a new owner begin at 0, and nobody who counts meanwhile is lost', () => {
  const pool = new CounterPool(1);
  const column = pool.take();
  const rows = new CounterRows(0);
  rows.use(pool.memory);
  rows.add(column);
  rows.add(column);
  pool.reset(column);
  assert.equal(pool.value(column), 0);
  rows.add(column);
  assert.equal(pool.value(column), 1);
  pool.giveBack(column);
  assert.equal(pool.take(), column);
  assert.equal(pool.value(column), 0);
  assert.notEqual(pool.take(), column);
});
