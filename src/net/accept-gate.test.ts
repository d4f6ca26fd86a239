import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { AcceptGate } from './accept-gate.ts';

test('an accept gate serves its rate at once and the rest later, in order', () => {
  const clock = new VirtualClock();
  const served: number[] = [];
  const gate = new AcceptGate<number>(clock, 10, 100, (one) => served.push(one));
  for (let i = 0; i < 13; i++) assert.equal(gate.offer(i), true);
  assert.equal(served.length, 10);
  clock.advance(100);
  assert.equal(served.length, 11);
  clock.advance(200);
  assert.deepEqual(served, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  assert.equal(clock.timerCount, 0);
});

test('an accept gate refuses only what finds its queue full', () => {
  const clock = new VirtualClock();
  const served: number[] = [];
  const gate = new AcceptGate<number>(clock, 1, 2, (one) => served.push(one));
  assert.deepEqual(
    [1, 2, 3, 4].map((one) => gate.offer(one)),
    [true, true, true, false],
  );
  clock.advance(1000);
  assert.deepEqual(served, [1, 2]);
  assert.equal(gate.offer(5), true);
  clock.advance(10_000);
  assert.deepEqual(served, [1, 2, 3, 5]);
});

test('an accept gate forgets who waits when it is cleared', () => {
  const clock = new VirtualClock();
  const served: number[] = [];
  const gate = new AcceptGate<number>(clock, 1, 5, (one) => served.push(one));
  gate.offer(1);
  gate.offer(2);
  gate.clear();
  clock.advance(10_000);
  assert.deepEqual(served, [1]);
});
