// The two meta pages of an LMDB data file, looked at before LMDB maps the file: it believes what they
// say, and a process that follows a wrong one is killed without a word.
//
//   page header 24 | magic 4 | version 4 | address 8 | map size 8 | free list 48 | tables 48 | …
//   … last page 8 | transaction 8 | boot 8          each tree: page size or 0 at 0, root at 40

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { StoreDamaged } from '../store-damaged.ts';

const magic = 0xbeefc0de;
const dataVersion = 2;
/** The flag of a meta page, in its header. */
const metaFlag = 0x08;
const noPage = 0xffff_ffff_ffff_ffffn;
const metaBytes = 168;

interface MetaPage {
  readonly pageBytes: number;
  readonly lastPage: bigint;
  readonly transaction: bigint;
  /** Where the two trees begin. */
  readonly roots: readonly bigint[];
}

/**
 * - `new`: there is nothing yet.
 * - `whole`: the meta pages are in order, and the file has all the pages they speak of.
 * - `short`: the file ends before its last page. LMDB does not write pages that a transaction took
 *   and gave back, so this may be in order: only reading everything tells.
 *
 * Throws StoreDamaged.
 */
export function inspectDataFile(dir: string): 'new' | 'whole' | 'short' {
  const file = join(dir, 'data.mdb');
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'new';
    throw error;
  }
  try {
    const { size } = fstatSync(descriptor);
    if (size === 0) return 'new';
    const first = readMetaPage(descriptor, 0, file);
    const second = readMetaPage(descriptor, first.pageBytes, file);
    if (first.pageBytes !== second.pageBytes) {
      throw damaged(file, `its pages are of ${first.pageBytes} and of ${second.pageBytes} bytes`);
    }
    const distance = first.transaction - second.transaction;
    if (distance > 1n || distance < -1n) {
      throw damaged(
        file,
        `its transactions are ${first.transaction} and ${second.transaction}, expected neighbours`,
      );
    }
    // NOTE: the older one need not be consistent. A commit that failed in it left it half written.
    const { lastPage, pageBytes, roots } = distance > 0n ? first : second;
    for (const root of roots) {
      if (root !== noPage && (root < 2n || root > lastPage)) {
        throw damaged(file, `a tree begins at page ${root}, expected 2 to ${lastPage}`);
      }
    }
    return (lastPage + 1n) * BigInt(pageBytes) <= BigInt(size) ? 'whole' : 'short';
  } finally {
    closeSync(descriptor);
  }
}

function readMetaPage(descriptor: number, at: number, file: string): MetaPage {
  const page = Buffer.alloc(metaBytes);
  const bytes = readSync(descriptor, page, 0, metaBytes, at);
  if (bytes < metaBytes) throw damaged(file, `it ends after ${at + bytes} bytes, in a meta page`);
  const found = page.readUInt32LE(24);
  if (found !== magic || (page.readUInt16LE(18) & metaFlag) === 0) {
    throw damaged(file, `no meta page begins at byte ${at}`);
  }
  const version = page.readUInt16LE(28);
  if (version !== dataVersion) {
    throw damaged(file, `its format is ${version}, expected ${dataVersion}`);
  }
  const pageBytes = page.readUInt32LE(48);
  if (pageBytes < 512 || pageBytes > 65_536 || (pageBytes & (pageBytes - 1)) !== 0) {
    throw damaged(file, `its pages are of ${pageBytes} bytes`);
  }
  return {
    pageBytes,
    lastPage: page.readBigUInt64LE(144),
    transaction: page.readBigUInt64LE(152),
    roots: [page.readBigUInt64LE(88), page.readBigUInt64LE(136)],
  };
}

function damaged(file: string, what: string): StoreDamaged {
  return new StoreDamaged(`"${file}" is not in order: ${what}`);
}
