import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { VirtualClock } from '#base/clock';
import { Belongings } from './belongings.ts';

function belongings(): { clock: VirtualClock; own: Belongings; failures: unknown[] } {
  const clock = new VirtualClock();
  const failures: unknown[] = [];
  return { clock, failures, own: new Belongings(clock, (error) => void failures.push(error)) };
}

test('belongings are undone in the opposite order, and one that throws keeps no other', async () => {
  const { own, failures } = belongings();
  const done: string[] = [];
  own.defer(() => void done.push('first'));
  own.defer(() => {
    throw new Error('broken');
  });
  own.defer(async () => {
    await turn();
    done.push('last');
  });
  assert.equal(own.count, 3);
  await own.release();
  assert.deepEqual(done, ['last', 'first']);
  assert.equal(failures.length, 1);
  assert.deepEqual([own.count, own.signal.aborted], [0, true]);
  await own.release();
  assert.equal(done.length, 2);
});

test('what is undone early is not undone again', async () => {
  const { own } = belongings();
  let undone = 0;
  const undo = own.defer(() => void undone++);
  undo();
  undo();
  await own.release();
  assert.equal(undone, 1);
});

test('a repeated timer waits for its call, lives through its failures, and ends with the plugin', async () => {
  const { clock, own, failures } = belongings();
  let calls = 0;
  const first = Promise.withResolvers<void>();
  own.every(10, () => {
    calls++;
    if (calls === 1) return first.promise;
    throw new Error('broken');
  });
  clock.advance(100);
  assert.equal(calls, 1);
  first.resolve();
  await turn();
  clock.advance(10);
  await turn();
  clock.advance(10);
  await turn();
  assert.deepEqual([calls, failures.length], [3, 2]);
  await own.release();
  clock.advance(100);
  assert.deepEqual([calls, clock.timerCount], [3, 0]);
});

test('a repeated timer whose call is under way when the plugin ends does not go on', async () => {
  const { clock, own } = belongings();
  const under = Promise.withResolvers<void>();
  own.every(10, () => under.promise);
  clock.advance(10);
  await own.release();
  under.resolve();
  await turn();
  assert.equal(clock.timerCount, 0);
});

test('a single timer calls once, or not when it is called off', async () => {
  const { clock, own } = belongings();
  const called: string[] = [];
  own.after(5, () => void called.push('kept'));
  own.after(5, () => void called.push('called off'))();
  own.after(50, () => void called.push('late'));
  clock.advance(5);
  assert.deepEqual([called, own.count], [['kept'], 1]);
  await own.release();
  clock.advance(100);
  assert.deepEqual(called, ['kept']);
});

test('nothing can be taken on any more when the plugin is unloaded', async () => {
  const { clock, own } = belongings();
  await own.release();
  const gone = /Cannot register: the plugin is unloaded/;
  assert.throws(() => own.defer(() => undefined), gone);
  assert.throws(() => own.every(1, () => undefined), gone);
  assert.throws(() => own.after(1, () => undefined), gone);
  assert.equal(clock.timerCount, 0);
});
