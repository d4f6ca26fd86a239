// Statements that are tried out, as management asks for it: on the last events that were recorded in all
// workers, or on those of the next seconds. Laws: recording is off until somebody switches it on for a
// filter, and off again with the process; how many wait, and how long, is bounded.

import type { Clock } from '#base/clock';
import { filterFault, parseFilter } from '#topics/topic';
import { builtDepthMax, parseJson } from './eval/json.ts';
import { type EventName, eventNamed } from './events.ts';
import { Preview, type PreviewOrder, type PreviewRow } from './preview-run.ts';
import { RuleFault } from './rule-fault.ts';
import type { RecordingOrder } from './rule-order.ts';

export interface PreviewWish {
  readonly rawsql: string;
  readonly for?: string | readonly string[] | undefined;
  readonly count: number;
  /** Events of the next seconds; undefined: those that were recorded. */
  readonly seconds?: number | undefined;
}

export interface PreviewOutcome {
  /** In the order in which they happened. */
  readonly events: readonly PreviewedEvent[];
  /** Workers that did not answer. */
  readonly missing: readonly string[];
}

export interface PreviewedEvent {
  readonly event: string;
  readonly timestamp: number;
  readonly input: Readonly<Record<string, unknown>>;
  readonly matched: boolean;
  readonly output: readonly unknown[];
  /** Why it does not match, or why elements were left out. */
  readonly reasons: readonly string[];
}

export interface RecordingView extends RecordingOrder {
  /** Events that are kept, in all workers. */
  readonly recorded: number;
}

export interface PreviewService {
  preview(wish: PreviewWish, signal: AbortSignal): Promise<PreviewOutcome>;
  recordings(): Promise<readonly RecordingView[]>;
  /** Replaces one of the same filter. Throws RuleFault. */
  record(filter: string, events: readonly string[]): Promise<void>;
  /** False: there was none. */
  forget(filter: string): Promise<boolean>;
}

type Answered = {
  readonly answers: readonly (readonly [string, unknown])[];
  readonly missing: readonly (readonly [string, string])[];
};

export interface PreviewParts {
  readonly clock: Clock;
  readonly askWorkers: (question: string, ...args: readonly unknown[]) => Promise<Answered>;
  /** Workers are to record exactly these. */
  readonly share: (recordings: readonly RecordingOrder[]) => Promise<void>;
}

const recordingsMax = 32;
const waitingMax = 8;

export class Previews implements PreviewService {
  readonly #parts: PreviewParts;
  readonly #recordings = new Map<string, RecordingOrder>();
  readonly #waiting = new Map<number, () => void>();
  #lastId = 0;

  constructor(parts: PreviewParts, filters: readonly string[]) {
    this.#parts = parts;
    for (const filter of filters) this.#recordings.set(filter, { filter, events: [usual] });
  }

  get orders(): readonly RecordingOrder[] {
    return [...this.#recordings.values()];
  }

  /** A worker has seen as much as was wanted. */
  full(id: number): void {
    this.#waiting.get(id)?.();
  }

  async preview(wish: PreviewWish, signal: AbortSignal): Promise<PreviewOutcome> {
    const { rawsql, for: forEvents, count, seconds } = wish;
    const { events } = new Preview({ rawsql, for: forEvents });
    const order: PreviewOrder = { rawsql, for: forEvents, count };
    if (seconds !== undefined) return this.#ofLive(order, seconds * 1000, signal);
    if (!this.orders.some((one) => one.events.some((event) => events.includes(event)))) {
      const remedy =
        'PUT /rules/preview/record or "rules preview record" switches that on, seconds waits for new ones';
      throw new RuleFault('bad_rule', `No ${events.join(', ')} is recorded: ${remedy}`);
    }
    const answered = await this.#parts.askWorkers('previewRecorded', order);
    return outcomeOf(answered, (rows) => rows.slice(-count));
  }

  async #ofLive(order: PreviewOrder, ms: number, signal: AbortSignal): Promise<PreviewOutcome> {
    const { askWorkers, clock } = this.#parts;
    if (this.#waiting.size >= waitingMax) {
      throw new RuleFault('too_many', `Cannot wait for events: ${waitingMax} others do, the limit`);
    }
    const id = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(id, resolve);
    const timer = clock.setTimer(ms, resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) resolve();
    try {
      await askWorkers('previewStart', id, order, ms);
      await promise;
      return outcomeOf(await askWorkers('previewEnd', id), (rows) => rows.slice(0, order.count));
    } finally {
      timer.cancel();
      this.#waiting.delete(id);
    }
  }

  async recordings(): Promise<readonly RecordingView[]> {
    const { answers } = await this.#parts.askWorkers('previewCounts');
    const counts = answers.map(([, counted]) => counted as Partial<Record<EventName, number>>);
    const sum = (events: readonly EventName[]): number =>
      counts.reduce(
        (total, one) => events.reduce((all, event) => all + (one[event] ?? 0), total),
        0,
      );
    return this.orders.map((order) => ({ ...order, recorded: sum(order.events) }));
  }

  async record(filter: string, events: readonly string[]): Promise<void> {
    const fault = filterFault(filter);
    if (fault !== undefined) throw bad(filter, fault);
    if (parseFilter(filter).filter !== filter)
      throw bad(filter, 'a shared subscription is no filter');
    const names = events.map((name) => {
      const known = eventNamed(name)?.event;
      if (known === undefined) throw new RuleFault('unknown_event', `Event ${name} Not Found`);
      return known;
    });
    if (!this.#recordings.has(filter) && this.#recordings.size >= recordingsMax) {
      const text = `Cannot record "${filter}": ${recordingsMax} filters are, the limit`;
      throw new RuleFault('too_many', text);
    }
    this.#recordings.set(filter, { filter, events: names.length === 0 ? [usual] : names });
    await this.#parts.share(this.orders);
  }

  async forget(filter: string): Promise<boolean> {
    if (!this.#recordings.delete(filter)) return false;
    await this.#parts.share(this.orders);
    return true;
  }
}

const usual: EventName = 'message.publish';

function bad(filter: string, fault: string): RuleFault {
  return new RuleFault('bad_rule', `Cannot record "${filter.slice(0, 200)}": ${fault}`);
}

function outcomeOf(
  { answers, missing }: Answered,
  cut: (rows: readonly PreviewRow[]) => readonly PreviewRow[],
): PreviewOutcome {
  const rows = answers
    .flatMap(([, found]) => found as readonly PreviewRow[])
    .toSorted((a, b) => a.atMs - b.atMs);
  return {
    events: cut(rows).map(({ json }) => read(json)),
    missing: missing.map(([worker]) => worker),
  };
}

/** As deep as it was written: outputs stand deeper than the payloads that they are made of. */
function read(json: string): PreviewedEvent {
  return parseJson(json, builtDepthMax + 1) as unknown as PreviewedEvent;
}
