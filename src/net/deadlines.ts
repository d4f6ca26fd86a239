// Deadlines of one fixed length for many things, with one timer for all of them. Law: the map is in
// the order of falling due, because every entry gets the same length and a renewed one moves to the
// end; so the timer only ever looks at the first entries.

import type { Clock, ClockTimer } from '#base/clock';

export class Deadlines<T> {
  readonly #clock: Clock;
  readonly #lengthMs: number;
  readonly #due: Map<T, number> = new Map();
  readonly #expired: (late: T) => void;
  #timer: ClockTimer | undefined;

  constructor(clock: Clock, lengthMs: number, expired: (late: T) => void) {
    this.#clock = clock;
    this.#lengthMs = lengthMs;
    this.#expired = expired;
  }

  /** Starts the deadline of `subject`, or starts it anew. */
  watch(subject: T): void {
    this.#due.delete(subject);
    this.#due.set(subject, this.#clock.monotonicMs() + this.#lengthMs);
    if (this.#timer === undefined) this.#arm(this.#lengthMs);
  }

  forget(subject: T): void {
    this.#due.delete(subject);
  }

  /** Forgets everything; nothing expires any more. */
  clear(): void {
    this.#due.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  // The timer is not touched by `forget`: most deadlines are met, and it fires once in a length.
  #arm(delayMs: number): void {
    this.#timer = this.#clock.setTimer(delayMs, () => this.#sweep());
  }

  #sweep(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonicMs();
    for (const [subject, due] of this.#due) {
      if (due > now) {
        if (this.#timer === undefined) this.#arm(due - now);
        return;
      }
      this.#due.delete(subject);
      this.#expired(subject);
    }
  }
}
