// What a statement makes of an event, in words for whoever tries it out: what went in, what came out, or why
// nothing did. Law: what is shown goes from thread to thread as JSON, so that numbers keep their digits.

import type { CapturedEvent } from './captured-event.ts';
import { toJson } from './eval/json.ts';
import { RuleRaise } from './eval/raise.ts';
import type { Value } from './eval/value.ts';
import type { EventName } from './events.ts';
import { type PreparedStatement, prepareStatement } from './prepare-statement.ts';

/** A statement that somebody tries out: plain data. */
export interface PreviewOrder {
  readonly rawsql: string;
  readonly for: string | readonly string[] | undefined;
  /** Events that are shown. */
  readonly count: number;
}

/** An event that FROM means. */
export interface PreviewRow {
  readonly atMs: number;
  /** `{event, timestamp, input, matched, output, reasons}` */
  readonly json: string;
}

export class Preview {
  readonly #prepared: PreparedStatement;

  constructor({ rawsql, for: forEvents }: Pick<PreviewOrder, 'rawsql' | 'for'>) {
    this.#prepared = prepareStatement(rawsql, forEvents);
  }

  get events(): readonly EventName[] {
    return this.#prepared.events;
  }

  /** As FROM says, whatever WHERE wants: why something does not match is what people want to know. */
  get interests(): ReadonlyMap<EventName, readonly string[] | undefined> {
    const byEvent = Map.groupBy(this.#prepared.sources, ({ event }) => event);
    return new Map(
      Array.from(byEvent, ([event, sources]) => {
        const filters = sources.map(({ filter }) => filter);
        const isAll = filters.includes(undefined);
        return [event, isAll ? undefined : [...new Set(filters as string[])]] as const;
      }),
    );
  }

  /** Undefined: FROM means other events. */
  rowOf({ event, topic, record }: CapturedEvent): PreviewRow | undefined {
    const isMeant =
      this.#prepared.events.includes(event) &&
      this.#prepared.isFrom(event, topic, record.happening);
    if (!isMeant) return undefined;
    const { atMs } = record.happening;
    const head = { event, timestamp: atMs, input: record.columns() };
    const { matches, misses } = this.#prepared.compiled.explain(record);
    const reasons = misses.map(({ clause, reason, element }) => {
      const which = element === undefined ? '' : ` of element ${element}`;
      return `${clause}${which}: ${reason}`;
    });
    const result = { matched: matches !== undefined, output: matches ?? [], reasons };
    return { atMs, json: jsonOf({ ...head, ...result }, head.event, atMs) };
  }
}

function jsonOf(row: object, event: EventName, timestamp: number): string {
  try {
    return toJson(row as Value);
  } catch (error) {
    if (!(error instanceof RuleRaise)) throw error;
    const reasons = [`Cannot show it: ${error.message}`];
    return toJson({ event, timestamp, input: {}, matched: false, output: [], reasons });
  }
}
