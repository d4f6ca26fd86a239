import assert from 'node:assert/strict';
import test from 'node:test';
import { TokenBucket } from './token-bucket.ts';

test('a bucket lets its burst through without a wait', () => {
  const bucket = new TokenBucket(100, 50, 0);
  assert.equal(bucket.take(20, 0), 0);
  assert.equal(bucket.take(30, 0), 0);
});

test('a bucket answers the wait of what is missing when tokens are short', () => {
  const bucket = new TokenBucket(100, 50, 0);
  assert.equal(bucket.take(60, 0), 100);
  assert.equal(bucket.take(5, 50), 100);
});

test('a bucket is even again after the wait it asked for', () => {
  const bucket = new TokenBucket(1000, 10, 0);
  const wait = bucket.take(30, 0);
  assert.equal(wait, 20);
  assert.equal(bucket.take(0, wait), 0);
  assert.equal(bucket.take(1, wait), 1);
});

test('a bucket never holds more than its burst however long it rests', () => {
  const bucket = new TokenBucket(1000, 10, 0);
  assert.equal(bucket.take(10, 1_000_000), 0);
  assert.equal(bucket.take(1, 1_000_000), 1);
});

test('a bucket gains nothing when the clock steps back', () => {
  const bucket = new TokenBucket(1000, 1, 100);
  assert.equal(bucket.take(1, 50), 0);
  assert.equal(bucket.take(1, 50), 1);
});
