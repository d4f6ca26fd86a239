import assert from 'node:assert/strict';
import test from 'node:test';
import type { VirtualClock } from '#base/clock';
import { messageOn, wheel } from './session-fixture.ts';
import { type MakeWill, Wills } from './wills.ts';

function bench(): { wills: Wills; clock: VirtualClock; published: string[] } {
  const { clock, timers } = wheel();
  const published: string[] = [];
  const startMs = timers.nowMs;
  const wills = new Wills(timers, ({ topic, timestampMs }) =>
    published.push(`${topic} after ${Math.round((timestampMs - startMs) / 1000)} s`),
  );
  return { wills, clock, published };
}
const willOn =
  (topic: string): MakeWill =>
  (nowMs) =>
    messageOn(topic, { timestampMs: nowMs });

test('a will without delay is published at once', () => {
  const { wills, published } = bench();
  wills.due('c', willOn('w'), 0);
  assert.deepEqual(published, ['w after 0 s']);
});

test('a will with a delay is published once when it has passed, with the time of then', () => {
  const { wills, clock, published } = bench();
  wills.due('c', willOn('w'), 10);
  clock.advance(9_000);
  assert.deepEqual(published, []);
  clock.advance(2_000);
  assert.deepEqual(published, ['w after 10 s']);
  wills.fire('c');
  clock.advance(60_000);
  assert.equal(published.length, 1);
});

test('a will is published when the session ends before its delay', () => {
  const { wills, clock, published } = bench();
  wills.due('c', willOn('w'), 10);
  clock.advance(3_000);
  wills.fire('c');
  clock.advance(60_000);
  assert.deepEqual(published, ['w after 3 s']);
});

test('a will is not published when its client is back before the delay', () => {
  const { wills, clock, published } = bench();
  wills.due('c', willOn('w'), 10);
  wills.due('other', willOn('o'), 10);
  wills.cancel('c');
  wills.cancel('nobody');
  wills.fire('c');
  clock.advance(60_000);
  assert.deepEqual(published, ['o after 10 s']);
});

test('a second will of a client does not swallow the first', () => {
  const { wills, clock, published } = bench();
  wills.due('c', willOn('one'), 10);
  wills.due('c', willOn('two'), 10);
  assert.deepEqual(published, ['one after 0 s']);
  clock.advance(11_000);
  assert.deepEqual(published, ['one after 0 s', 'two after 10 s']);
});

test('a will may make its client due again', () => {
  const { clock, timers } = wheel();
  const published: string[] = [];
  const wills: Wills = new Wills(timers, ({ topic }) => {
    published.push(topic);
    if (topic === 'one') wills.due('c', willOn('two'), 5);
  });
  wills.due('c', willOn('one'), 5);
  clock.advance(20_000);
  assert.deepEqual(published, ['one', 'two']);
});
