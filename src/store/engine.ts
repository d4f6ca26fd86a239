// What a store stands on: ordered tables of bytes, read at once and written in batches. Law: a batch
// happens whole or not at all, and `commit` resolves when it is flushed. LMDB is one engine, memory
// another; tests add one that fails and one that loses what was not flushed.

import type { Batch } from './batch.ts';
import type { Table } from './table.ts';

export interface Engine {
  /** A copy that the caller may keep. */
  get(table: Table, key: Buffer): Buffer | undefined;
  has(table: Table, key: Buffer): boolean;
  /**
   * Visits in the order of keys, from `from` (included) to `to` (excluded; undefined: the end). A
   * visit that answers false is the last. Keys and values are copies that the caller may keep.
   */
  range(
    table: Table,
    from: Buffer,
    to: Buffer | undefined,
    visit: (key: Buffer, value: Buffer) => boolean,
  ): void;
  /** The same without reading the values. */
  keys(table: Table, from: Buffer, to: Buffer | undefined, visit: (key: Buffer) => boolean): void;
  /** The last key below `to` that is not below `from`. */
  lastKey(table: Table, from: Buffer, to: Buffer): Buffer | undefined;
  count(table: Table): number;
  /** What others have flushed is seen from here on. What was committed here is seen anyway. */
  renew(): void;
  /**
   * Writes a batch and flushes it. One at a time: the caller waits before the next. The batch's
   * memory is the engine's until the promise settles, and as it was after that. Rejected: nothing of
   * it happened, and the engine is as good as before.
   */
  commit(batch: Batch): Promise<void>;
  close(): Promise<void>;
}
