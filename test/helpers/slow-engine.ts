// An engine whose commits happen when a test says so, or fail when it says that. Until it is told to
// hold, everything passes. `cut` is a crash: nothing reaches the memory behind it any more, and whoever
// waits waits for ever, as the process that died would have.

import assert from 'node:assert/strict';
import { type Batch, forEachWrite, Op } from '#store/batch';
import { ForwardingEngine } from '#store/forwarding-engine';
import { Table } from '#store/table';
import { MemoryEngine } from '#store/memory-engine';
import { Watch } from './watch.ts';

/** A commit that waits. Exactly one of the two is called, once. */
export interface PendingCommit {
  /** What it would do, in order: `put queue`, `remove subscriptions`, `refer bodies`, … */
  readonly writes: readonly string[];
  resolve(): void;
  reject(error?: Error): void;
}

const diskFull: Error = new Error('Cannot write: the disk is full');
const deadlineMs = 2000;
const tableNames = new Map(Object.entries(Table).map(([name, table]) => [table, name]));
const opNames = new Map<number, string>(Object.entries(Op).map(([name, op]) => [op, name]));

export class SlowEngine extends ForwardingEngine {
  readonly #memory: MemoryEngine;
  readonly #watch = new Watch();
  #mode: 'passing' | 'holding' | 'failing' | 'cut' = 'passing';
  /** At most one: whoever commits waits before the next. */
  #pending: PendingCommit | undefined;
  /** Commits begun. */
  begun = 0;
  /** Commits that were made to fail. */
  failed = 0;

  /** What is stored outlives this engine: give it to the next one to start again. */
  constructor(memory: MemoryEngine = new MemoryEngine()) {
    super(memory);
    this.#memory = memory;
  }

  get pending(): PendingCommit | undefined {
    return this.#pending;
  }

  /** From now on commits wait. */
  hold(): void {
    this.#mode = 'holding';
  }

  /** From now on commits fail at once, also the one that waits. */
  fail(): void {
    this.#mode = 'failing';
    this.#pending?.reject();
  }

  /** Everything passes again, also what waits. */
  pass(): void {
    this.#mode = 'passing';
    this.#pending?.resolve();
  }

  /** The process dies: what waits is lost. */
  cut(): void {
    this.#mode = 'cut';
    this.#pending = undefined;
  }

  /** The commit that waits, as soon as there is one. */
  next(): Promise<PendingCommit> {
    const late = (): Error =>
      new Error(`Cannot see a commit: none was begun within ${deadlineMs} ms`);
    return this.#watch.until(() => this.#pending, deadlineMs, late);
  }

  /** So many commits have been begun in all. */
  async until(count: number): Promise<void> {
    const late = (): Error =>
      new Error(`Cannot see ${count} commits: ${this.begun} were begun within ${deadlineMs} ms`);
    await this.#watch.until(() => this.begun >= count || undefined, deadlineMs, late);
  }

  override commit(batch: Batch): Promise<void> {
    assert.equal(this.#pending, undefined, 'Cannot commit: another commit is under way');
    this.begun++;
    const commit = this.#begin(batch);
    this.#watch.wake();
    return commit;
  }

  #begin(batch: Batch): Promise<void> {
    if (this.#mode === 'failing') {
      this.failed++;
      return Promise.reject(diskFull);
    }
    if (this.#mode === 'passing') return this.#memory.commit(batch);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (this.#mode === 'cut') return promise;
    const pending: PendingCommit = {
      writes: writesOf(batch),
      resolve: () => {
        this.#settle(pending);
        this.#memory.applyNow(batch.bytes, batch.length);
        resolve();
      },
      reject: (error = diskFull) => {
        this.#settle(pending);
        this.failed++;
        reject(error);
      },
    };
    this.#pending = pending;
    return promise;
  }

  #settle(pending: PendingCommit): void {
    assert.equal(this.#pending, pending, 'Cannot settle a commit that does not wait');
    this.#pending = undefined;
  }
}

/** Those that were taken back are not among them. */
export function writesOf(batch: Batch): string[] {
  const writes: string[] = [];
  forEachWrite(batch.bytes, batch.length, (op, table) => {
    writes.push(`${opNames.get(op)} ${tableNames.get(table)}`);
  });
  return writes;
}
