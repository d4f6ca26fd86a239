// What the trials of `threads` came to, as Markdown: medians, ratios to fewer workers, the bar that a
// single worker is held to, and what a message costs more when it crosses from one worker to another.

import { type Figure, type Figures, figures } from '../load.ts';
import type { Attempt } from '../one-run.ts';
import { mediansOf, remarksAbout } from '../summary.ts';
import { format, markdown } from '../table.ts';
import {
  nameOf,
  stormVariants,
  stormWorkers,
  type Trial,
  type TrafficPart,
  trafficParts,
} from './trials.ts';

export interface TrialRun extends Attempt {
  readonly trial: Trial;
  readonly round: number;
}

export type Medians = Readonly<Record<string, Figures>>;

/** So much worse than without a worker may a load be with one. */
const tolerance = 0.05;
const judged = ['messagesPerSecond', 'cpuMicros'] as const;

/** `leftOut`: runs for which there was no time. */
export function renderThreads(runs: readonly TrialRun[], leftOut: number): string {
  const medians = mediansByTrial(runs);
  const sections = [
    ...renderTraffic(medians),
    ...renderCrossing(medians),
    ...renderStorm(medians),
    ...renderRemarks(runs, leftOut),
    'CPU µs: processor time of all threads of the broker per message in or out, or per connect.',
  ];
  return sections.join('\n\n');
}

/** By the name of the trial; without those of which no run came to its end. */
export function mediansByTrial(runs: readonly TrialRun[]): Medians {
  const groups = Map.groupBy(runs, ({ trial }) => nameOf(trial));
  const medians: Record<string, Figures> = {};
  for (const [name, alike] of groups) {
    const found = alike.flatMap(({ outcome }) => (outcome === undefined ? [] : [outcome.figures]));
    const keys = [...new Set(found.flatMap(Object.keys))] as Figure[];
    if (found.length > 0) medians[name] = mediansOf(keys, found);
  }
  return medians;
}

export interface BarVerdict {
  /** `s2 CPU µs 1.12×`, of all that are beyond the tolerance. */
  readonly missed: readonly string[];
  /** Loads that have no figures to be judged by. */
  readonly unjudged: readonly string[];
}

/** Whether any load is slower with one worker than with none, by more than is tolerated. */
export function judgeOneWorker(medians: Medians, parts: readonly TrafficPart[]): BarVerdict {
  const missed: string[] = [];
  const unjudged = new Set<string>();
  for (const part of parts) {
    for (const figure of judged) {
      const ratio = ratioOf(medians, part, figure, 1);
      if (ratio === undefined) unjudged.add(part);
      else if (!isTolerated(figure, ratio)) {
        missed.push(`${part} ${figures[figure].heading} ${ratio.toFixed(2)}×`);
      }
    }
  }
  return { missed, unjudged: [...unjudged] };
}

function renderTraffic(medians: Medians): string[] {
  const parts = trafficParts.filter((part) =>
    [0, 1, 2].some((workers) => medians[trafficName(part, workers)] !== undefined),
  );
  if (parts.length === 0) return [];
  const heads = judged.flatMap((figure) => {
    const { heading } = figures[figure];
    return [`${heading}, 0 workers`, '1', '÷ 0 workers', '2', '÷ 0 workers'];
  });
  const body = parts.map((part) => [part, ...judged.flatMap((it) => cells(medians, part, it))]);
  return [markdown([['load', ...heads], ...body]), renderBar(judgeOneWorker(medians, parts))];
}

function cells(medians: Medians, part: TrafficPart, figure: Figure): string[] {
  const value = (workers: number): string =>
    format(figure, medians[trafficName(part, workers)]?.[figure]);
  const ratio = (workers: number): number | undefined => ratioOf(medians, part, figure, workers);
  const one = ratio(1);
  const mark = one === undefined ? '' : isTolerated(figure, one) ? ' ✓' : ' ✗';
  return [value(0), value(1), `${times(one)}${mark}`, value(2), times(ratio(2))];
}

