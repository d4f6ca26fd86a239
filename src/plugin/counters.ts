// The counters of one plugin, in memory that all threads see: each thread has a row of its own and adds to
// nothing else, so that counting takes no lock and reading asks nobody. The first column counts what the
// plugin has thrown.

export class PluginCounters {
  readonly #names: readonly string[];
  readonly #rows: Float64Array;
  readonly #columns: number;

  /** `memory`: what `memoryFor` made, here or in another thread. */
  constructor(names: readonly string[], memory: SharedArrayBuffer) {
    this.#names = names;
    this.#columns = names.length + 1;
    this.#rows = new Float64Array(memory);
  }

  static memoryFor(names: readonly string[], threads: number): SharedArrayBuffer {
    return new SharedArrayBuffer((names.length + 1) * threads * Float64Array.BYTES_PER_ELEMENT);
  }

  add(thread: number, name: string, by: number): void {
    const at = this.#names.indexOf(name);
    if (at < 0) throw new TypeError(`Cannot count "${name}": it is not among the plugin's metrics`);
    this.#move(thread * this.#columns + at + 1, by);
  }

  failed(thread: number): void {
    this.#move(thread * this.#columns, 1);
  }

  get failures(): number {
    return this.#sum(0);
  }

  snapshot(): Record<string, number> {
    return Object.fromEntries(this.#names.map((name, at) => [name, this.#sum(at + 1)]));
  }

  #move(at: number, by: number): void {
    this.#rows[at] = (this.#rows[at] as number) + by;
  }

  #sum(column: number): number {
    let sum = 0;
    for (let at = column; at < this.#rows.length; at += this.#columns) {
      sum += this.#rows[at] as number;
    }
    return sum;
  }
}
