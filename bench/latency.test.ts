import assert from 'node:assert/strict';
import test from 'node:test';
import { Latency } from './latency.ts';

test('quantiles are within a percent of the exact ones', () => {
  const latency = new Latency();
  for (let i = 1; i <= 1000; i++) latency.record(i / 10);
  for (const [share, exact] of [
    [0.5, 50],
    [0.99, 99],
    [1, 100],
  ] as const) {
    assert.ok(Math.abs(latency.quantile(share) / exact - 1) < 0.011, `${share}`);
  }
});

test('values outside the range fall into the first and the last bucket', () => {
  const latency = new Latency();
  latency.record(-1);
  latency.record(0);
  latency.record(1e9);
  assert.ok(latency.quantile(0.5) < 0.0011);
  assert.ok(latency.quantile(1) > 60_000);
});

test('a cleared histogram has no quantile', () => {
  const latency = new Latency();
  latency.record(1);
  latency.clear();
  assert.ok(Number.isNaN(latency.quantile(0.5)));
});
