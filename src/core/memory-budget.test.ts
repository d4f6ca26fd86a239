import assert from 'node:assert/strict';
import test from 'node:test';
import { budgetBytes, heapShare, machineMemory } from './memory-budget.ts';

const gigabyte = 2 ** 30;
const machine = { totalBytes: 16 * gigabyte, allowedBytes: 0, heapBytesMax: 64 * gigabyte };

test('a budget in bytes is what it says', () => {
  assert.equal(budgetBytes({ bytes: 3 * gigabyte }, machine), 3 * gigabyte);
});

test('a budget as a share is of the memory of the machine', () => {
  assert.equal(budgetBytes({ share: 0.5 }, machine), 8 * gigabyte);
});

test('a budget as a share is of what the container allows, when that is less', () => {
  const contained = { ...machine, allowedBytes: gigabyte };
  assert.equal(budgetBytes({ share: 0.5 }, contained), gigabyte / 2);
  const unlimited = { ...machine, allowedBytes: 2 ** 64 };
  assert.equal(budgetBytes({ share: 0.5 }, unlimited), 8 * gigabyte);
});

test('a budget is never more than three quarters of what the heap can carry', () => {
  const small = { ...machine, heapBytesMax: 4 * gigabyte };
  assert.equal(budgetBytes({ share: 0.5 }, small), 3 * gigabyte);
  assert.equal(budgetBytes({ bytes: 10 * gigabyte }, small), 3 * gigabyte);
  assert.equal(budgetBytes({ bytes: 100_000_000 }, small), 100_000_000);
});

test('the memory of this machine makes a budget, and the heap takes a part of it', () => {
  const bytes = budgetBytes({ share: 0.5 }, machineMemory());
  assert.ok(bytes > 16 * 2 ** 20 && bytes < machineMemory().totalBytes, `${bytes} bytes`);
  assert.ok(heapShare() > 0 && heapShare() < 1);
});
