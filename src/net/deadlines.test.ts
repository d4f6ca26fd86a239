import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { Deadlines } from './deadlines.ts';

test('a deadline expires once, in the order of falling due', () => {
  const clock = new VirtualClock();
  const late: string[] = [];
  const deadlines = new Deadlines<string>(clock, 100, (one) => late.push(one));
  deadlines.watch('a');
  clock.advance(50);
  deadlines.watch('b');
  clock.advance(50);
  assert.deepEqual(late, ['a']);
  clock.advance(50);
  assert.deepEqual(late, ['a', 'b']);
  clock.advance(1000);
  assert.deepEqual(late, ['a', 'b']);
  assert.equal(clock.timerCount, 0);
});

test('a deadline that is renewed starts anew', () => {
  const clock = new VirtualClock();
  const late: string[] = [];
  const deadlines = new Deadlines<string>(clock, 100, (one) => late.push(one));
  deadlines.watch('a');
  deadlines.watch('b');
  clock.advance(99);
  deadlines.watch('a');
  clock.advance(99);
  assert.deepEqual(late, ['b']);
  clock.advance(1);
  assert.deepEqual(late, ['b', 'a']);
});

test('a deadline that is met does not expire', () => {
  const clock = new VirtualClock();
  const late: string[] = [];
  const deadlines = new Deadlines<string>(clock, 100, (one) => late.push(one));
  deadlines.watch('a');
  deadlines.watch('b');
  deadlines.forget('a');
  clock.advance(100);
  assert.deepEqual(late, ['b']);
  deadlines.watch('c');
  deadlines.clear();
  clock.advance(200);
  assert.deepEqual(late, ['b']);
});

test('a deadline may be set again by what it calls', () => {
  const clock = new VirtualClock();
  let calls = 0;
  const deadlines: Deadlines<string> = new Deadlines<string>(clock, 10, (one) => {
    calls++;
    if (calls < 3) deadlines.watch(one);
  });
  deadlines.watch('a');
  clock.advance(100);
  assert.equal(calls, 3);
});
