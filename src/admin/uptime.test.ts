import assert from 'node:assert/strict';
import test from 'node:test';
import { uptimeText } from './uptime.ts';

const cases: readonly (readonly [seconds: number, text: string])[] = [
  [0, '0 seconds'],
  [25, '25 seconds'],
  [59, '59 seconds'],
  [60, '1 minutes, 0 seconds'],
  [239, '3 minutes, 59 seconds'],
  [3600, '1 hours, 0 minutes, 0 seconds'],
  [7384, '2 hours, 3 minutes, 4 seconds'],
  [86_400, '1 days,0 hours, 0 minutes, 0 seconds'],
  [153_901, '1 days,18 hours, 45 minutes, 1 seconds'],
];

test('uptimeText writes every unit from the largest on', () => {
  for (const [seconds, text] of cases) assert.equal(uptimeText(seconds * 1000), text);
});

test('uptimeText counts whole seconds, and a clock that was set back as none', () => {
  assert.equal(uptimeText(25_999), '25 seconds');
  assert.equal(uptimeText(-5000), '0 seconds');
});
