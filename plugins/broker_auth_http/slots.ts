// How many may do something at once. Laws: who waits gets his turn in the order of coming, or is told
// that it is too late; what is taken is given back exactly once.

import type { Clock } from '#sdk';

interface Waiting {
  readonly take: () => void;
  readonly giveUp: (why: Error) => void;
}

export class Slots {
  readonly #clock: Clock;
  #free: number;
  readonly #waiting = new Set<Waiting>();

  constructor(count: number, clock: Clock) {
    this.#free = count;
    this.#clock = clock;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Answers how to give it back. */
  async take(patienceMs: number): Promise<() => void> {
    if (this.#free > 0) {
      this.#free--;
      return this.#release();
    }
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const timer = this.#clock.setTimer(patienceMs, () => {
      one.giveUp(new Error(`Cannot wait any longer: no turn within ${patienceMs} ms`));
    });
    const one: Waiting = {
      take: () => {
        this.#leave(one, timer);
        resolve(this.#release());
      },
      giveUp: (why) => {
        this.#leave(one, timer);
        reject(why);
      },
    };
    this.#waiting.add(one);
    return promise;
  }

  /** Nobody who waits now gets a turn. */
  close(why: Error): void {
    for (const one of [...this.#waiting]) one.giveUp(why);
  }

  /** In the very turn in which his fate is decided: nobody is given a turn that he does not take. */
  #leave(one: Waiting, timer: { cancel(): void }): void {
    timer.cancel();
    this.#waiting.delete(one);
  }

  #release(): () => void {
    let isGiven = false;
    return () => {
      if (isGiven) return;
      isGiven = true;
      const [next] = this.#waiting;
      if (next === undefined) this.#free++;
      else next.take();
    };
  }
}
