import assert from 'node:assert/strict';
import test from 'node:test';
import { PluginGauges } from './gauges.ts';

test('a gauge has the count of now and the highest that it had; others are refused', () => {
  const gauges = new PluginGauges(['rules', 'actions']);
  gauges.set('rules', 3);
  gauges.set('rules', 1);
  assert.deepEqual(gauges.entries(), [
    ['rules', { count: 1, max: 3 }],
    ['actions', { count: 0, max: 0 }],
  ]);
  assert.throws(() => gauges.set('nothing', 1), /Cannot set "nothing": it is not among/);
});
