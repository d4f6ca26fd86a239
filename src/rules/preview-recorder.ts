// Events of the last while, kept in one worker for whoever tries a statement out: only those on topics that
// somebody has switched on, only some of them where there are many, and never more than fits. Law: what is
// no longer switched on is forgotten at once.

import { matches } from '#topics/match';
import { capture, type CapturedEvent } from './captured-event.ts';
import { type EventName, eventNamed, type TableRecord } from './events.ts';
import type { RecordingOrder } from './rule-order.ts';
import type { EventListener } from './rule-set.ts';

export interface RecorderParts {
  readonly nowMs: () => number;
  readonly listen: (listener: EventListener) => () => void;
}

/** Of each event. */
export const recordedMax = 100;
const recordedBytesMax = 512 * 1024;
/** Of each event; the others pass unseen. */
export const perSecondMax = 20;

interface Ring {
  readonly events: CapturedEvent[];
  bytes: number;
  second: number;
  inSecond: number;
  last: TableRecord | undefined;
}

export class Recorder {
  readonly #parts: RecorderParts;
  readonly #rings = new Map<EventName, Ring>();
  #orders: readonly RecordingOrder[] = [];
  #leave: (() => void)[] = [];

  constructor(parts: RecorderParts) {
    this.#parts = parts;
  }

  /** Exactly these from now on. */
  apply(orders: readonly RecordingOrder[]): void {
    if (JSON.stringify(orders) === JSON.stringify(this.#orders)) return;
    for (const leave of this.#leave) leave();
    this.#orders = orders;
    for (const [event, ring] of this.#rings) this.#forget(event, ring);
    this.#leave = orders.map((order) => this.#parts.listen(this.#listenerOf(order)));
  }

  /** How many of each event are kept. */
  counts(): Partial<Record<EventName, number>> {
    return Object.fromEntries(
      Array.from(this.#rings, ([event, { events }]) => [event, events.length]),
    );
  }

  /** Of these events, the latest first. */
  latest(events: readonly EventName[]): CapturedEvent[] {
    return events
      .flatMap((event) => this.#rings.get(event)?.events ?? [])
      .toSorted((a, b) => b.record.happening.atMs - a.record.happening.atMs);
  }

  #listenerOf({ filter, events }: RecordingOrder): EventListener {
    const interests = new Map(
      events.map((event) => [event, hasTopic(event) ? [filter] : undefined] as const),
    );
    return { interests, onEvent: (event, topic, record) => this.#keep(event, topic, record) };
  }

  #keep(event: EventName, topic: string | undefined, record: TableRecord): void {
    const ring = this.#ringOf(event);
    // Filters overlap: then one event is told several times.
    if (ring.last === record) return;
    ring.last = record;
    const second = Math.floor(this.#parts.nowMs() / 1000);
    if (second !== ring.second) Object.assign(ring, { second, inSecond: 0 });
    if (++ring.inSecond > perSecondMax) return;
    const captured = capture(event, topic, record);
    if (captured === undefined) return;
    ring.events.push(captured);
    ring.bytes += captured.bytes;
    while (ring.events.length > recordedMax || ring.bytes > recordedBytesMax) {
      ring.bytes -= ring.events.shift()?.bytes ?? 0;
    }
  }

  #ringOf(event: EventName): Ring {
    let ring = this.#rings.get(event);
    if (ring === undefined) {
      ring = { events: [], bytes: 0, second: 0, inSecond: 0, last: undefined };
      this.#rings.set(event, ring);
    }
    return ring;
  }

  #forget(event: EventName, ring: Ring): void {
    const orders = this.#orders.filter(({ events }) => events.includes(event));
    const kept = ring.events.filter(({ topic }) =>
      orders.some(({ filter }) => topic === undefined || matches(filter, topic)),
    );
    ring.last = undefined;
    if (kept.length === 0) this.#rings.delete(event);
    ring.events.splice(0, ring.events.length, ...kept);
    ring.bytes = kept.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}

function hasTopic(event: EventName): boolean {
  return eventNamed(event)?.byName.has('topic') === true;
}
