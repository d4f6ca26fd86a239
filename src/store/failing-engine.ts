// An engine whose n-th call fails, for tests that fail call 1, then call 2, and so on until nothing
// fails any more. Law: a call that fails has done nothing.

import type { Batch } from './batch.ts';
import type { Engine } from './engine.ts';
import type { Table } from './table.ts';

export interface FailingOptions {
  /** The call that fails, counted from 1: readings and commits alike, closing not. */
  readonly failAt: number;
  /** All calls from there on fail, until `heal()`. */
  readonly isLasting?: boolean;
}

export class FailingEngine implements Engine {
  readonly #inner: Engine;
  readonly #failAt: number;
  readonly #isLasting: boolean;
  #calls = 0;
  #isHealed = false;

  constructor(inner: Engine, { failAt, isLasting = false }: FailingOptions) {
    this.#inner = inner;
    this.#failAt = failAt;
    this.#isLasting = isLasting;
  }

  /** Calls so far. */
  get calls(): number {
    return this.#calls;
  }

  /** The call that was to fail has been made. */
  get hasFailed(): boolean {
    return this.#calls >= this.#failAt;
  }

  /** No call fails any more. */
  heal(): void {
    this.#isHealed = true;
  }

  get(table: Table, key: Buffer): Buffer | undefined {
    this.#count('get');
    return this.#inner.get(table, key);
  }

  has(table: Table, key: Buffer): boolean {
    this.#count('has');
    return this.#inner.has(table, key);
  }

  range(
    table: Table,
    from: Buffer,
    to: Buffer | undefined,
    visit: (key: Buffer, value: Buffer) => boolean,
  ): void {
    this.#count('range');
    this.#inner.range(table, from, to, visit);
  }

  keys(table: Table, from: Buffer, to: Buffer | undefined, visit: (key: Buffer) => boolean): void {
    this.#count('keys');
    this.#inner.keys(table, from, to, visit);
  }

  lastKey(table: Table, from: Buffer, to: Buffer): Buffer | undefined {
    this.#count('lastKey');
    return this.#inner.lastKey(table, from, to);
  }

  count(table: Table): number {
    this.#count('count');
    return this.#inner.count(table);
  }

  /** Reads nothing yet, so it is no call that could fail. */
  renew(): void {
    this.#inner.renew();
  }

  async commit(batch: Batch): Promise<void> {
    try {
      this.#count('commit');
    } catch (error) {
      // A disk takes its time to fail.
      await new Promise((resolve) => setImmediate(resolve));
      throw error;
    }
    await this.#inner.commit(batch);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #count(method: string): void {
    this.#calls += 1;
    if (this.#isHealed) return;
    if (this.#isLasting ? this.#calls < this.#failAt : this.#calls !== this.#failAt) return;
    throw new Error(`Cannot ${method}: call ${this.#calls} was to fail`);
  }
}
