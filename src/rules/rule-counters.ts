// What rules and actions count, in memory that all threads see: each thread has a row of its own in each slab
// and adds to nothing else, so that counting takes no lock and is exact, and reading asks nobody.
//
//   slab 0:  thread 0 | column 0 … 1023      slab 1:  thread 0 | column 1024 … 2047
//            thread 1 | column 0 … 1023               …
//
// Law: nobody writes a 0 where another thread counts. A column begins at 0, for a new owner or after a
// reset, by remembering what it showed then.

export const slabColumns = 1024;

/** Where a thread counts. */
export class CounterRows {
  readonly #thread: number;
  #slabs: readonly Float64Array[] = [];
  readonly #claims = new Map<number, CounterClaim>();

  constructor(thread: number) {
    this.#thread = thread;
  }

  /** What CounterPool shares: it only ever grows. */
  use(memory: readonly SharedArrayBuffer[]): void {
    const known = this.#slabs.length;
    const more = memory.slice(known).map((slab) => new Float64Array(slab));
    if (more.length > 0) this.#slabs = [...this.#slabs, ...more];
  }

  add(column: number): void {
    const slab = this.#slabs[Math.floor(column / slabColumns)] as Float64Array;
    const at = this.#thread * slabColumns + (column % slabColumns);
    slab[at] = (slab[at] as number) + 1;
  }

  /** A column as somebody has it; he who asks for it later has the same, until it is let go. */
  claim(column: number): CounterClaim {
    let claim = this.#claims.get(column);
    if (claim === undefined) {
      claim = { column, isOver: false };
      this.#claims.set(column, claim);
    }
    return claim;
  }

  /** All others are let go: they will have other owners, whatever is still under way. */
  keepOnly(columns: ReadonlySet<number>): void {
    for (const [column, claim] of this.#claims) {
      if (columns.has(column)) continue;
      claim.isOver = true;
      this.#claims.delete(column);
    }
  }
}

export interface CounterClaim {
  readonly column: number;
  isOver: boolean;
}

/** Who has which column, and what it shows; one for the node. */
export class CounterPool {
  readonly #threads: number;
  readonly #memory: SharedArrayBuffer[] = [];
  readonly #slabs: Float64Array[] = [];
  readonly #bases: number[] = [];
  readonly #free: number[] = [];

  constructor(threads: number) {
    this.#threads = threads;
  }

  get memory(): readonly SharedArrayBuffer[] {
    return this.#memory;
  }

  take(): number {
    const column = this.#free.pop() ?? this.#bases.length;
    if (column >= this.#slabs.length * slabColumns) this.#grow();
    this.#bases[column] = this.#sum(column);
    return column;
  }

  /** Once nobody counts there any more. */
  giveBack(column: number): void {
    this.#free.push(column);
  }

  value(column: number): number {
    return this.#sum(column) - (this.#bases[column] as number);
  }

  reset(column: number): void {
    this.#bases[column] = this.#sum(column);
  }

  /** Memory that no thread has touched takes no room. */
  #grow(): void {
    const bytes = slabColumns * this.#threads * Float64Array.BYTES_PER_ELEMENT;
    const slab = new SharedArrayBuffer(bytes);
    this.#memory.push(slab);
    this.#slabs.push(new Float64Array(slab));
  }

  #sum(column: number): number {
    const slab = this.#slabs[Math.floor(column / slabColumns)] as Float64Array;
    let sum = 0;
    for (let at = column % slabColumns; at < slab.length; at += slabColumns) {
      sum += slab[at] as number;
    }
    return sum;
  }
}
