// Latencies of sampled messages, counted in buckets one percent wide from a microsecond to over a
// minute: memory is fixed and recording costs one logarithm, however long a run lasts.

const step = Math.log(1.01);
const buckets = 1900;

export class Latency {
  readonly #counts = new Uint32Array(buckets);
  #samples = 0;

  record(ms: number): void {
    const bucket = Math.floor(Math.log(Math.max(1, ms * 1000)) / step);
    this.#counts[Math.min(buckets - 1, bucket)]! += 1; // the index is within the array
    this.#samples++;
  }

  clear(): void {
    this.#counts.fill(0);
    this.#samples = 0;
  }

  /** Milliseconds under which the given share of samples lies; NaN without samples. */
  quantile(share: number): number {
    let left = Math.ceil(this.#samples * share);
    if (left === 0) return Number.NaN;
    let bucket = -1;
    while (left > 0) left -= this.#counts[++bucket] ?? left;
    return Math.exp((bucket + 0.5) * step) / 1000;
  }
}
