// From single runs to what is judged: the median of each figure over the rounds, the ratio to
// Mosquitto, and how that stands against the bar.

import {
  type Bar,
  type BrokerName,
  type Figure,
  type Figures,
  figures,
  type Load,
  type Outcome,
} from './load.ts';
import { median } from './median.ts';

/** One run of one load on one broker; without an outcome it failed, and says why. */
export interface Run {
  readonly load: string;
  readonly broker: BrokerName;
  readonly round: number;
  readonly outcome: Outcome | undefined;
  readonly failure: string | undefined;
}

export interface Row {
  readonly name: string;
  readonly load: Load;
  readonly medians: Readonly<Partial<Record<BrokerName, Figures>>>;
  /** Losses, failures and what the load itself had to say, once each. */
  readonly remarks: readonly string[];
}

export function summarize(name: string, load: Load, runs: readonly Run[]): Row {
  const medians: Partial<Record<BrokerName, Figures>> = {};
  for (const broker of ['ours', 'mosquitto'] as const) {
    const outcomes = runs.flatMap((run) =>
      run.broker === broker && run.outcome !== undefined ? [run.outcome.figures] : [],
    );
    if (outcomes.length > 0) medians[broker] = mediansOf(load.figures, outcomes);
  }
  return { name, load, medians, remarks: [...new Set(runs.flatMap(remarksOf))] };
}

/** True when every message arrived once and every run came to its end. */
export function isSound(run: Run): boolean {
  return run.outcome !== undefined && run.outcome.lost === 0 && run.outcome.extra === 0;
}

/** How many times better ours is: above 1 is always in our favour. */
export function ratioOf(row: Row, figure: Figure): number | undefined {
  const ours = row.medians.ours?.[figure];
  const theirs = row.medians.mosquitto?.[figure];
  if (ours === undefined || theirs === undefined) return undefined;
  return figures[figure].better === 'higher' ? ours / theirs : theirs / ours;
}

export type Verdict = 'reached' | 'passed' | 'failed';

/** Undefined when there is no bar, or nothing to hold against it. */
export function verdictOf(row: Row, figure: Figure): Verdict | undefined {
  const bar: Bar | undefined = row.load.bars[figure];
  if (bar === undefined) return undefined;
  const found = bar.kind === 'ratio' ? ratioOf(row, figure) : row.medians.ours?.[figure];
  if (found === undefined || Number.isNaN(found)) return undefined;
  const holds = (limit: number): boolean =>
    bar.kind === 'atMost' ? found <= limit : found >= limit;
  if (bar.reach !== undefined && holds(bar.reach)) return 'reached';
  return holds(bar.bar) ? 'passed' : 'failed';
}

function mediansOf(keys: readonly Figure[], outcomes: readonly Figures[]): Figures {
  return Object.fromEntries(
    keys.map((key) => [key, median(outcomes.map((found) => found[key] ?? Number.NaN))]),
  );
}

function remarksOf(run: Run): string[] {
  if (run.outcome === undefined) return [`${run.broker}: FAILED, ${run.failure}`];
  const { lost, extra, notes } = run.outcome;
  const remarks = notes.map((note) => `${run.broker}: ${note}`);
  if (lost > 0) remarks.push(`${run.broker}: LOST ${lost} messages in round ${run.round}`);
  if (extra > 0) remarks.push(`${run.broker}: ${extra} messages too many in round ${run.round}`);
  return remarks;
}
