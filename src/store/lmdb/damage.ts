// What LMDB's errors say about the store: some mean that what it read cannot be true. The others (no
// memory, no permission, no room) say nothing about it.

import { StoreDamaged } from '../store-damaged.ts';

/** From lmdb.h: page not found, corrupted, version mismatch, invalid, cursor full, incompatible. */
const damageCodes: ReadonlySet<unknown> = new Set([-30797, -30796, -30794, -30793, -30787, -30784]);

/** Undefined: the error does not speak of damage. */
export function damageOf(error: unknown): StoreDamaged | undefined {
  if (error instanceof StoreDamaged) return error;
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return damageCodes.has(error.code)
    ? new StoreDamaged(`reading it failed: ${error.message}`, { cause: error })
    : undefined;
}
