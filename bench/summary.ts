// From single runs to what is judged: the median of each figure over the rounds, the ratio to
// Mosquitto, and how that stands against the bar.

import {
  type Bar,
  type BrokerName,
  type Figure,
  type Figures,
  figures,
  type Load,
} from './load.ts';
import { median } from './median.ts';
import type { Attempt } from './one-run.ts';

/** One run of one load on one broker. */
export interface Run extends Attempt {
  readonly load: string;
  readonly broker: BrokerName;
  readonly round: number;
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
export function isSound({ outcome }: Attempt): boolean {
  return outcome !== undefined && outcome.lost === 0 && outcome.extra === 0;
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

export function mediansOf(keys: readonly Figure[], outcomes: readonly Figures[]): Figures {
  return Object.fromEntries(
    keys.map((key) => [key, median(outcomes.map((found) => found[key] ?? Number.NaN))]),
  );
}

function remarksOf(run: Run): string[] {
  return remarksAbout(run, run.round).map((remark) => `${run.broker}: ${remark}`);
}

export function remarksAbout({ outcome, failure }: Attempt, round: number): string[] {
  if (outcome === undefined) return [`FAILED, ${failure}`];
  const { lost, extra, notes } = outcome;
  const remarks = [...notes];
  if (lost > 0) remarks.push(`LOST ${lost} messages in round ${round}`);
  if (extra > 0) remarks.push(`${extra} messages too many in round ${round}`);
  return remarks;
}
