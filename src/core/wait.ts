// Joining waits without leaving the current tick when there is nothing to wait for.

import type { Wait } from './ports.ts';

export function bothWaits(a: Wait, b: Wait): Wait {
  if (a === undefined) return b;
  if (b === undefined) return a;
  return Promise.all([a, b]).then(() => undefined);
}
