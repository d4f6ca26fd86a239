// Virtual time beside a real world: a test waits until somebody has set a timer, and only then moves the
// clock.

import { type ClockTimer, VirtualClock } from '#base/clock';
import { Watch } from './watch.ts';

const deadlineMs = 10_000;

export class WatchedClock extends VirtualClock {
  readonly #watch = new Watch();
  /** Of timers that have neither run nor been cancelled. */
  readonly #delays: number[] = [];

  override setTimer(ms: number, call: () => void): ClockTimer {
    const forget = (): void => {
      const at = this.#delays.indexOf(ms);
      if (!isOver && at !== -1) this.#delays.splice(at, 1);
      isOver = true;
    };
    let isOver = false;
    const timer = super.setTimer(ms, () => {
      forget();
      call();
    });
    this.#delays.push(ms);
    this.#watch.wake();
    return {
      cancel: () => {
        forget();
        timer.cancel();
      },
    };
  }

  /** Until there is a timer of exactly this delay. */
  async untilTimer(ms: number): Promise<void> {
    await this.#watch.until(
      () => this.#delays.includes(ms) || undefined,
      deadlineMs,
      () => new Error(`Cannot find a timer of ${ms} ms: there are those of ${this.#delays.join()}`),
    );
  }
}
