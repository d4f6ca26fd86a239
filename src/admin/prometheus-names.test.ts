import assert from 'node:assert/strict';
import test from 'node:test';
import { metricKeys } from '#core/metrics';
import { gaugeNames } from '#core/stats';
import { counterRows, gaugeRows, toldElsewhere } from './prometheus-names.ts';

test('every key of the metrics has one place in Prometheus', () => {
  const own = counterRows.flatMap(({ keys }) => Object.values(keys));
  assert.deepEqual([...own, ...Object.keys(toldElsewhere)].sort(), [...metricKeys].sort());
});

test('every gauge of the stats has one place in Prometheus', () => {
  assert.deepEqual(gaugeRows.map(({ key }) => key).sort(), [...gaugeNames].sort());
});

test('what is told elsewhere names a metric of the table', () => {
  const names = new Set([...counterRows, ...gaugeRows].map(({ name }) => name));
  for (const [key, expression] of Object.entries(toldElsewhere)) {
    const name = /broker_\w+/.exec(expression)?.[0] ?? '';
    assert.ok(names.has(name), `${key} is told by ${expression}`);
  }
});
