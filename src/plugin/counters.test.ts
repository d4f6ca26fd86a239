import assert from 'node:assert/strict';
import test from 'node:test';
import { PluginCounters } from './counters.ts';

test('counters of all threads are added up, each in a row of its own', () => {
  const names = ['auth.x.success', 'auth.x.failure'];
  const memory = PluginCounters.memoryFor(names, 3);
  const [here, there] = [new PluginCounters(names, memory), new PluginCounters(names, memory)];
  here.add(0, 'auth.x.success', 1);
  there.add(2, 'auth.x.success', 4);
  there.add(1, 'auth.x.failure', 1);
  here.failed(1);
  there.failed(2);
  assert.deepEqual(here.snapshot(), { 'auth.x.success': 5, 'auth.x.failure': 1 });
  assert.equal(there.failures, 2);
});

test('a counter that the plugin does not declare is refused by name', () => {
  const counters = new PluginCounters(['a'], PluginCounters.memoryFor(['a'], 1));
  assert.throws(() => counters.add(0, 'b', 1), /Cannot count "b": it is not among/);
});
