import assert from 'node:assert/strict';
import test from 'node:test';
import { WatchedClock } from '#test/watched-clock';
import { Breaker } from './breaker.ts';

function make(): { clock: WatchedClock; breaker: Breaker; told: boolean[] } {
  const clock = new WatchedClock();
  const told: boolean[] = [];
  const breaker = new Breaker({ failures: 3, pauseMs: 1000 }, clock, (isOpen) => told.push(isOpen));
  return { clock, breaker, told };
}

function failTimes(breaker: Breaker, times: number): void {
  for (let i = 0; i < times; i++) {
    assert.ok(breaker.enter());
    breaker.failed();
  }
}

test('a breaker opens after failures in a row, and an answer between them counts', () => {
  const { breaker, told } = make();
  failTimes(breaker, 2);
  breaker.enter();
  breaker.succeeded();
  failTimes(breaker, 2);
  assert.equal(breaker.enter(), true);
  assert.deepEqual(told, []);
  breaker.failed();
  assert.equal(breaker.enter(), false);
  assert.deepEqual(told, [true]);
});

test('a breaker that is open lets one try when the pause is over, and nobody beside him', () => {
  const { breaker, clock } = make();
  failTimes(breaker, 3);
  clock.advance(999);
  assert.equal(breaker.enter(), false);
  clock.advance(1);
  assert.equal(breaker.enter(), true);
  assert.equal(breaker.enter(), false);
});

test('a breaker closes when the one who tried had an answer', () => {
  const { breaker, clock, told } = make();
  failTimes(breaker, 3);
  clock.advance(1000);
  breaker.enter();
  breaker.succeeded();
  assert.deepEqual(told, [true, false]);
  failTimes(breaker, 2);
  assert.equal(breaker.enter(), true);
});

test('a breaker stays open for another pause when the one who tried had none', () => {
  const { breaker, clock, told } = make();
  failTimes(breaker, 3);
  clock.advance(1000);
  failTimes(breaker, 1);
  assert.deepEqual(told, [true, true]);
  clock.advance(999);
  assert.equal(breaker.enter(), false);
  clock.advance(1);
  assert.equal(breaker.enter(), true);
});

test('a breaker is not held open by failures of those that were under way', () => {
  const { breaker, clock, told } = make();
  for (let i = 0; i < 5; i++) breaker.enter();
  for (let i = 0; i < 3; i++) breaker.failed();
  clock.advance(900);
  breaker.failed();
  breaker.failed();
  clock.advance(100);
  assert.equal(breaker.enter(), true);
  assert.deepEqual(told, [true]);
});
