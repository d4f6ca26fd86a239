// How long a run waits for its company: as long as something happens, and not for ever.

import { Watch } from '#test/watch';

/** A company that does not come to rest in this time never will. */
const restMsMax = 120_000;

export class Patience {
  readonly watch: Watch = new Watch();
  readonly #quietMs: number;
  #changedAtMs = 0;

  /** `quietMs`: nothing has happened for so long. */
  constructor(quietMs: number) {
    this.#quietMs = quietMs;
  }

  /** Something has happened. */
  changed(): void {
    this.#changedAtMs = performance.now();
    this.watch.wake();
  }

  /** False when nothing has happened for a while and it is still not so. */
  async until(holds: () => boolean): Promise<boolean> {
    const begin = performance.now();
    this.#changedAtMs = begin;
    const look = (): boolean | undefined => {
      if (holds()) return true;
      const now = performance.now();
      const isOver = now - this.#changedAtMs > this.#quietMs || now - begin > restMsMax;
      return isOver ? false : undefined;
    };
    const clockwork = setInterval(() => this.watch.wake(), 250);
    try {
      const late = (): Error => new Error('Cannot come to rest');
      return await this.watch.until(look, 2 * restMsMax, late);
    } finally {
      clearInterval(clockwork);
    }
  }
}
