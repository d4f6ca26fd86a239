// The LMDB environment of a store: one directory, one named database per table, keys and values as
// bytes. Every thread that uses the store opens it this way; within a process they share one map.
// Law: values that are read are copies, for LMDB's own memory changes under whoever keeps it.

import { type Database, open, type RootDatabase } from 'lmdb';
import { Table } from '../table.ts';

export type TableDatabase = Database<Buffer, Buffer>;

export interface Environment {
  readonly root: RootDatabase<Buffer, Buffer>;
  /** By number. */
  readonly tables: readonly TableDatabase[];
}

/** Half the cost of LMDB's own copy, which gives each value an ArrayBuffer. */
const copying = { encode: (value: Buffer): Buffer => value, decode: copyOf };

const binary = { keyEncoding: 'binary', encoder: copying } as const;

const nothing: Buffer = Buffer.alloc(0);

/** Options that the typings leave out. */
const unlisted = { permissionsMode: 0o600 };
const existing = { create: false };

/** More than there are: LMDB takes the number when the environment is opened, and room is cheap. */
const tablesMax = 64;

/**
 * Address space, not memory and not disk. A map that has to grow moves while other threads read in
 * it, so it begins larger than most stores ever become; beyond that LMDB doubles it.
 */
const mapBytes = 16 * 1024 ** 3;

/** The environment without its tables. NOTE: `meta-pages.ts` looks at the file before this does. */
export function openRoot(dir: string, mode: 'read' | 'write'): RootDatabase<Buffer, Buffer> {
  return open<Buffer, Buffer>({
    path: dir,
    noSubdir: false,
    ...binary,
    maxDbs: tablesMax,
    mapSize: mapBytes,
    readOnly: mode === 'read',
    // A commit answers when it is flushed, not before.
    overlappingSync: false,
    ...unlisted,
  });
}

/**
 * All tables; those that are not there yet are created. NOTE: only inside of `transactionSync`, or
 * each of them is a transaction of its own.
 */
export function openTables(root: RootDatabase<Buffer, Buffer>): Environment {
  const tables = Object.values(Table).map((table) =>
    root.openDB<Buffer, Buffer>({ name: String(table), ...binary }),
  );
  return { root, tables };
}

/**
 * The tables for a thread that only reads. NOTE: not before the thread that opened the store has all
 * of them open: LMDB shares them within a process, and only finding one is safe while others work.
 */
export function findTables(root: RootDatabase<Buffer, Buffer>): Environment {
  const tables = Object.values(Table).map((table) =>
    root.openDB<Buffer, Buffer>({ name: String(table), ...binary, ...existing }),
  );
  return { root, tables };
}

/** Undefined: there is none. Creates nothing. */
export function openTable(
  root: RootDatabase<Buffer, Buffer>,
  name: string,
): TableDatabase | undefined {
  return root.openDB<Buffer, Buffer>({ name, ...binary, ...existing });
}

/** Like `openTable`, for looking at keys: values are read and not kept. */
export function openForKeys(root: RootDatabase<Buffer, Buffer>, name: string): TableDatabase {
  const keysOnly = { ...binary, encoder: { ...copying, decode: (): Buffer => nothing } };
  return root.openDB<Buffer, Buffer>({ name, ...keysOnly });
}

/** Records that the table has by its own account, without counting them. */
export function recordCount(table: TableDatabase): number {
  return (table.getStats() as { readonly entryCount: number }).entryCount;
}

function copyOf(bytes: Uint8Array): Buffer {
  // NOTE: a property that LMDB sets; the memory behind it is longer.
  const { length } = bytes;
  const copy = Buffer.allocUnsafe(length);
  copy.set(bytes.subarray(0, length));
  return copy;
}
