import assert from 'node:assert/strict';
import test from 'node:test';
import type { Figures } from '../load.ts';
import {
  crossingMicros,
  judgeOneWorker,
  mediansByTrial,
  renderThreads,
  type TrialRun,
} from './report.ts';
import { type PartName, trialsOf } from './trials.ts';

test('one worker meets the bar up to five percent, either way a figure can be worse', () => {
  const runs = traffic('s1', [
    { messagesPerSecond: 1000, cpuMicros: 1 },
    { messagesPerSecond: 951, cpuMicros: 1.049 },
  ]);
  assert.deepEqual(judgeOneWorker(mediansByTrial(runs), ['s1']), { missed: [], unjudged: [] });
  assert.match(renderThreads(runs, 0), /by more than 5 %: \*\*met\*\*/);
});

test('one worker misses the bar by rate and by CPU apart, and each miss is named', () => {
  const runs = [
    ...traffic('s1', [
      { messagesPerSecond: 1000, cpuMicros: 1 },
      { messagesPerSecond: 940, cpuMicros: 1 },
    ]),
    ...traffic('s2', [
      { messagesPerSecond: 1000, cpuMicros: 1 },
      { messagesPerSecond: 2000, cpuMicros: 1.06 },
    ]),
  ];
  const { missed } = judgeOneWorker(mediansByTrial(runs), ['s1', 's2']);
  assert.deepEqual(missed, ['s1 messages/s 0.94×', 's2 CPU µs 1.06×']);
  assert.match(
    renderThreads(runs, 0),
    /\*\*missed\*\* \(s1 messages\/s 0\.94×, s2 CPU µs 1\.06×\)/,
  );
});

test('a load whose runs failed leaves the bar open', () => {
  const [zero, one] = trialsOf('s3');
  assert.ok(zero !== undefined && one !== undefined);
  const figures = { messagesPerSecond: 1000, cpuMicros: 1 };
  const runs: TrialRun[] = [
    { trial: zero, round: 1, outcome: outcome(figures), failure: undefined },
    { trial: one, round: 1, outcome: undefined, failure: 'Cannot start' },
  ];
  const text = renderThreads(runs, 0);
  assert.match(text, /\*\*open\*\*; not judged: s3/);
  assert.match(text, /- s3, 1 worker: FAILED, Cannot start/);
});

test('a row of a load holds medians over the rounds and their ratios to no workers', () => {
  const runs = [
    { messagesPerSecond: 100, cpuMicros: 2 },
    { messagesPerSecond: 300, cpuMicros: 2 },
    { messagesPerSecond: 110, cpuMicros: 2 },
  ].flatMap((zero, index) =>
    traffic('s4', [zero, { messagesPerSecond: 110, cpuMicros: 3 }, { cpuMicros: 4 }], index + 1),
  );
  const row = renderThreads(runs, 0)
    .split('\n')
    .find((line) => line.startsWith('| s4'));
  assert.equal(row, '| s4 | 110 | 110 | 1.00× ✓ | – | – | 2.00 | 3.00 | 1.50× ✗ | 4.00 | 2.00× |');
});

test('a crossing costs what both units of a message cost more', () => {
  assert.equal(crossingMicros({ cpuMicros: 0.25 }, { cpuMicros: 1 }), 1.5);
  assert.equal(crossingMicros(undefined, { cpuMicros: 1 }), undefined);
  const [within, across] = trialsOf('crossing');
  assert.ok(within !== undefined && across !== undefined);
  const text = renderThreads(
    [
      run(within, { messagesPerSecond: 400, cpuMicros: 0.25 }),
      run(across, { messagesPerSecond: 100, cpuMicros: 1 }),
    ],
    0,
  );
  assert.match(text, /\| QoS 0 \| 400 \| 100 \| 0\.25× \| 0\.25 \| 1\.00 \| 4\.00× \| 1\.50 µs \|/);
});

test('a storm has a row for each transport and number of workers that was measured', () => {
  const figures = { allConnectedMs: 5000, connectionsPerSecond: 2000, cpuMicros: 500 };
  const text = renderThreads(
    trialsOf('storm').map((trial) => run(trial, figures)),
    0,
  );
  const rows = text.split('\n').filter((line) => /^\| (TLS|TCP) \| [12] \| 5000/.test(line));
  assert.equal(rows.length, 4);
});

test('a remark that trials share stands there once, and what was left out is said', () => {
  const runs = trialsOf('s1').map((trial) => ({
    ...run(trial, { messagesPerSecond: 1, cpuMicros: 1 }),
    outcome: { ...outcome({ messagesPerSecond: 1, cpuMicros: 1 }), notes: ['not quiet'] },
  }));
  const text = renderThreads(runs, 5);
  assert.match(text, /- s1, 0 workers; s1, 1 worker; s1, 2 workers: not quiet/);
  assert.match(text, /- 5 runs were left out/);
});

/** Figures with 0 workers, with 1, with 2. */
function traffic(part: PartName, figures: readonly Figures[], round = 1): TrialRun[] {
  const trials = trialsOf(part);
  return figures.flatMap((found, index) => {
    const trial = trials[index];
    return trial === undefined ? [] : [{ ...run(trial, found), round }];
  });
}

function run(trial: TrialRun['trial'], figures: Figures): TrialRun {
  return { trial, round: 1, outcome: outcome(figures), failure: undefined };
}

function outcome(figures: Figures): NonNullable<TrialRun['outcome']> {
  return { figures, lost: 0, extra: 0, notes: [] };
}
