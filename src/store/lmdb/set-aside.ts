// A damaged store goes under another name, where somebody may still get something out of it. Law:
// nothing is deleted and nothing that was set aside before is replaced.

import { closeSync, existsSync, fsyncSync, openSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';

/** Answers the new name. */
export function setAside(dir: string, now: Date = new Date()): string {
  // The basic form of ISO 8601: colons in names trouble other systems.
  const wanted = `${dir}.damaged-${now.toISOString().replaceAll(/[-:]/g, '')}`;
  let aside = wanted;
  for (let again = 2; existsSync(aside); again += 1) aside = `${wanted}-${again}`;
  renameSync(dir, aside);
  syncDirectory(dirname(dir));
  return aside;
}

/** Makes names last that were made or changed in a directory. */
export function syncDirectory(dir: string): void {
  const descriptor = openSync(dir, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
