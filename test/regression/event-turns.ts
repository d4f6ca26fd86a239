// Waiting for something that no packet announces: the event loop is let round until it is there.

import { setImmediate as nextTurn } from 'node:timers/promises';

/** Fails when `look` has not answered true before the deadline. */
export async function until(
  what: string,
  look: () => boolean,
  deadlineMs: number = 2000,
): Promise<void> {
  const endMs = performance.now() + deadlineMs;
  while (!look()) {
    if (performance.now() > endMs) {
      throw new Error(`Cannot see ${what}: not there after ${deadlineMs} ms`);
    }
    await nextTurn();
  }
}

/** Everything that promises and immediates had to do has been done. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await nextTurn();
}
