import assert from 'node:assert/strict';
import test from 'node:test';
import type { BrokerName, Figures, Load } from './load.ts';
import { isSound, type Run, ratioOf, summarize, verdictOf } from './summary.ts';
import { renderTables } from './table.ts';

const load: Load = {
  title: 'a load',
  figures: ['messagesPerSecond', 'cpuMicros', 'bytesPerConnection'],
  bars: {
    messagesPerSecond: { kind: 'ratio', bar: 2, reach: 4 },
    cpuMicros: { kind: 'ratio', bar: 5 },
    bytesPerConnection: { kind: 'atMost', bar: 8192, reach: 4096 },
  },
  run: () => Promise.reject(new Error('Cannot run: only its figures are wanted')),
};

test('a row holds medians, and ratios above 1 favour ours whichever way a figure is better', () => {
  const row = summarize('x', load, [
    run('ours', 1, { messagesPerSecond: 300, cpuMicros: 1, bytesPerConnection: 4096 }),
    run('ours', 2, { messagesPerSecond: 900, cpuMicros: 9, bytesPerConnection: 4096 }),
    run('ours', 3, { messagesPerSecond: 310, cpuMicros: 2, bytesPerConnection: 4096 }),
    run('mosquitto', 1, { messagesPerSecond: 50, cpuMicros: 6, bytesPerConnection: 1024 }),
    run('mosquitto', 2, { messagesPerSecond: 150, cpuMicros: 10, bytesPerConnection: 1024 }),
  ]);
  assert.equal(row.medians.ours?.messagesPerSecond, 310);
  assert.equal(row.medians.mosquitto?.messagesPerSecond, 100);
  assert.equal(ratioOf(row, 'messagesPerSecond'), 3.1);
  assert.equal(ratioOf(row, 'cpuMicros'), 4);
  assert.equal(verdictOf(row, 'messagesPerSecond'), 'passed');
  assert.equal(verdictOf(row, 'cpuMicros'), 'failed');
  assert.equal(verdictOf(row, 'bytesPerConnection'), 'reached');
  assert.match(renderTables([row]), /\| 310 \| 100 \| 3\.10× \(2, 4\) ✓ \| 2\.00 \| 8\.00 \|/);
});

test('a lost message is a remark with its number, and the run is not sound', () => {
  const lossy = run('ours', 2, { messagesPerSecond: 1 }, 7);
  assert.equal(isSound(lossy), false);
  const row = summarize('x', load, [lossy]);
  assert.deepEqual(row.remarks, ['ours: LOST 7 messages in round 2']);
  assert.match(renderTables([row]), /LOST 7/);
});

test('a bar without figures to hold against it has no verdict', () => {
  const row = summarize('x', load, []);
  assert.equal(verdictOf(row, 'messagesPerSecond'), undefined);
  assert.equal(verdictOf(row, 'bytesPerConnection'), undefined);
});

test('a load with many figures has a row for each, with its bar as it was written', () => {
  const many: Load = {
    ...load,
    figures: ['exactMs', 'exactCpuMicros', 'branchMs', 'branchCpuMicros', 'allMs'],
    bars: { exactCpuMicros: { kind: 'atMost', bar: 1000 } },
  };
  const row = summarize('x', many, [
    run('ours', 1, { exactMs: 1, exactCpuMicros: 1500, allMs: 8 }),
    run('mosquitto', 1, { exactMs: 2, exactCpuMicros: 750, allMs: 4 }),
  ]);
  const table = renderTables([row]);
  assert.match(
    table,
    /\| one exact topic: CPU µs \| 1500\.00 \| 750\.00 \| 0\.50× \(≤ 1000\) ✗ \|/,
  );
  assert.match(table, /\| `#`, all of them: ms \| 8\.00 \| 4\.00 \| 0\.50× \|/);
});

function run(broker: BrokerName, round: number, figures: Figures, lost = 0): Run {
  const outcome = { figures, lost, extra: 0, notes: [] };
  return { load: 'x', broker, round, outcome, failure: undefined };
}
