// Room on the disk for the next commit. Law: LMDB never meets a full disk. Its binding words a write
// that failed into 100 bytes of memory (mdb.c, mdb_page_flush), and with usual numbers the words are
// longer: the process dies of it, sooner or later. So when a disk may be full, as many pages as the
// commit can take at most are written behind the data, by us, before LMDB begins.

import { closeSync, openSync, statfsSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { forEachWrite, Op } from '../batch.ts';
import { Table } from '../table.ts';
import type { Environment } from './environment.ts';

/** With so much left no commit of a usual size can fill the disk: nobody has to look closer. */
const plentyBytes = 1024 ** 3;
/** And so many times the size of its batch, for one that is not usual. */
const plentyTimes = 256;
/**
 * Kept for commits of nothing but lasting writes, by which the store becomes emptier: they must go on
 * when the disk is full. Free pages inside of the file are as good, but nobody knows when LMDB takes
 * which, so they do not count as room for a commit.
 */
const keptBytes = 1024 * 1024;
/** Left to others: a pid file, logs, the next start. */
const leftBytes = 1024 * 1024;
/** What lies in a record besides key and value, rounded up. */
const recordBytes = 16;
const pageNumberBytes = 8;

const zeros: Buffer = Buffer.alloc(64 * 1024);

/** As LMDB tells it. */
interface TreeStats {
  readonly treeDepth: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

interface EnvironmentStats {
  readonly lastPageNumber: number;
  readonly pageSize: number;
  /** The list of tables, and that of free pages. */
  readonly root: TreeStats;
  readonly free: TreeStats;
}

export class Room {
  readonly #dir: string;
  readonly #file: string;
  readonly #environment: Environment;
  /** The data file has its place on the disk up to here. */
  #reservedBytes = 0;

  constructor(dir: string, environment: Environment) {
    this.#dir = dir;
    this.#file = join(dir, 'data.mdb');
    this.#environment = environment;
  }

  /** So much that batches of so many bytes need not be looked at. */
  isPlentyFor(length: number): boolean {
    return isPlenty(this.#freeBytes(), length);
  }

  /** Throws when the disk may be too full for a batch. */
  demand(bytes: Buffer, length: number): void {
    const freeBytes = this.#freeBytes();
    if (isPlenty(freeBytes, length)) return;
    const { root } = this.#environment;
    const stats = root.getStats() as EnvironmentStats;
    const trees = this.#environment.tables.map((table) => table.getStats() as TreeStats);
    // Pages that a snapshot sees cannot be used again.
    root.resetReadTxn();
    const { pages, isLasting } = demandOf(bytes, length, trees, stats);
    const { pageSize } = stats;
    const dataBytes = (stats.lastPageNumber + 1) * pageSize;
    const used = [stats.root, stats.free, ...trees].reduce((sum, tree) => sum + pagesOf(tree), 2);
    const kept = isLasting ? 0 : Math.max(0, keptBytes - (dataBytes - used * pageSize));
    const wanted = dataBytes + pages * pageSize + kept;
    if (this.#reservedBytes === 0) this.#findReserved(dataBytes, wanted);
    const from = Math.max(dataBytes, this.#reservedBytes);
    if (wanted <= from) return;
    const needed = wanted - from + leftBytes;
    if (freeBytes < needed) {
      throw new Error(
        `Cannot write to the store "${this.#dir}": the disk is full, ${freeBytes} bytes are free, ${needed} are wanted`,
      );
    }
    this.#reserve(from, wanted);
  }

  /** What another process reserved can be written; what only seems to be there cannot. */
  #findReserved(dataBytes: number, wanted: number): void {
    try {
      this.#reserve(dataBytes, Math.min(statSync(this.#file).size, wanted));
    } catch {
      // It ends here.
    }
  }

  #freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.#dir);
    return bavail * bsize;
  }

  #reserve(from: number, to: number): void {
    const file = openSync(this.#file, 'r+');
    try {
      for (let at = from; at < to; this.#reservedBytes = at) {
        at += writeSync(file, zeros, 0, Math.min(zeros.length, to - at), at);
      }
    } finally {
      closeSync(file);
    }
  }
}

function isPlenty(freeBytes: number, length: number): boolean {
  return freeBytes >= plentyBytes + plentyTimes * length;
}

/** The pages that a batch can change or add at most, and whether it has lasting writes only. */
function demandOf(
  bytes: Buffer,
  length: number,
  trees: readonly TreeStats[],
  { pageSize, free }: EnvironmentStats,
): { pages: number; isLasting: boolean } {
  const changes = trees.map(() => ({ writes: 0, addedBytes: 0, pages: 0 }));
  let isAllLasting = true;
  const count = (table: Table, addedBytes: number, pages = 0): void => {
    const change = changes[table];
    if (change === undefined) return;
    change.writes++;
    change.addedBytes += addedBytes;
    change.pages += pages;
  };
  forEachWrite(bytes, length, (op, table, key, value, isLasting) => {
    isAllLasting &&= isLasting;
    const ownBytes = key.length + recordBytes;
    if (op === Op.remove) count(table, 0);
    else if (op === Op.refer) {
      count(Table.references, ownBytes);
      count(Table.bodies, 0);
    } else if (value.length < pageSize / 4) count(table, ownBytes + value.length);
    // A large value lies on pages of its own.
    else count(table, ownBytes, Math.ceil((value.length + recordBytes) / pageSize));
  });
  let pages = 0;
  for (const [table, tree] of trees.entries()) {
    const { writes, addedBytes, pages: ownPages } = changes[table] as (typeof changes)[number];
    if (writes === 0) continue;
    // Each page on the way to a record is copied, and may have to be divided; what is added fills
    // half of its pages at least, and branches lead there.
    const paths = Math.min(writes * (tree.treeDepth + 1), pagesOf(tree) - tree.overflowPages);
    pages += 2 * paths + 2 * Math.ceil(addedBytes / (pageSize / 2)) + ownPages + 2;
  }
  // The list of free pages is written anew, in the worst case all of it, with those that become free.
  const listed = Math.ceil((2 * pages * pageNumberBytes) / pageSize);
  pages += 2 * pagesOf(free) + listed + trees.length;
  return { pages, isLasting: isAllLasting };
}

function pagesOf({ treeBranchPageCount, treeLeafPageCount, overflowPages }: TreeStats): number {
  return treeBranchPageCount + treeLeafPageCount + overflowPages;
}
