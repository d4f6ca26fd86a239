// Joining waits without leaving the current tick when there is nothing to wait for, and letting go of
// those that nobody was promised anything about.

import type { Wait } from './ports.ts';

export function bothWaits(a: Wait, b: Wait): Wait {
  if (a === undefined) return b;
  if (b === undefined || a === b) return a;
  return Promise.all([a, b]).then(() => undefined);
}

/** A store that fails reports it itself; where no acknowledgement waits, there is nobody else to tell. */
export function unpromised(wait: Wait): void {
  wait?.catch(() => {});
}
