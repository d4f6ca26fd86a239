// The QoS 2 publishes that a client has sent and not yet released: their packet ids only, since the
// message itself was routed when it came. Bounded in number and age, so that a client that never
// sends PUBREL holds nothing for ever (the class of CVE-2023-28366).

import { CallbackTimer, type TimerWheel } from '#base/timers';
import type { ZoneSettings } from '#config/settings';
import type { Wait } from './ports.ts';

type Limits = Pick<ZoneSettings, 'maxAwaitingRel' | 'awaitRelTimeoutMs'>;

interface Taken {
  readonly sinceMs: number;
  wait: Wait;
}

/** Whose publishes they are. */
export interface Releasing {
  /** Its time is over; the id is free again. */
  onUnreleased(packetId: number): void;
}

export class AwaitingRel {
  readonly #limits: Limits;
  readonly #timers: TimerWheel;
  readonly #owner: Releasing;
  /** By packet id; insertion order is age. Allocated for clients that use QoS 2. */
  #taken: Map<number, Taken> | undefined;
  #timer: CallbackTimer | undefined;

  constructor(limits: Limits, timers: TimerWheel, owner: Releasing) {
    this.#limits = limits;
    this.#timers = timers;
    this.#owner = owner;
  }

  get size(): number {
    return this.#taken?.size ?? 0;
  }

  get isFull(): boolean {
    return this.#limits.maxAwaitingRel > 0 && this.size >= this.#limits.maxAwaitingRel;
  }

  has(packetId: number): boolean {
    return this.#taken?.has(packetId) === true;
  }

  /** What a PUBREC for this id has to wait for, also a second one. */
  waitOf(packetId: number): Wait {
    return this.#taken?.get(packetId)?.wait;
  }

  /** Oldest first. */
  *entries(): Generator<readonly [packetId: number, sinceMs: number]> {
    for (const [packetId, { sinceMs }] of this.#taken ?? []) yield [packetId, sinceMs];
  }

  /** An id that the store has; call in the order of age. */
  restore(packetId: number, sinceMs: number): void {
    this.#taken ??= new Map();
    this.#taken.set(packetId, { sinceMs, wait: undefined });
    this.#watch();
  }

  /** An id whose message could not be stored is not taken: the client will send it again. */
  add(packetId: number, wait?: Wait): void {
    const taken: Taken = { sinceMs: this.#timers.nowMs, wait };
    this.#taken ??= new Map();
    this.#taken.set(packetId, taken);
    wait?.then(
      () => {
        taken.wait = undefined;
      },
      () => {
        if (this.#taken?.get(packetId) === taken) this.#taken.delete(packetId);
      },
    );
    this.#watch();
  }

  #watch(): void {
    const { awaitRelTimeoutMs } = this.#limits;
    if (awaitRelTimeoutMs === 0) return;
    this.#timer ??= new CallbackTimer(() => this.#expire());
    if (!this.#timer.isScheduled) this.#timers.schedule(this.#timer, awaitRelTimeoutMs);
  }

  delete(packetId: number): boolean {
    return this.#taken?.delete(packetId) === true;
  }

  clear(): void {
    this.#taken = undefined;
    if (this.#timer !== undefined) this.#timers.cancel(this.#timer);
  }

  #expire(): void {
    const { awaitRelTimeoutMs } = this.#limits;
    const { nowMs } = this.#timers;
    for (const [packetId, { sinceMs }] of this.#taken ?? []) {
      const leftMs = sinceMs + awaitRelTimeoutMs - nowMs;
      if (leftMs > 0) {
        if (this.#timer !== undefined) this.#timers.schedule(this.#timer, leftMs);
        return;
      }
      this.#taken?.delete(packetId);
      this.#owner.onUnreleased(packetId);
    }
  }
}
