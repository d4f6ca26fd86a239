// A token bucket that lends: taking more than is there succeeds and answers how long the taker must
// now wait. Nothing is ever refused, so callers that slow a reader down lose nothing.

export class TokenBucket {
  readonly #perMs: number;
  readonly #burst: number;
  #tokens: number;
  #at: number;

  constructor(ratePerSecond: number, burst: number, nowMs: number) {
    this.#perMs = ratePerSecond / 1000;
    this.#burst = burst;
    this.#tokens = burst;
    this.#at = nowMs;
  }

  /** Takes `count` tokens; the answer is the milliseconds to wait, 0 meaning go on. */
  take(count: number, nowMs: number): number {
    const passed = nowMs - this.#at;
    if (passed > 0) {
      this.#tokens = Math.min(this.#burst, this.#tokens + passed * this.#perMs);
      this.#at = nowMs;
    }
    this.#tokens -= count;
    return this.#tokens >= 0 ? 0 : -this.#tokens / this.#perMs;
  }
}
