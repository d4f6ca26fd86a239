import assert from 'node:assert/strict';
import test from 'node:test';
import { AwaitingRel } from './awaiting-rel.ts';
import { wheel } from './session-fixture.ts';

function bench(limits: { max?: number; timeoutMs?: number } = {}): {
  awaiting: AwaitingRel;
  advance: (ms: number) => void;
  scheduled: () => number;
  expired: () => number;
} {
  const { clock, timers } = wheel();
  let expired = 0;
  const awaiting = new AwaitingRel(
    { maxAwaitingRel: limits.max ?? 0, awaitRelTimeoutMs: limits.timeoutMs ?? 0 },
    timers,
    { onUnreleased: () => expired++ },
  );
  return {
    awaiting,
    advance: (ms) => clock.advance(ms),
    scheduled: () => timers.size,
    expired: () => expired,
  };
}

test('awaiting rel knows the ids that were not released', () => {
  const { awaiting } = bench();
  assert.equal(awaiting.has(1), false);
  assert.equal(awaiting.delete(1), false);
  awaiting.add(1);
  awaiting.add(2);
  assert.deepEqual([awaiting.has(1), awaiting.has(2), awaiting.size], [true, true, 2]);
  assert.equal(awaiting.delete(1), true);
  assert.equal(awaiting.delete(1), false);
  assert.equal(awaiting.size, 1);
});

test('awaiting rel is full at its limit, and never without one', () => {
  const limited = bench({ max: 2 }).awaiting;
  limited.add(1);
  assert.equal(limited.isFull, false);
  limited.add(2);
  assert.equal(limited.isFull, true);
  limited.delete(1);
  assert.equal(limited.isFull, false);
  const { awaiting } = bench();
  for (let id = 1; id < 1000; id++) awaiting.add(id);
  assert.equal(awaiting.isFull, false);
});

test('awaiting rel forgets each id when its own time is over', () => {
  const { awaiting, advance, expired } = bench({ timeoutMs: 10_000 });
  awaiting.add(1);
  advance(6_000);
  awaiting.add(2);
  advance(5_000);
  assert.deepEqual([awaiting.has(1), awaiting.has(2), expired()], [false, true, 1]);
  advance(6_000);
  assert.deepEqual([awaiting.has(2), expired()], [false, 2]);
  awaiting.add(3);
  advance(11_000);
  assert.equal(expired(), 3);
});

test('awaiting rel does not count what was released in time', () => {
  const { awaiting, advance, expired } = bench({ timeoutMs: 10_000 });
  awaiting.add(1);
  awaiting.delete(1);
  advance(30_000);
  assert.equal(expired(), 0);
});

test('awaiting rel without a timeout waits for ever and holds no timer', () => {
  const { awaiting, advance, scheduled } = bench();
  awaiting.add(1);
  assert.equal(scheduled(), 0);
  advance(1_000_000);
  assert.equal(awaiting.has(1), true);
});

test('awaiting rel holds nothing after clear, neither ids nor a timer', () => {
  const { awaiting, advance, scheduled, expired } = bench({ timeoutMs: 10_000 });
  awaiting.add(1);
  awaiting.clear();
  assert.equal(awaiting.size, 0);
  assert.equal(scheduled(), 0);
  advance(30_000);
  assert.equal(expired(), 0);
});
