import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { FailedTries } from './failed-tries.ts';

const limits = { triesMax: 3, windowMs: 60_000, addressesMax: 4 };

function fail(tries: FailedTries, address: string, times = 1): void {
  for (let i = 0; i < times; i++) tries.begin(address);
}

test('an address waits for the rest of its window after so many tries', () => {
  const clock = new VirtualClock();
  const tries = new FailedTries(clock, limits);
  fail(tries, '10.0.0.1', 2);
  assert.equal(tries.waitSeconds('10.0.0.1'), 0);
  clock.advance(20_000);
  fail(tries, '10.0.0.1');
  assert.equal(tries.waitSeconds('10.0.0.1'), 40);
  assert.equal(tries.waitSeconds('10.0.0.2'), 0);
  clock.advance(39_500);
  assert.equal(tries.waitSeconds('10.0.0.1'), 1);
  clock.advance(500);
  assert.equal(tries.waitSeconds('10.0.0.1'), 0);
  fail(tries, '10.0.0.1');
  assert.equal(tries.waitSeconds('10.0.0.1'), 0);
});

test('a try that succeeded does not count', () => {
  const tries = new FailedTries(new VirtualClock(), limits);
  for (let i = 0; i < 10; i++) {
    tries.begin('10.0.0.1');
    tries.forgive('10.0.0.1');
  }
  assert.equal(tries.waitSeconds('10.0.0.1'), 0);
});

test('a network of IPv6 is one address, and IPv4 in IPv6 is IPv4', () => {
  const tries = new FailedTries(new VirtualClock(), limits);
  for (const address of ['2001:db8:1:2::1', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::ffff']) {
    fail(tries, address);
  }
  assert.equal(tries.waitSeconds('2001:db8:1:2:aaaa::'), 60);
  assert.equal(tries.waitSeconds('2001:db8:1:3::1'), 0);
  fail(tries, '::ffff:10.0.0.1', 3);
  assert.equal(tries.waitSeconds('10.0.0.1'), 60);
  assert.equal(tries.waitSeconds('::1'), 0);
});

test('of more addresses than are remembered the oldest are forgotten', () => {
  const tries = new FailedTries(new VirtualClock(), limits);
  for (let i = 1; i <= 5; i++) fail(tries, `10.0.0.${i}`, 3);
  assert.equal(tries.waitSeconds('10.0.0.1'), 0);
  for (let i = 2; i <= 5; i++) assert.equal(tries.waitSeconds(`10.0.0.${i}`), 60);
});
