// The counters of a node whose workers are threads: the sums of what each has counted. Law: reads
// only; a worker's block outlives it, and its successor goes on counting there.

import { type HistogramCounts, readHistograms } from './histograms.ts';
import { counterNames, Metric, metricKeys, metricOf } from './metrics.ts';
import type { Stats } from './stats.ts';

export class NodeMetrics {
  readonly #blocks: readonly Float64Array[];
  readonly #stats: Stats;

  /** `counts` of every `Metrics` of the node. */
  constructor(blocks: readonly Float64Array[], stats: Stats) {
    this.#blocks = blocks;
    this.#stats = stats;
  }

  get(key: string): number {
    return metricOf(key, (index) => this.#count(index));
  }

  snapshot(): Record<string, number> {
    return Object.fromEntries(metricKeys.map((key) => [key, this.get(key)]));
  }

  histograms(): HistogramCounts[] {
    return readHistograms((place) => this.#sum(counterNames.length + place));
  }

  #count(index: number): number {
    if (index === Metric.messagesRetained) return this.#stats.count('retained');
    return this.#sum(index);
  }

  #sum(index: number): number {
    return this.#blocks.reduce((sum, counts) => sum + (counts[index] ?? 0), 0);
  }
}
