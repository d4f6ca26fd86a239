import assert from 'node:assert/strict';
import test from 'node:test';
import { Metric, Metrics } from './metrics.ts';
import { NodeMetrics } from './node-metrics.ts';
import { SharedCounters, sharedCounters } from './shared-counters.ts';
import { gaugeNames, Stats } from './stats.ts';

test('shared counters give every place of every worker memory of its own', () => {
  for (const workers of [1, 2, 7]) {
    const counters = new SharedCounters(sharedCounters(workers));
    assert.equal(counters.workers, workers);
    const blocks = counters.allCounts();
    assert.equal(blocks.length, workers + 1);
    // What one writes would be seen in another, if they shared a byte.
    blocks.forEach((block, worker) => block.fill(worker + 1));
    counters.heldBytes.fill(1000);
    counters.retainedPending.fill(-1);
    for (let worker = 0; worker <= workers; worker++) {
      const stats = new Stats(counters.stats, worker);
      for (const name of gaugeNames) stats.move(name, 1);
    }
    assert.equal(counters.workers, workers);
    blocks.forEach((block, worker) => assert.ok(block.every((count) => count === worker + 1)));
    assert.deepEqual([...counters.heldBytes], Array(workers).fill(1000));
    assert.deepEqual([...counters.retainedPending], Array(workers).fill(-1));
    const stats = new Stats(counters.stats, 0);
    for (const name of gaugeNames) assert.equal(stats.count(name), workers + 1);
  }
});

test('shared counters put what workers write all the time on different cache lines', () => {
  const counters = new SharedCounters(sharedCounters(3));
  const ends = counters.allCounts().map(({ byteOffset, byteLength }) => ({
    first: Math.floor(byteOffset / 64),
    last: Math.floor((byteOffset + byteLength - 1) / 64),
  }));
  const heldEnd = counters.heldBytes.byteOffset + counters.heldBytes.byteLength - 1;
  assert.ok(Math.floor(heldEnd / 64) < (ends[0]?.first ?? 0));
  for (let i = 1; i < ends.length; i++) {
    assert.ok((ends[i]?.first ?? 0) > (ends[i - 1]?.last ?? 0));
  }
});

test('shared counters forget what a dead worker held and keep what it counted', () => {
  const memory = sharedCounters(2);
  const counters = new SharedCounters(memory);
  const stats = new Stats(counters.stats, 2);
  new Metrics(counters.countsOf(1), stats).add(Metric.connect, 3);
  counters.heldBytes.set([10, 20]);
  counters.retainedPending.set([1, 2]);
  assert.equal(counters.heldTotal(), 30);
  counters.forget(1);
  assert.equal(counters.heldTotal(), 10);
  assert.deepEqual([...counters.retainedPending], [1, 0]);
  const successor = new Metrics(new SharedCounters(memory).countsOf(1), stats);
  successor.add(Metric.connect);
  assert.equal(new NodeMetrics(counters.allCounts(), stats).get('packets/connect'), 4);
});
