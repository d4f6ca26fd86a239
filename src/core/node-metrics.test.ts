import assert from 'node:assert/strict';
import test from 'node:test';
import { Metric, Metrics, metricKeys } from './metrics.ts';
import { NodeMetrics } from './node-metrics.ts';
import { SharedCounters, sharedCounters } from './shared-counters.ts';
import { Stats } from './stats.ts';

test('metrics of the node are the sums of those of its workers', () => {
  const counters = new SharedCounters(sharedCounters(2));
  const stats = new Stats(counters.stats, 2);
  const workers = [0, 1].map((worker) => new Metrics(counters.countsOf(worker), stats));
  const node = new NodeMetrics(counters.allCounts(), stats);
  workers[0]?.add(Metric.qos0Received, 5);
  workers[1]?.add(Metric.qos1Received, 2);
  workers[1]?.add(Metric.qos0Received);
  assert.equal(node.get('messages/received'), 8);
  assert.equal(workers[1]?.get('messages/received'), 3);
  const snapshot = node.snapshot();
  assert.deepEqual(Object.keys(snapshot), metricKeys);
  assert.equal(snapshot['messages/qos0/received'], 6);
  assert.equal(node.get('no/such/key'), 0);
});

test('metrics take the number of retained messages from the stats', () => {
  const counters = new SharedCounters(sharedCounters(2));
  const [first, control] = [new Stats(counters.stats, 0), new Stats(counters.stats, 2)];
  first.set('retained', 3);
  const worker = new Metrics(counters.countsOf(0), first);
  worker.counts[Metric.messagesRetained] = 99;
  assert.equal(worker.get('messages/retained'), 3);
  assert.equal(new NodeMetrics(counters.allCounts(), control).get('messages/retained'), 3);
});
