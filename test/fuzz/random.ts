// Numbers from a seed: the same seed gives the same run. FUZZ_SEED repeats one that failed. Under CI the
// seed is fixed: a gate must say the same of the same commit, exploring is for everybody's own runs.

const given = process.env['FUZZ_SEED'] ?? (process.env['CI'] === undefined ? undefined : '1');

/** Of this process; every test that draws from it prints it. */
export const fuzzSeed: number =
  given === undefined ? (Math.random() * 0x7fff_ffff) | 0 : Number(given);

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** From 0 up to, and without, `count`. */
  below(count: number): number {
    // A counter through the finaliser of MurmurHash3: short, and good enough for choices.
    this.#state = (this.#state + 0x9e3779b9) | 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return ((mixed ^ (mixed >>> 16)) >>> 0) % count;
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(all: readonly T[]): T {
    return all[this.below(all.length)] as T;
  }
}