function renderBar({ missed, unjudged }: BarVerdict): string {
  const bar = `With 1 worker no load is slower than with 0 by more than ${tolerance * 100} %`;
  const open = unjudged.length > 0 ? `; not judged: ${unjudged.join(', ')}` : '';
  if (missed.length > 0) return `${bar}: **missed** (${missed.join(', ')}${open}).`;
  return unjudged.length > 0 ? `${bar}: **open**${open}.` : `${bar}: **met**.`;
}

function renderCrossing(medians: Medians): string[] {
  const body = ['QoS 0', 'QoS 1'].flatMap((qos) => {
    const within = medians[`crossing within, ${qos}, 2 workers`];
    const across = medians[`crossing across, ${qos}, 2 workers`];
    if (within === undefined && across === undefined) return [];
    const pair = (figure: Figure): string[] => [
      format(figure, within?.[figure]),
      format(figure, across?.[figure]),
      times(quotient(across?.[figure], within?.[figure])),
    ];
    const extra = crossingMicros(within, across);
    const cost = extra === undefined ? '–' : `${extra.toFixed(2)} µs`;
    return [[qos, ...pair('messagesPerSecond'), ...pair('cpuMicros'), cost]];
  });
  if (body.length === 0) return [];
  const columns = (heading: string): string[] => [`${heading}, within`, 'across', '÷ within'];
  const heads = [...columns('messages/s'), ...columns('CPU µs'), 'a crossing costs'];
  return [markdown([['10 pairs, 2 workers', ...heads], ...body])];
}

/** A message of a pair is one in and one out: two units of the work that CPU µs are counted by. */
export function crossingMicros(
  within: Figures | undefined,
  across: Figures | undefined,
): number | undefined {
  if (within?.cpuMicros === undefined || across?.cpuMicros === undefined) return undefined;
  return 2 * (across.cpuMicros - within.cpuMicros);
}

function renderStorm(medians: Medians): string[] {
  const columns = ['allConnectedMs', 'connectionsPerSecond', 'cpuMicros'] as const;
  const body = stormVariants.flatMap((variant) =>
    stormWorkers.flatMap((workers) => {
      const found = medians[nameOf({ part: 'storm', folder: 'threads', workers, variant })];
      if (found === undefined) return [];
      const values = columns.map((figure) => format(figure, found[figure]));
      return [[variant.toUpperCase(), String(workers), ...values]];
    }),
  );
  if (body.length === 0) return [];
  const heads = columns.map((figure) => figures[figure].heading);
  return [markdown([['10 000 clients connect', 'workers', ...heads], ...body])];
}

/** A remark that many trials share stands there once, with their names. */
function renderRemarks(runs: readonly TrialRun[], leftOut: number): string[] {
  const trials = new Map<string, Set<string>>();
  for (const run of runs) {
    for (const remark of remarksAbout(run, run.round)) {
      const names = trials.get(remark) ?? new Set();
      trials.set(remark, names.add(nameOf(run.trial)));
    }
  }
  const lines = [...trials].map(([remark, names]) => `- ${[...names].join('; ')}: ${remark}`);
  if (leftOut > 0) lines.push(`- ${leftOut} runs were left out: the time was over`);
  return lines.length > 0 ? [lines.join('\n')] : [];
}

function trafficName(part: TrafficPart, workers: number): string {
  return nameOf({ part, folder: 'loads', workers });
}

/** Of the figure to that without workers; which side of 1 is better depends on the figure. */
function ratioOf(
  medians: Medians,
  part: TrafficPart,
  figure: Figure,
  workers: number,
): number | undefined {
  return quotient(
    medians[trafficName(part, workers)]?.[figure],
    medians[trafficName(part, 0)]?.[figure],
  );
}

function isTolerated(figure: Figure, ratio: number): boolean {
  return figures[figure].better === 'higher' ? ratio >= 1 - tolerance : ratio <= 1 + tolerance;
}

function quotient(value: number | undefined, by: number | undefined): number | undefined {
  const ratio = (value ?? Number.NaN) / (by ?? Number.NaN);
  return Number.isFinite(ratio) ? ratio : undefined;
}

function times(ratio: number | undefined): string {
  return ratio === undefined ? '–' : `${ratio.toFixed(2)}×`;
}
