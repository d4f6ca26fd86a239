import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from './clock.ts';
import { gather } from './gather.ts';

const never = new Promise<string>(() => {});

test('gather answers who answered and who did not, in the order they were asked', async () => {
  const first = Promise.withResolvers<string>();
  const gathered = gather<string, string>([
    ['a', first.promise],
    ['b', Promise.reject(new Error('Cannot call', { cause: new Error('closed') }))],
    ['c', Promise.resolve('C')],
  ]);
  first.resolve('A');
  assert.deepEqual(await gathered, {
    answers: [
      ['a', 'A'],
      ['c', 'C'],
    ],
    missing: [['b', 'Cannot call: closed']],
  });
});

test('gather gives up on those that have not answered at its deadline', async () => {
  const clock = new VirtualClock();
  const gathered = gather<number, string>(
    [
      [0, Promise.resolve('zero')],
      [1, never],
    ],
    { clock, deadlineMs: 200 },
  );
  clock.advance(200);
  assert.deepEqual(await gathered, {
    answers: [[0, 'zero']],
    missing: [[1, 'no answer within 200 ms']],
  });
});

test('gather leaves no timer when all have answered', async () => {
  const clock = new VirtualClock();
  await gather([['a', Promise.resolve(1)]], { clock, deadlineMs: 200 });
  assert.equal(clock.timerCount, 0);
});

test('gather of nobody is empty', async () => {
  assert.deepEqual(await gather([]), { answers: [], missing: [] });
});
