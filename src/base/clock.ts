// The only door to time. Whoever needs it is handed a Clock, so that a test, or a simulated cluster
// with a seed, runs hours in a moment and replays exactly.

import { invariant } from './assert.ts';

export interface Clock {
  /** Wall clock: ms since the epoch. Jumps when somebody sets the machine's clock. */
  nowMs(): number;
  /** Ms since some moment in the past, with fractions; never goes back. For durations. */
  monotonicMs(): number;
  /** Calls once, not before `ms` have passed. Does not keep the process alive. */
  setTimer(ms: number, call: () => void): ClockTimer;
}

export interface ClockTimer {
  /** Harmless after the call was made, and the second time. */
  cancel(): void;
}

/** Node turns a longer delay into 1 ms, with nothing but a warning. */
const timerMsMax = 2 ** 31 - 1;

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer(ms, call) {
    checkDelay(ms);
    // Node cuts fractions off, and would be early.
    const timeout = setTimeout(call, Math.ceil(ms)).unref();
    return { cancel: () => clearTimeout(timeout) };
  },
};

interface VirtualTimer {
  readonly dueMs: number;
  readonly call: () => void;
}

/** Time that stands still until a test moves it. Timers run inside `advance` and `jump`. */
export class VirtualClock implements Clock {
  readonly #wallStartMs: number;
  #elapsedMs = 0;
  /** By due time; equal ones in the order they were set. */
  readonly #timers: VirtualTimer[] = [];
  #isMoving = false;

  /** The default is far from 0, so that no test takes one kind of time for the other unnoticed. */
  constructor(wallStartMs = 1_700_000_000_000) {
    this.#wallStartMs = wallStartMs;
  }

  nowMs(): number {
    return this.#wallStartMs + this.#elapsedMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  /** Timers that have been set and have not run. */
  get timerCount(): number {
    return this.#timers.length;
  }

  setTimer(ms: number, call: () => void): ClockTimer {
    checkDelay(ms);
    // As in Node at least 1 ms, so that a timer that sets itself again cannot hold time still.
    const timer = { dueMs: this.#elapsedMs + Math.max(1, ms), call };
    const after = this.#timers.findIndex((other) => other.dueMs > timer.dueMs);
    this.#timers.splice(after === -1 ? this.#timers.length : after, 0, timer);
    return { cancel: () => this.#remove(timer) };
  }

  /** Time passes: each due timer, also one set meanwhile, sees the very moment it was due. */
  advance(ms: number): void {
    const untilMs = this.#elapsedMs + ms;
    this.#move(ms, () => {
      this.#runDue(untilMs, (timer) => {
        this.#elapsedMs = timer.dueMs;
      });
      this.#elapsedMs = untilMs;
    });
  }

  /** Time leaps, as after a suspend or a blocked event loop: due timers run late, all at the end. */
  jump(ms: number): void {
    this.#move(ms, () => {
      this.#elapsedMs += ms;
      this.#runDue(this.#elapsedMs, () => {});
    });
  }

  #move(ms: number, go: () => void): void {
    invariant(ms >= 0, 'time never goes back');
    invariant(!this.#isMoving, 'a timer does not move the clock that runs it');
    this.#isMoving = true;
    try {
      go();
    } finally {
      this.#isMoving = false;
    }
  }

  #runDue(untilMs: number, before: (timer: VirtualTimer) => void): void {
    for (;;) {
      const timer = this.#timers[0];
      if (timer === undefined || timer.dueMs > untilMs) return;
      this.#timers.shift();
      before(timer);
      timer.call();
    }
  }

  #remove(timer: VirtualTimer): void {
    const index = this.#timers.indexOf(timer);
    if (index !== -1) this.#timers.splice(index, 1);
  }
}

function checkDelay(ms: number): void {
  invariant(ms <= timerMsMax, 'a clock timer waits at most 2^31 - 1 ms');
}
