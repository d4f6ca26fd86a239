// `npm run bench -- threads`: our broker held against itself by the number of its workers. A round
// goes through all parts, so that when the time is over there are fewer rounds and not fewer parts.

import { importLoad, type Load } from '../load.ts';
import { type Order, runOnce } from '../one-run.ts';
import type { Options } from '../options.ts';
import { writeResult } from '../result-file.ts';
import { isSound } from '../summary.ts';
import { renderOutcome } from '../table.ts';
import { mediansByTrial, renderThreads, type TrialRun } from './report.ts';
import { nameOf, type PartName, type Trial, trialsOf } from './trials.ts';

/** The rest of a run: starting and ending the broker, warming up, settling. */
const overheadSeconds = 45;

interface Turn {
  readonly trial: Trial;
  readonly load: Load;
  readonly round: number;
}

export async function compareThreads(parts: readonly PartName[], options: Options): Promise<void> {
  const turns = await turnsOf(parts, options);
  const runs = await runAll(turns, options);
  console.log(renderThreads(runs, turns.length - runs.length));
  if (options.json !== undefined) {
    writeResult(options.json, options, { medians: mediansByTrial(runs), runs });
  }
  process.exitCode = runs.length > 0 && runs.every(isSound) ? 0 : 1;
}

async function turnsOf(parts: readonly PartName[], { rounds }: Options): Promise<Turn[]> {
  const turns: Turn[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const trial of parts.flatMap(trialsOf)) {
      const load = { overheadSeconds, ...(await importLoad(trial.part, trial.folder)) };
      if (round <= (load.roundsMax ?? rounds)) turns.push({ trial, load, round });
    }
  }
  return turns;
}

/** Begins no run when the time is over. */
async function runAll(turns: readonly Turn[], options: Options): Promise<TrialRun[]> {
  const runs: TrialRun[] = [];
  const deadline = performance.now() + secondsMax(options) * 1000;
  for (const { trial, load, round } of turns) {
    if (performance.now() > deadline) break;
    const { part: name, folder, workers, variant } = trial;
    const settings = [`node.workers=${workers}`];
    const order: Order = { name, folder, load, broker: 'ours', settings };
    const attempt = await runOnce(variant === undefined ? order : { ...order, variant }, options);
    const said = attempt.outcome ? renderOutcome(attempt.outcome) : attempt.failure;
    console.error(`${nameOf(trial)} ${round}/${options.rounds} ${said}`);
    runs.push({ trial, round, ...attempt });
  }
  return runs;
}

/** Nine minutes for three rounds of three seconds; the last run may take one more. */
function secondsMax({ rounds, seconds }: Options): number {
  return Math.max(540, rounds * (180 + 26 * Math.max(0, seconds - 3)));
}
