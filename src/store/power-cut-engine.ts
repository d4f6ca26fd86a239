// An engine in memory that can lose its power. Laws: a commit is there for the next process when it
// has resolved; one under way is then there whole or not at all, as the seed decides; after the cut
// the old engine answers nobody any more.

import { invariant } from '#base/assert';
import type { Batch } from './batch.ts';
import type { Engine } from './engine.ts';
import type { Table } from './table.ts';
import { MemoryEngine } from './memory-engine.ts';

/** A commit that is not asked for by hand takes up to so many turns of the loop. */
const turnsMax = 4;

export interface PowerCutOptions {
  readonly seed: number;
  /** Commits wait for `flush()`. */
  readonly isManual?: boolean;
}

interface Commit {
  readonly batch: Batch;
  resolve(): void;
  reject(error: unknown): void;
}

export class PowerCutEngine implements Engine {
  readonly #random: () => number;
  readonly #isManual: boolean;
  /** What is on disk; undefined after the cut. */
  #disk: MemoryEngine | undefined;
  #commit: Commit | undefined;
  #idle: Promise<unknown> = Promise.resolve();

  constructor(options: PowerCutOptions) {
    this.#random = randomFrom(options.seed);
    this.#isManual = options.isManual ?? false;
    this.#disk = new MemoryEngine();
  }

  get(table: Table, key: Buffer): Buffer | undefined {
    return this.#powered().get(table, key);
  }

  has(table: Table, key: Buffer): boolean {
    return this.#powered().has(table, key);
  }

  range(
    table: Table,
    from: Buffer,
    to: Buffer | undefined,
    visit: (key: Buffer, value: Buffer) => boolean,
  ): void {
    this.#powered().range(table, from, to, visit);
  }

  keys(table: Table, from: Buffer, to: Buffer | undefined, visit: (key: Buffer) => boolean): void {
    this.#powered().keys(table, from, to, visit);
  }

  lastKey(table: Table, from: Buffer, to: Buffer): Buffer | undefined {
    return this.#powered().lastKey(table, from, to);
  }

  count(table: Table): number {
    return this.#powered().count(table);
  }

  renew(): void {
    this.#powered().renew();
  }

  /** After the cut it never settles: there is nobody who could say so. */
  commit(batch: Batch): Promise<void> {
    invariant(this.#commit === undefined, 'one commit at a time');
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (this.#disk === undefined) return promise;
    this.#commit = { batch, resolve, reject };
    this.#idle = promise.catch(() => {
      // Whoever committed was told.
    });
    if (!this.#isManual) this.#flushAfter(1 + Math.floor(this.#random() * turnsMax));
    return promise;
  }

  /** Ends the commit under way. False: there is none. */
  flush(): boolean {
    const commit = this.#commit;
    if (commit === undefined) return false;
    this.#commit = undefined;
    try {
      this.#powered().applyNow(commit.batch.bytes, commit.batch.length);
      commit.resolve();
    } catch (error) {
      commit.reject(error);
    }
    return true;
  }

  /** The engine as the next process finds it. */
  cut(): PowerCutEngine {
    const disk = this.#powered();
    const next = new PowerCutEngine({
      seed: Math.floor(this.#random() * 2 ** 32),
      isManual: this.#isManual,
    });
    next.#disk = disk;
    const commit = this.#commit;
    this.#disk = undefined;
    this.#commit = undefined;
    if (commit !== undefined && this.#random() < 0.5) {
      try {
        disk.applyNow(commit.batch.bytes, commit.batch.length);
      } catch {
        // It would have been refused: nothing of it is there.
      }
    }
    return next;
  }

  /** Waits for the commit under way, unless the power is gone. */
  async close(): Promise<void> {
    if (this.#isManual) this.flush();
    if (this.#disk !== undefined) await this.#idle;
  }

  #flushAfter(turns: number): void {
    setImmediate(() => {
      if (turns > 1) this.#flushAfter(turns - 1);
      else this.flush();
    });
  }

  #powered(): MemoryEngine {
    if (this.#disk === undefined) throw new Error('Cannot reach the store: its power was cut');
    return this.#disk;
  }
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}
