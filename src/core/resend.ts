// Sending again what a client has not acknowledged: everything once, in order, when it comes back
// [MQTT-4.4.0-1]; and for clients before MQTT 5, where nothing forbids it, what has waited longer
// than the retry interval.

import { CallbackTimer, type TimerWheel } from '#base/timers';
import type { Inflight, InflightEntry } from './inflight.ts';

export class Resend {
  readonly #inflight: Inflight;
  readonly #timers: TimerWheel;
  readonly #retryMs: number;
  readonly #again: (entry: InflightEntry) => void;
  /** What a client that came back has not been sent on this connection. */
  readonly #backlog: InflightEntry[];
  #next = 0;
  #timer: CallbackTimer | undefined;

  /** `retryMs` 0: only the backlog. */
  constructor(
    inflight: Inflight,
    backlog: InflightEntry[],
    timers: TimerWheel,
    retryMs: number,
    again: (entry: InflightEntry) => void,
  ) {
    this.#inflight = inflight;
    this.#timers = timers;
    this.#retryMs = retryMs;
    this.#again = again;
    this.#backlog = backlog;
  }

  /** Part of what was in flight on the last connection has not been sent on this one. */
  get isPending(): boolean {
    return this.#next < this.#backlog.length;
  }

  /** The next one; undefined when the rest was acknowledged before it was sent again. */
  take(): InflightEntry | undefined {
    while (this.isPending) {
      const entry = this.#backlog[this.#next++] as InflightEntry;
      if (this.#inflight.get(entry.packetId) !== entry) continue;
      this.arm();
      return entry;
    }
    return undefined;
  }

  /** Something was sent: make sure that its retry will be looked at. */
  arm(): void {
    if (this.#retryMs === 0) return;
    this.#timer ??= new CallbackTimer(() => this.#retry());
    if (!this.#timer.isScheduled) this.#timers.schedule(this.#timer, this.#retryMs);
  }

  #retry(): void {
    const { nowMs } = this.#timers;
    const unsent = new Set(this.#backlog.slice(this.#next));
    let oldestMs = Number.POSITIVE_INFINITY;
    for (const entry of this.#inflight.inOrder()) {
      if (unsent.has(entry)) continue;
      if (entry.sentAtMs + this.#retryMs <= nowMs) this.#again(entry);
      oldestMs = Math.min(oldestMs, entry.sentAtMs);
    }
    if (oldestMs === Number.POSITIVE_INFINITY) return;
    // What could not be sent again (the client does not read) is looked at after another interval.
    const waitMs = oldestMs + this.#retryMs - nowMs;
    this.#timers.schedule(this.#timer as CallbackTimer, waitMs > 0 ? waitMs : this.#retryMs);
  }

  stop(): void {
    if (this.#timer !== undefined) this.#timers.cancel(this.#timer);
  }
}
