import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { Rate, sampleMs } from './rates.ts';

test('a rate is what was counted since the last look, its maximum and its mean over five minutes', () => {
  const clock = new VirtualClock();
  const rate = new Rate(0, clock.nowMs());
  const seen = (): readonly number[] => [rate.speed, rate.speedMax, rate.speedLast5m];
  assert.deepEqual(seen(), [0, 0, 0]);
  let count = 0;
  const pass = (more: number): void => {
    count += more;
    clock.advance(sampleMs);
    rate.sample(count, clock.nowMs());
  };
  pass(50);
  assert.deepEqual(seen(), [5, 5, 5]);
  pass(1);
  assert.deepEqual(seen(), [0.1, 5, 2.55]);
  for (let i = 0; i < 28; i++) pass(0);
  assert.deepEqual(seen(), [0, 5, 0.17]);
  pass(0);
  // The first of thirty-one samples is past.
  assert.deepEqual(seen(), [0, 5, 0]);
});

test('a look that comes late divides by the time that has passed', () => {
  const clock = new VirtualClock();
  const rate = new Rate(100, clock.nowMs());
  rate.sample(100, clock.nowMs());
  assert.equal(rate.speed, 0);
  clock.advance(4 * sampleMs);
  rate.sample(140, clock.nowMs());
  assert.equal(rate.speed, 1);
});
