import assert from 'node:assert/strict';
import test from 'node:test';
import { systemClock, VirtualClock } from './clock.ts';

test('VirtualClock runs due timers in order, each at its own moment', () => {
  const clock = new VirtualClock();
  const ran: [string, number][] = [];
  const note = (name: string) => () => ran.push([name, clock.monotonicMs()]);
  clock.setTimer(30, note('late'));
  clock.setTimer(10, note('early'));
  clock.setTimer(10, note('early too'));
  clock.setTimer(31, note('not yet'));
  clock.advance(30);
  assert.deepEqual(ran, [
    ['early', 10],
    ['early too', 10],
    ['late', 30],
  ]);
  assert.equal(clock.timerCount, 1);
});

test('VirtualClock runs a timer that was set by a timer when both are due', () => {
  const clock = new VirtualClock();
  let beats = 0;
  const beat = (): void => {
    beats += 1;
    clock.setTimer(100, beat);
  };
  clock.setTimer(100, beat);
  clock.advance(1050);
  assert.equal(beats, 10);
});

test('VirtualClock runs no timer that was cancelled, also by another in the same advance', () => {
  const clock = new VirtualClock();
  const never = clock.setTimer(20, () => assert.fail('was cancelled'));
  clock.setTimer(10, () => never.cancel());
  clock.advance(100);
  never.cancel();
  assert.equal(clock.timerCount, 0);
});

test('VirtualClock moves wall and monotonic time together', () => {
  const clock = new VirtualClock(5000);
  clock.advance(7);
  assert.equal(clock.nowMs(), 5007);
  assert.equal(clock.monotonicMs(), 7);
});

test('VirtualClock runs overdue timers once, at the end, when time jumps', () => {
  const clock = new VirtualClock();
  const seen: number[] = [];
  const beat = (): void => {
    seen.push(clock.monotonicMs());
    clock.setTimer(10, beat);
  };
  clock.setTimer(10, beat);
  clock.jump(1000);
  assert.deepEqual(seen, [1000]);
});

test('VirtualClock refuses to go back and to be moved by its own timer', () => {
  const clock = new VirtualClock();
  assert.throws(() => clock.advance(-1), /time never goes back/);
  clock.setTimer(1, () => clock.advance(1));
  assert.throws(() => clock.advance(1), /a timer does not move the clock/);
});

test('clocks refuse a delay that Node would turn into 1 ms', () => {
  assert.throws(() => systemClock.setTimer(2 ** 31, () => {}), /Invariant broken/);
  assert.throws(() => systemClock.setTimer(Number.NaN, () => {}), /Invariant broken/);
  assert.throws(() => new VirtualClock().setTimer(2 ** 31, () => {}), /Invariant broken/);
});

test('systemClock calls a timer unless it is cancelled', async () => {
  // Timers do not keep the process alive: something else has to.
  const alive = setInterval(() => {}, 1000);
  systemClock.setTimer(1, () => assert.fail('was cancelled')).cancel();
  // Node runs timers of one delay in the order they were set: the first had its chance.
  await new Promise<void>((resolve) => systemClock.setTimer(1, resolve));
  clearInterval(alive);
});

test('systemClock tells the wall clock and a clock that does not go back', () => {
  const first = systemClock.monotonicMs();
  assert.ok(systemClock.monotonicMs() >= first);
  assert.ok(systemClock.nowMs() > Date.UTC(2024));
});
