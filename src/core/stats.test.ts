import assert from 'node:assert/strict';
import test from 'node:test';
import { SharedCounters, sharedCounters } from './shared-counters.ts';
import { gaugeNames, Stats } from './stats.ts';

test('stats keep each count and the highest it has had', () => {
  const stats = new Stats();
  stats.move('connections', 1);
  stats.move('connections', 1);
  stats.move('connections', -1);
  stats.set('retained', 9);
  stats.set('retained', 4);
  assert.deepEqual([stats.count('connections'), stats.max('connections')], [1, 2]);
  assert.deepEqual([stats.count('retained'), stats.max('retained')], [4, 9]);
  const snapshot = stats.snapshot();
  assert.equal(Object.keys(snapshot).length, 2 * gaugeNames.length);
  assert.deepEqual([snapshot['retained/count'], snapshot['retained/max']], [4, 9]);
  assert.equal(snapshot['sessions/count'], 0);
});

test('stats of their own are not those of another', () => {
  const [one, other] = [new Stats(), new Stats()];
  one.move('sessions', 1);
  assert.equal(other.count('sessions'), 0);
});

test('stats of workers are those of the node in every one of them', () => {
  const { stats: memory, workers } = new SharedCounters(sharedCounters(2));
  const [first, second] = [new Stats(memory, 0), new Stats(memory, 1)];
  const control = new Stats(memory, workers);
  first.move('connections', 2);
  second.move('connections', 3);
  first.move('connections', -1);
  for (const one of [first, second, control]) {
    assert.deepEqual([one.count('connections'), one.max('connections')], [4, 5]);
  }
});

test('stats that are set are the share of who sets them', () => {
  const { stats: memory, workers } = new SharedCounters(sharedCounters(2));
  const [first, second] = [new Stats(memory, 0), new Stats(memory, 1)];
  const control = new Stats(memory, workers);
  first.set('retained', 2);
  second.set('retained', 5);
  first.set('retained', 1);
  control.set('topics', 7);
  control.set('topics', 6);
  assert.deepEqual([control.count('retained'), control.max('retained')], [6, 7]);
  assert.deepEqual([first.count('topics'), first.max('topics')], [6, 7]);
});

test('stats lose what a dead worker had, and its successor begins anew', () => {
  const { stats: memory, workers } = new SharedCounters(sharedCounters(2));
  const [first, second] = [new Stats(memory, 0), new Stats(memory, 1)];
  const control = new Stats(memory, workers);
  first.move('sessions', 1);
  second.move('sessions', 4);
  control.forget(1);
  assert.deepEqual([first.count('sessions'), first.max('sessions')], [1, 5]);
  const successor = new Stats(memory, 1);
  successor.set('sessions', 3);
  assert.equal(control.count('sessions'), 4);
});
