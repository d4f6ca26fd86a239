// The QoS 2 publishes that a client has sent and not yet released: their packet ids only, since the
// message itself was routed when it came. Bounded in number and age, so that a client that never
// sends PUBREL holds nothing for ever (the class of CVE-2023-28366).

import { CallbackTimer, type TimerWheel } from '#base/timers';
import type { ZoneSettings } from '#config/settings';

type Limits = Pick<ZoneSettings, 'maxAwaitingRel' | 'awaitRelTimeoutMs'>;

export class AwaitingRel {
  readonly #limits: Limits;
  readonly #timers: TimerWheel;
  readonly #onExpired: () => void;
  /** Packet id → when it came; insertion order is age. Allocated for clients that use QoS 2. */
  #since: Map<number, number> | undefined;
  #timer: CallbackTimer | undefined;

  constructor(limits: Limits, timers: TimerWheel, onExpired: () => void) {
    this.#limits = limits;
    this.#timers = timers;
    this.#onExpired = onExpired;
  }

  get size(): number {
    return this.#since?.size ?? 0;
  }

  get isFull(): boolean {
    return this.#limits.maxAwaitingRel > 0 && this.size >= this.#limits.maxAwaitingRel;
  }

  has(packetId: number): boolean {
    return this.#since?.has(packetId) === true;
  }

  add(packetId: number): void {
    this.#since ??= new Map();
    this.#since.set(packetId, this.#timers.nowMs);
    const { awaitRelTimeoutMs } = this.#limits;
    if (awaitRelTimeoutMs === 0) return;
    this.#timer ??= new CallbackTimer(() => this.#expire());
    if (!this.#timer.isScheduled) this.#timers.schedule(this.#timer, awaitRelTimeoutMs);
  }

  delete(packetId: number): boolean {
    return this.#since?.delete(packetId) === true;
  }

  clear(): void {
    this.#since = undefined;
    if (this.#timer !== undefined) this.#timers.cancel(this.#timer);
  }

  #expire(): void {
    const { awaitRelTimeoutMs } = this.#limits;
    const { nowMs } = this.#timers;
    for (const [packetId, since] of this.#since ?? []) {
      const leftMs = since + awaitRelTimeoutMs - nowMs;
      if (leftMs > 0) {
        if (this.#timer !== undefined) this.#timers.schedule(this.#timer, leftMs);
        return;
      }
      this.#since?.delete(packetId);
      this.#onExpired();
    }
  }
}
