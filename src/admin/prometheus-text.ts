// The text format of Prometheus, version 0.0.4: families of samples, each with its HELP and TYPE. Law:
// what is written can be read by anybody: names are checked, texts escaped, and no sample stands twice.

import { invariant } from '#base/assert';

export const prometheusMediaType = 'text/plain; version=0.0.4; charset=utf-8';

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly samples: readonly Sample[];
}

/** A distribution as its owner counts it. */
export interface Histogram {
  readonly name: string;
  readonly help: string;
  /** Upper bounds, rising. */
  readonly buckets: readonly number[];
  /** How many lie in each bucket, and behind them how many lie above all. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/** A family without samples is left out. */
export function prometheusText(
  families: readonly Family[],
  histograms: readonly Histogram[] = [],
): string {
  const names = [...families, ...histograms].map(({ name }) => name);
  invariant(new Set(names).size === names.length, 'a family of samples stands once');
  const present = families.filter(({ samples }) => samples.length > 0);
  return [...present.map(familyText), ...histograms.map(histogramText)].join('');
}

function familyText({ name, help, type, samples }: Family): string {
  const lines = samples.map(({ labels = {}, value }) => line(name, labels, value));
  invariant(new Set(lines.map(seriesOf)).size === lines.length, 'a sample of a family stands once');
  return heading(name, help, type) + lines.join('');
}

function histogramText({ name, help, buckets, counts, sum }: Histogram): string {
  invariant(counts.length === buckets.length + 1, 'a histogram counts what is above its buckets');
  let total = 0;
  const lines = counts.map((count, at) => {
    total += count;
    return line(`${name}_bucket`, { le: numberText(buckets[at] ?? Infinity) }, total);
  });
  const ends = [line(`${name}_sum`, {}, sum), line(`${name}_count`, {}, total)];
  return heading(name, help, 'histogram') + [...lines, ...ends].join('');
}

function heading(name: string, help: string, type: string): string {
  invariant(/^[a-z][a-z0-9_]*$/.test(name), 'the name of a metric is a plain word');
  const text = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return `# HELP ${name} ${text}\n# TYPE ${name} ${type}\n`;
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  const shown = pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
  return `${name}${shown} ${numberText(value)}\n`;
}

function seriesOf(text: string): string {
  return text.slice(0, text.lastIndexOf(' '));
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

/** Numbers as Go reads them. */
function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}
