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

test('accept gates with common tokens keep one rate', () => {
  const clock = new VirtualClock();
  const tokens = new BigInt64Array(new SharedArrayBuffer(8));
  const served: string[] = [];
  const [first, second] = ['a', 'b'].map(
    (name) => new AcceptGate<number>(clock, 2, 100, (n) => served.push(`${name}${n}`), tokens),
  );
  for (let i = 1; i <= 3; i++) {
    assert.equal(first?.offer(i), true);
    assert.equal(second?.offer(i), true);
  }
  assert.deepEqual(served, ['a1', 'b1']);
  clock.advance(1000);
  assert.deepEqual(served, ['a1', 'b1', 'a2', 'b2']);
  clock.advance(1000);
  assert.deepEqual(served, ['a1', 'b1', 'a2', 'b2', 'a3', 'b3']);
});

test('accept gates with common tokens have one bound for all who wait', () => {
  const clock = new VirtualClock();
  const tokens = new BigInt64Array(new SharedArrayBuffer(8));
  const gates = [1, 2].map(() => new AcceptGate<number>(clock, 3, 3, () => {}, tokens));
  const offers = Array.from({ length: 8 }, (_, i) => gates[i % 2]?.offer(i));
  assert.deepEqual(offers, [true, true, true, true, true, true, false, false]);
  clock.advance(333);
  assert.equal(gates[0]?.offer(9), false, 'a third of a second is not over');
  clock.advance(1);
  assert.equal(gates[0]?.offer(10), true);
  assert.equal(gates[1]?.offer(11), false);
});

test('accept gates with common tokens fill their queue to the last place at any rate', () => {
  // At 3125 a second seven who wait add up to a little more than seven.
  for (const rate of [1, 3, 7, 1000, 3125]) {
    const tokens = new BigInt64Array(new SharedArrayBuffer(8));
    const gate = new AcceptGate<number>(new VirtualClock(), rate, 8, () => {}, tokens);
    const offers = Array.from({ length: rate + 9 }, (_, i) => gate.offer(i));
    assert.equal(offers.indexOf(false), rate + 8, `at ${rate}`);
  }
});
