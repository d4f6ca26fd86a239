// Waiting for something to be so: looked at now and whenever somebody says that things have changed.
// Law: nobody waits without a deadline.

import assert from 'node:assert/strict';

export class Watch {
  readonly #watchers: Set<() => void> = new Set();

  /** Things have changed. */
  wake(): void {
    for (const look of this.#watchers) look();
  }

  /** What `look` finds. It may throw to end the wait; `late` words the failure of the deadline. */
  async until<T>(look: () => T | undefined, deadlineMs: number, late: () => Error): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const attempt = (): void => {
      try {
        const found = look();
        if (found !== undefined) resolve(found);
      } catch (error) {
        reject(error);
      }
    };
    const timer = setTimeout(() => reject(late()), deadlineMs);
    this.#watchers.add(attempt);
    attempt();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#watchers.delete(attempt);
    }
  }
}

/** Looks again and again: for what nobody says has changed, as counts of other threads. */
export async function eventually(
  isSo: () => boolean | Promise<boolean>,
  deadlineMs = 20_000,
): Promise<void> {
  const endMs = performance.now() + deadlineMs;
  while (!(await isSo())) {
    assert.ok(performance.now() < endMs, `it is not so after ${deadlineMs} ms`);
    await new Promise(setImmediate);
  }
}
