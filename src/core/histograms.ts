// How large messages are and how long the broker has them in its hands, as histograms of samples: one read
// in sixty-one is looked at, so that the others pay one subtraction. Counted behind the counters of
// metrics.ts, in the same memory with the same law: one writer, whoever wants reads.
//
//   counts of a histogram   one place per bound · one for what is above all bounds · the sum of values

/** A prime, so that a client that sends in a rhythm is not seen always at the same beat. */
export const sampledReads = 61;

export interface Histogram {
  readonly name: string;
  readonly help: string;
  /** Upper bounds, ascending; what is above the last one stands in a place of its own. */
  readonly bounds: readonly number[];
}

const histogramTable: readonly Histogram[] = [
  {
    name: 'publish_size_bytes',
    help: `Size of received PUBLISH packets, of one read in ${sampledReads}`,
    bounds: [32, 64, 128, 256, 512, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576],
  },
  {
    name: 'turn_seconds',
    help:
      `Time from reading PUBLISH packets to having written to all their receivers in this worker, of ` +
      `one read in ${sampledReads}`,
    bounds: [0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.1, 1],
  },
];

const placesOf = ({ bounds }: Histogram): number => bounds.length + 2;

/** So many places all of them take. */
export const histogramPlaces: number = histogramTable.reduce((sum, one) => sum + placesOf(one), 0);

const startOf = (index: number): number =>
  histogramTable.slice(0, index).reduce((sum, one) => sum + placesOf(one), 0);

const sizes = { at: startOf(0), bounds: (histogramTable[0] as Histogram).bounds };
const turns = { at: startOf(1), bounds: (histogramTable[1] as Histogram).bounds };

export interface HistogramCounts extends Histogram {
  /** Of each bound alone, and of what is above all. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/** What was counted, when `placeOf` tells the sum of one place over all workers. */
export function readHistograms(placeOf: (place: number) => number): HistogramCounts[] {
  return histogramTable.map((one, index) => {
    const at = startOf(index);
    const counts = Array.from({ length: one.bounds.length + 1 }, (_, i) => placeOf(at + i));
    return { ...one, counts, sum: placeOf(at + one.bounds.length + 1) };
  });
}

const publishType = 3;

/** Counts the samples of one worker. */
export class Probe {
  readonly #counts: Float64Array;
  readonly #nowMs: () => number;
  /** Reads until the next one that is looked at. */
  left: number = sampledReads;
  /** When it was read; 0: none waits for the end of its turn. */
  #readAtMs = 0;

  /** `counts`: `histogramPlaces` places. */
  constructor(counts: Float64Array, nowMs: () => number = () => performance.now()) {
    this.#counts = counts;
    this.#nowMs = nowMs;
  }

  get isWaiting(): boolean {
    return this.#readAtMs !== 0;
  }

  /** A read that is looked at begins. */
  begin(): void {
    this.left = sampledReads;
    this.#readAtMs = this.#nowMs();
  }

  /**
   * It was handled. `isTimed`: it had publishes, and outboxes will be written. `isWhole`: the bytes begin
   * with a packet.
   */
  handled(bytes: Buffer, start: number, end: number, isTimed: boolean, isWhole: boolean): void {
    if (!isTimed) this.#readAtMs = 0;
    if (isWhole) this.#countSizes(bytes, start, end);
  }

  /** Outboxes have been written. */
  flushed(): void {
    this.#count(turns, (this.#nowMs() - this.#readAtMs) / 1000);
    this.#readAtMs = 0;
  }

  #countSizes(bytes: Buffer, start: number, end: number): void {
    for (let at = start; at < end; ) {
      const type = (bytes[at] as number) >> 4;
      let [length, shift, body] = [0, 0, at + 1];
      for (; body < end; shift += 7) {
        const digit = bytes[body++] as number;
        length += (digit & 0x7f) * 2 ** shift;
        if (digit < 0x80) break;
      }
      const next = body + length;
      if (next > end) return;
      if (type === publishType) this.#count(sizes, next - at);
      at = next;
    }
  }

  #count({ at, bounds }: typeof sizes, value: number): void {
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++;
    (this.#counts[at + bucket] as number)++;
    (this.#counts[at + bounds.length + 1] as number) += value;
  }
}
