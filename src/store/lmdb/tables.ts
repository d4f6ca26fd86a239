// The tables of an open environment, read and, inside of a transaction, written. Law: keys that LMDB
// cannot take never reach it.

import type { BatchTarget } from '../apply-batch.ts';
import type { Engine } from '../engine.ts';
import { keyBytesMax, type Table } from '../table.ts';
import { type Environment, recordCount, type TableDatabase } from './environment.ts';

/** No key is below this one: there is no empty key. */
const lowestKey: Buffer = Buffer.from([0]);

/** What can be asked of a store without changing it. */
type Reading = Omit<Engine, 'commit' | 'close'>;

export class LmdbTables implements Reading {
  protected readonly environment: Environment;

  constructor(environment: Environment) {
    this.environment = environment;
  }

  get(table: Table, key: Buffer): Buffer | undefined {
    return isKey(key) ? this.table(table).get(key) : undefined;
  }

  has(table: Table, key: Buffer): boolean {
    return isKey(key) && this.table(table).doesExist(key);
  }

  range(
    table: Table,
    from: Buffer,
    to: Buffer | undefined,
    visit: (key: Buffer, value: Buffer) => boolean,
  ): void {
    if (to?.length === 0) return;
    for (const { key, value } of this.#readable(table).getRange(bounds(from, to))) {
      if (!visit(key, value)) return;
    }
  }

  keys(table: Table, from: Buffer, to: Buffer | undefined, visit: (key: Buffer) => boolean): void {
    if (to?.length === 0) return;
    for (const key of this.#readable(table).getKeys(bounds(from, to))) {
      if (!visit(key)) return;
    }
  }

  lastKey(table: Table, from: Buffer, to: Buffer): Buffer | undefined {
    if (to.length === 0) return undefined;
    const end = atLeastLowest(from);
    // NOTE: without an end of ours LMDB's binding stops before the lowest key.
    const downward = { start: to, exclusiveStart: true, end, inclusiveEnd: true, reverse: true };
    for (const key of this.#readable(table).getKeys(downward)) return key;
    return undefined;
  }

  count(table: Table): number {
    return recordCount(this.#readable(table));
  }

  /** Whoever reads in the old snapshot (a range under way) goes on in it. */
  renew(): void {
    this.environment.root.resetReadTxn();
  }

  /**
   * LMDB's binding takes a snapshot that it did not get for an empty table, where it walks and where
   * it counts; a lookup throws. So one goes before, or a store that failed would look empty.
   */
  #readable(table: Table): TableDatabase {
    const database = this.table(table);
    database.doesExist(lowestKey);
    return database;
  }

  protected table(table: Table): TableDatabase {
    return this.environment.tables[table] as TableDatabase;
  }
}

/** NOTE: only inside of `transactionSync`, where a write is done when the call returns. */
export class WritableTables extends LmdbTables implements BatchTarget {
  put(table: Table, key: Buffer, value: Buffer): void {
    void this.table(table).put(key, value);
  }

  remove(table: Table, key: Buffer): void {
    void this.table(table).remove(key);
  }
}

function isKey(key: Buffer): boolean {
  return key.length > 0 && key.length <= keyBytesMax;
}

function bounds(from: Buffer, to: Buffer | undefined): { start: Buffer; end?: Buffer } {
  const start = atLeastLowest(from);
  return to === undefined ? { start } : { start, end: to };
}

function atLeastLowest(key: Buffer): Buffer {
  return key.length === 0 ? lowestKey : key;
}
