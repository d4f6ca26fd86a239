// Spreads a burst of new connections over time: what exceeds the rate waits, in order, and is served
// when its turn comes. Law: the queue is bounded; only what finds it full is refused. Where workers
// share a listener, rate and bound are those of all of them together.

import type { Clock, ClockTimer } from '#base/clock';
import { TokenBucket } from '#base/token-bucket';

/** In tokens; far above what adding up times may be off, far below one. */
const roundingError = 1e-6;

export class AcceptGate<T> {
  readonly #clock: Clock;
  readonly #perMs: number;
  readonly #isShared: boolean;
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
    tokens?: BigInt64Array,
  ) {
    this.#clock = clock;
    this.#perMs = ratePerSecond / 1000;
    this.#isShared = tokens !== undefined;
    this.#bucket = new TokenBucket(ratePerSecond, ratePerSecond, clock.monotonicMs(), tokens);
    this.#waitingMax = waitingMax;
    this.#serve = serve;
  }

  /** Serves the arrival now or in its turn. False: the queue is full. */
  offer(arrival: T): boolean {
    const now = this.#clock.monotonicMs();
    if (this.#waitingAt(now) >= this.#waitingMax) return false;
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

  /**
   * Everybody who waits has a token that is not there yet, so what the bucket owes is the queue of
   * all workers; what a dead one had in its own is paid off as time passes.
   */
  #waitingAt(nowMs: number): number {
    if (!this.#isShared) return this.#waiting.length;
    const owed = this.#bucket.take(0, nowMs) * this.#perMs;
    return Math.max(this.#waiting.length, Math.ceil(owed - roundingError));
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
