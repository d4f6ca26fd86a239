import assert from 'node:assert/strict';
import test from 'node:test';
import { WatchedClock } from '#test/watched-clock';
import { Slots } from './slots.ts';

test('slots are given in the order of coming, never more than there are', async () => {
  const slots = new Slots(2, new WatchedClock());
  const taken: number[] = [];
  const take = async (number: number): Promise<() => void> => {
    const release = await slots.take(1000);
    taken.push(number);
    return release;
  };
  const [first, second] = await Promise.all([take(1), take(2)]);
  const third = take(3);
  const fourth = take(4);
  assert.deepEqual([taken, slots.waiting], [[1, 2], 2]);
  second();
  second();
  await third;
  assert.deepEqual([taken, slots.waiting], [[1, 2, 3], 1]);
  first();
  await fourth;
  assert.deepEqual(taken, [1, 2, 3, 4]);
});

test('who waits for a slot too long is told, and his turn goes to the next', async () => {
  const clock = new WatchedClock();
  const slots = new Slots(1, clock);
  const release = await slots.take(1000);
  const impatient = slots.take(100);
  const patient = slots.take(1000);
  const told = assert.rejects(impatient, {
    message: 'Cannot wait any longer: no turn within 100 ms',
  });
  clock.advance(100);
  // In the same turn in which the other was told: what he left is not lost.
  release();
  await told;
  (await patient)();
  (await slots.take(1))();
  assert.equal(clock.timerCount, 0);
});

test('nobody waits for slots that are closed', async () => {
  const clock = new WatchedClock();
  const slots = new Slots(1, clock);
  await slots.take(1000);
  const waiting = assert.rejects(slots.take(1000), { message: 'it is over' });
  slots.close(new Error('it is over'));
  await waiting;
  assert.deepEqual([slots.waiting, clock.timerCount], [0, 0]);
});
