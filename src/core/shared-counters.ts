// The memory in which the threads of a node count, laid out once:
//
//   workers · stats · retained pending per worker │ held bytes per worker │ a block of counters each
//   ─────────────── int32 ─────────────────────── └──────────────── float64 ─────────────────────
//
// Law: control makes it and hands it to every worker; a place has one writer, except the totals of
// the stats. Blocks begin on cache lines of their own: a worker adds to its block with every packet.

import { invariant } from '#base/assert';
import { metricPlaces } from './metrics.ts';
import { statsPlaces } from './stats.ts';

/** Two lines: they are fetched in pairs. */
const lineBytes = 128;
const blockBytes = alignedBytes(metricPlaces * Float64Array.BYTES_PER_ELEMENT);

/** Memory for so many workers and the control thread. */
export function sharedCounters(workers: number): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(blocksAt(workers) + (workers + 1) * blockBytes);
  new Int32Array(memory)[0] = workers;
  return memory;
}

/** How one thread sees that memory. Control counts as the worker behind the last one. */
export class SharedCounters {
  readonly workers: number;
  /** For `new Stats(stats, worker)`. */
  readonly stats: Int32Array;
  /** Changes to the retained messages that the store has not written, one place per worker. */
  readonly retainedPending: Int32Array;
  /** What waits for clients, one place per worker: told once a turn, so neighbours share a line. */
  readonly heldBytes: Float64Array;
  readonly #memory: SharedArrayBuffer;

  constructor(memory: SharedArrayBuffer) {
    const workers = new Int32Array(memory)[0] ?? 0;
    invariant(workers > 0, 'counters are shared by at least one worker');
    const int = Int32Array.BYTES_PER_ELEMENT;
    const statsAt = int;
    const pendingAt = statsAt + statsPlaces(workers) * int;
    this.workers = workers;
    this.#memory = memory;
    this.stats = new Int32Array(memory, statsAt, statsPlaces(workers));
    this.retainedPending = new Int32Array(memory, pendingAt, workers);
    this.heldBytes = new Float64Array(memory, heldAt(workers), workers);
  }

  /** For `new Metrics(counts, stats)`. */
  countsOf(worker: number): Float64Array {
    invariant(worker >= 0 && worker <= this.workers, 'a block of counters has a worker');
    const at = blocksAt(this.workers) + worker * blockBytes;
    return new Float64Array(this.#memory, at, metricPlaces);
  }

  /** Of all workers and control, for `new NodeMetrics(counts, stats)`. */
  allCounts(): Float64Array[] {
    return Array.from({ length: this.workers + 1 }, (_, worker) => this.countsOf(worker));
  }

  /** What waits for clients of the whole node. */
  heldTotal(): number {
    return this.heldBytes.reduce((sum, bytes) => sum + bytes, 0);
  }

  /** What a dead worker held is gone with it; its counters stay. For its gauges: `Stats.forget`. */
  forget(worker: number): void {
    this.heldBytes[worker] = 0;
    this.retainedPending[worker] = 0;
  }
}

function heldAt(workers: number): number {
  return alignedBytes((1 + statsPlaces(workers) + workers) * Int32Array.BYTES_PER_ELEMENT);
}

function blocksAt(workers: number): number {
  return alignedBytes(heldAt(workers) + workers * Float64Array.BYTES_PER_ELEMENT);
}

function alignedBytes(bytes: number): number {
  return Math.ceil(bytes / lineBytes) * lineBytes;
}
