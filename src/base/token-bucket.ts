// A token bucket that lends: taking more than is there succeeds and answers how long the taker must
// now wait. Nothing is ever refused, so callers that slow a reader down lose nothing. One bucket may
// be that of several threads: Node counts monotonic time from the start of the process in all of them.

export class TokenBucket {
  readonly #perMs: number;
  readonly #burst: number;
  readonly #shared: BigInt64Array | undefined;
  #tokens: number;
  #at: number;

  /** `shared`: one place in shared memory; a new one is a full bucket. */
  constructor(ratePerSecond: number, burst: number, nowMs: number, shared?: BigInt64Array) {
    this.#perMs = ratePerSecond / 1000;
    this.#burst = burst;
    this.#shared = shared;
    this.#tokens = burst;
    this.#at = nowMs;
  }

  /** Takes `count` tokens; the answer is the milliseconds to wait, 0 meaning go on. */
  take(count: number, nowMs: number): number {
    if (this.#shared !== undefined) return this.#takeShared(this.#shared, count, nowMs);
    const passed = nowMs - this.#at;
    if (passed > 0) {
      this.#tokens = Math.min(this.#burst, this.#tokens + passed * this.#perMs);
      this.#at = nowMs;
    }
    this.#tokens -= count;
    return this.#tokens >= 0 ? 0 : -this.#tokens / this.#perMs;
  }

  /**
   * The same bucket as one number, the time at which it will be full again: no lock, hence none that
   * a dead thread could leave behind.
   */
  #takeShared(memory: BigInt64Array, count: number, nowMs: number): number {
    const now = BigInt(Math.round(nowMs * 1e6));
    const cost = this.#nsOf(count);
    for (;;) {
      const fullAt = Atomics.load(memory, 0);
      const next = (fullAt > now ? fullAt : now) + cost;
      if (Atomics.compareExchange(memory, 0, fullAt, next) !== fullAt) continue;
      const wait = next - now - this.#nsOf(this.#burst);
      return wait > 0n ? Number(wait) / 1e6 : 0;
    }
  }

  /** Cut off, so that single tokens never add up to more than the burst they are. */
  #nsOf(tokens: number): bigint {
    return BigInt(Math.floor((tokens / this.#perMs) * 1e6));
  }
}
