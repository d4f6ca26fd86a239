// When outboxes are written: once per loop turn, however many packets they got in it. Also the slabs
// that no outbox uses at the moment.

import { histogramPlaces, Probe } from './histograms.ts';
import { Pressure } from './pressure.ts';

/** Something that has bytes to write. */
export interface Flushable {
  flush(): void;
  /** Its own flush threw. */
  failed(error: unknown): void;
}

/**
 * Slabs come in two sizes: most clients are owed a packet or two per turn, and the few that are owed
 * much should be written to once. A small slab that is full moves into a large one.
 */
export const smallSlabBytes: number = 4 * 1024;
export const largeSlabBytes: number = 64 * 1024;
/** Kept for reuse at most: 8 MB of small ones and as much of large ones. */
const spareSmallMax = 2048;
const spareLargeMax = 128;

export class Flusher {
  /** Outboxes count there what their clients do not take. */
  readonly pressure: Pressure;
  /** Told when a turn's outboxes have been written. */
  readonly probe: Probe;
  #dirty: Flushable[] = [];
  readonly #spareSmall: Buffer[] = [];
  readonly #spareLarge: Buffer[] = [];
  /** Outboxes will be written at the end of this turn. */
  isScheduled = false;

  constructor(
    pressure: Pressure = new Pressure(),
    probe: Probe = new Probe(new Float64Array(histogramPlaces)),
  ) {
    this.pressure = pressure;
    this.probe = probe;
  }

  /** Each outbox calls it once between two flushes. */
  touch(outbox: Flushable): void {
    this.#dirty.push(outbox);
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(this.#flushAll);
  }

  readonly #flushAll = (): void => {
    this.isScheduled = false;
    const dirty = this.#dirty;
    this.#dirty = [];
    for (let i = 0; i < dirty.length; i++) this.#flushOne(dirty[i] as Flushable);
    if (this.probe.isWaiting) this.probe.flushed();
    this.pressure.look();
  };

  /** Nothing may leave this callback: it would end the process. */
  #flushOne(outbox: Flushable): void {
    try {
      outbox.flush();
    } catch (error) {
      outbox.failed(error);
    }
  }

  takeSmall(): Buffer {
    return this.#spareSmall.pop() ?? Buffer.allocUnsafeSlow(smallSlabBytes);
  }

  takeLarge(): Buffer {
    return this.#spareLarge.pop() ?? Buffer.allocUnsafeSlow(largeSlabBytes);
  }

  giveBack(slab: Buffer): void {
    const isSmall = slab.length === smallSlabBytes;
    const spare = isSmall ? this.#spareSmall : this.#spareLarge;
    if (spare.length < (isSmall ? spareSmallMax : spareLargeMax)) spare.push(slab);
  }
}
