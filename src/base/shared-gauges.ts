// Gauges that several threads move together: each has one total that all see, the highest it has
// been, and a share per holder.
//
//   totals [gauge]   moved by everybody, atomically
//   highs  [gauge]   the highest total ever
//   shares [holder][gauge]   written by the holder alone
//
// Law: a total is the sum of its shares, so that whoever looks after the threads can take out what a
// dead one held. A thread that dies between its two additions leaves a total one move off.

import { invariant } from './assert.ts';

export class SharedGauges {
  readonly #gauges: number;
  readonly #holder: number;
  readonly #totals: Int32Array;
  readonly #highs: Int32Array;
  readonly #shares: Int32Array;

  /** Places that the memory must have. */
  static placesOf(gauges: number, holders: number): number {
    return gauges * (2 + holders);
  }

  constructor(memory: Int32Array, gauges: number, holder: number) {
    const holders = memory.length / gauges - 2;
    invariant(holder >= 0 && holder < holders, 'a holder of gauges has a share of their memory');
    this.#gauges = gauges;
    this.#holder = holder;
    this.#totals = memory.subarray(0, gauges);
    this.#highs = memory.subarray(gauges, 2 * gauges);
    this.#shares = memory.subarray(2 * gauges);
  }

  total(gauge: number): number {
    return Atomics.load(this.#totals, gauge);
  }

  /** Of all totals since the memory was made. */
  highest(gauge: number): number {
    return Atomics.load(this.#highs, gauge);
  }

  /** What this holder has added to the total. */
  share(gauge: number): number {
    return this.#shares[this.#placeOf(this.#holder, gauge)] ?? 0;
  }

  move(gauge: number, by: number): void {
    this.#addShare(gauge, by);
    this.#raise(gauge, Atomics.add(this.#totals, gauge, by) + by);
  }

  /** Adds one if the total stays within the limit, whoever else does so at this moment. */
  offer(gauge: number, limit: number): boolean {
    for (;;) {
      const total = this.total(gauge);
      if (total >= limit) return false;
      if (Atomics.compareExchange(this.#totals, gauge, total, total + 1) !== total) continue;
      this.#addShare(gauge, 1);
      this.#raise(gauge, total + 1);
      return true;
    }
  }

  /** Takes the shares of a holder that is no more out of all totals. */
  forget(holder: number): void {
    for (let gauge = 0; gauge < this.#gauges; gauge++) {
      const place = this.#placeOf(holder, gauge);
      Atomics.sub(this.#totals, gauge, Atomics.exchange(this.#shares, place, 0));
    }
  }

  #addShare(gauge: number, by: number): void {
    const place = this.#placeOf(this.#holder, gauge);
    this.#shares[place] = (this.#shares[place] ?? 0) + by;
  }

  #raise(gauge: number, total: number): void {
    for (let high = this.highest(gauge); total > high; ) {
      const found = Atomics.compareExchange(this.#highs, gauge, high, total);
      if (found === high) return;
      high = found;
    }
  }

  #placeOf(holder: number, gauge: number): number {
    return holder * this.#gauges + gauge;
  }
}
