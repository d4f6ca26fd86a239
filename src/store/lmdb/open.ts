// Opens the store of a data directory. Laws: one process a store; nothing is mapped that may kill the
// process that reads it, or the next start knows that it did; a damaged store stops the start or is
// set aside, as the operator chose, and is never deleted.

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Logger } from '#base/log';
import { numbersAfter } from '../numbers.ts';
import { checkStore } from './check.ts';
import { damageOf } from './damage.ts';
import { LmdbEngine } from './engine.ts';
import { openRoot } from './environment.ts';
import { lockStore } from './lock.ts';
import { inspectDataFile } from './meta-pages.ts';
import { setAside, syncDirectory } from './set-aside.ts';
import { type Migration, migrations, openAtVersion } from './version.ts';
import { WritingThread } from './writing-thread.ts';

export interface LmdbOptions {
  /** The store's own directory; files beside it begin with its name. */
  readonly dir: string;
  readonly onCorrupt: 'stop' | 'continue';
  readonly log: Logger;
  /** For tests. */
  readonly migrations?: readonly Migration[];
}

export type Restore<T> = (engine: LmdbEngine) => T | Promise<T>;

/**
 * Opens the store and has it read by `restore`, which throws StoreDamaged when it finds what no
 * broker wrote. With `continue` it is then called again, for an empty store. Answers what it answers.
 */
export async function openLmdb<T>(options: LmdbOptions, restore: Restore<T>): Promise<T> {
  const { dir } = options;
  mkdirSync(dirname(dir), { recursive: true, mode: 0o700 });
  const lock = lockStore(dir);
  let isOpen = false;
  // An engine that was opened in vain is closed while the lock is still wanted.
  const release = (): void => {
    if (isOpen) lock[Symbol.dispose]();
  };
  try {
    const restored = await openOrSetAside(options, restore, release);
    isOpen = true;
    return restored;
  } finally {
    if (!isOpen) lock[Symbol.dispose]();
  }
}

async function openOrSetAside<T>(
  options: LmdbOptions,
  restore: Restore<T>,
  release: () => void,
): Promise<T> {
  const { dir, log, onCorrupt } = options;
  try {
    return await openOnce(options, restore, release);
  } catch (error) {
    const damage = damageOf(error);
    if (damage === undefined) throw error;
    if (onCorrupt === 'stop') {
      throw new Error(
        `Cannot open the store "${dir}": ${damage.message}; node.on_corrupt_store = continue sets it aside and begins an empty one`,
        { cause: error },
      );
    }
    const aside = setAside(dir);
    rmSync(markerOf(dir), { force: true });
    log.error('store.damaged', { dir, found: damage.message, setAside: aside });
    return await openOnce(options, restore, release);
  }
}

async function openOnce<T>(
  options: LmdbOptions,
  restore: Restore<T>,
  release: () => void,
): Promise<T> {
  const { dir, log } = options;
  const marker = markerOf(dir);
  const state = inspectDataFile(dir);
  const isDoubtful = state === 'short' || (state === 'whole' && existsSync(marker));
  if (isDoubtful) {
    log.warn('store.checking', { dir, reason: state === 'short' ? state : 'last start died' });
    await checkStore(dir);
  }
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  writeFileSync(marker, '', { mode: 0o600 });
  const engine = openEngine(options, release);
  try {
    if (state === 'new') syncNames(dir);
    const restored = await restore(engine);
    rmSync(marker, { force: true });
    return restored;
  } catch (error) {
    await engine.close();
    throw error;
  }
}

function openEngine(options: LmdbOptions, release: () => void): LmdbEngine {
  const { dir, log } = options;
  // Loads while this thread opens the store.
  const writing = new WritingThread();
  let root: ReturnType<typeof openRoot> | undefined;
  try {
    root = openRoot(dir, 'write');
    const steps = options.migrations ?? migrations;
    const environment = openAtVersion(root, { dir, log, migrations: steps });
    writing.open(dir);
    return new LmdbEngine({
      environment,
      writing,
      numbers: numbersAfter,
      seat: (numbers) => {
        const { port, left } = writing.connect();
        return { seat: { dir, port, numbers }, left };
      },
      onClosed: release,
    });
  } catch (error) {
    void root?.close();
    void writing.close();
    // This process lives: what was found needs no marker to be found again.
    rmSync(markerOf(dir), { force: true });
    throw error;
  }
}

/** There while a store is opened and read: found at a start, it says that the last one died of it. */
function markerOf(dir: string): string {
  return `${dir}.opening`;
}

/** Before the first commit is promised to last. */
function syncNames(dir: string): void {
  syncDirectory(dir);
  syncDirectory(dirname(dir));
}
