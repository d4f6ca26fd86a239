// Spreads a burst of new connections over time: what exceeds the rate waits, in order, and is served
// when its turn comes. Law: the queue is bounded; only what finds it full is refused.

import type { Clock, ClockTimer } from '#base/clock';
import { TokenBucket } from '#base/token-bucket';

export class AcceptGate<T> {
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;
  readonly #waitingMax: number;
  readonly #serve: (arrival: T) => void;
  #waiting: { readonly arrival: T; readonly at: number }[] = [];
  #timer: ClockTimer | undefined;

  constructor(
    clock: Clock,
    ratePerSecond: number,
    waitingMax: number,
    serve: (arrival: T) => void,
  ) {
    this.#clock = clock;
    this.#bucket = new TokenBucket(ratePerSecond, ratePerSecond, clock.monotonicMs());
    this.#waitingMax = waitingMax;
    this.#serve = serve;
  }

  /** Serves the arrival now or in its turn. False: the queue is full. */
  offer(arrival: T): boolean {
    if (this.#waiting.length >= this.#waitingMax) return false;
    const now = this.#clock.monotonicMs();
    const waitMs = this.#bucket.take(1, now);
    if (waitMs === 0 && this.#waiting.length === 0) {
      this.#serve(arrival);
    } else {
      this.#waiting.push({ arrival, at: now + waitMs });
      this.#timer ??= this.#clock.setTimer(waitMs, () => this.#serveDue());
    }
    return true;
  }

  /** Forgets all who wait. */
  clear(): void {
    this.#waiting = [];
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #serveDue(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonicMs();
    const later = this.#waiting.findIndex((one) => one.at > now);
    const due = later < 0 ? this.#waiting : this.#waiting.slice(0, later);
    this.#waiting = later < 0 ? [] : this.#waiting.slice(later);
    const next = this.#waiting[0];
    if (next !== undefined) {
      this.#timer = this.#clock.setTimer(next.at - now, () => this.#serveDue());
    }
    for (const { arrival } of due) this.#serve(arrival);
  }
}
