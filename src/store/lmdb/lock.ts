// One process a store. The lock is the kernel's (fcntl, which Node reaches through its SQLite alone),
// on an empty file beside the store: it ends with the process however that ends, and no process id
// is asked for that might be somebody else's by now.

import { chmodSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** SQLITE_BUSY */
const busy = 5;

/** Throws when another process, or another engine of this one, has the store. */
export function lockStore(dir: string): Disposable {
  const file = `${dir}.lock`;
  // NOTE: open this file by nothing but SQLite. Closing any other descriptor of it ends the lock.
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    // Nothing is ever written; in memory SQLite makes no journal beside the file either.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    chmodSync(file, 0o600);
  } catch (error) {
    database.close();
    if ((error as { readonly errcode?: number }).errcode !== busy) {
      throw new Error(`Cannot lock the store "${dir}": ${(error as Error).message}`, {
        cause: error,
      });
    }
    throw new Error(
      `Cannot open the store "${dir}": another process has it open, expected a directory of its own`,
    );
  }
  return { [Symbol.dispose]: () => database.close() };
}
