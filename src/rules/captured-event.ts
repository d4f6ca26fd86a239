// An event that is kept after it has happened, to run statements on it later: all its columns, copied. Law:
// nothing of the broker's own memory is kept, and nothing that is larger than the limit.

import { jsonOrMissing } from './eval/json.ts';
import {
  isBytes,
  isList,
  ownKey,
  setKey,
  type Value,
  type ValueMap,
  type WritableMap,
} from './eval/value.ts';
import type { EventRecord } from './event-record.ts';
import { type EventName, eventNamed, type TableRecord } from './events.ts';
import { Happening } from './happening.ts';

export interface CapturedEvent {
  readonly event: EventName;
  readonly topic: string | undefined;
  readonly record: CapturedRecord;
  /** Nearly. */
  readonly bytes: number;
}

/** Of one event. */
export const capturedBytesMax: number = 64 * 1024;

/** Undefined: it is too large. */
export function capture(
  event: EventName,
  topic: string | undefined,
  { happening }: TableRecord,
): CapturedEvent | undefined {
  const budget = { bytes: capturedBytesMax };
  const columns: WritableMap = {};
  for (const { name, read } of eventNamed(event)?.columns ?? []) {
    const value = read(happening);
    if (value !== undefined) columns[name] = copied(value, budget);
    if (budget.bytes < 0) return undefined;
  }
  const { nodeName, atMs, detail } = happening;
  const after = new Happening(nodeName, atMs, undefined, undefined, detail);
  const record = new CapturedRecord(event, columns, after);
  return { event, topic, record, bytes: capturedBytesMax - budget.bytes };
}

/** What a value weighs besides its own bytes. */
const valueBytes = 16;

/** Bytes that belong to a packet are overwritten by the next one. */
function copied(value: Value, budget: { bytes: number }): Value {
  budget.bytes -= valueBytes;
  if (budget.bytes < 0) return undefined;
  if (typeof value === 'string') budget.bytes -= 2 * value.length;
  if (typeof value !== 'object' || value === null) return value;
  if (isBytes(value)) {
    budget.bytes -= value.length;
    return budget.bytes < 0 ? undefined : Buffer.from(value);
  }
  if (isList(value)) return value.map((item) => copied(item, budget));
  const copy: WritableMap = {};
  for (const [key, item] of Object.entries(value)) setKey(copy, key, copied(item, budget));
  return copy;
}

export class CapturedRecord implements EventRecord {
  readonly event: EventName;
  /** Without message and client: what FROM may still ask for is in its detail. */
  readonly happening: Happening;
  readonly #columns: ValueMap;
  #json: { readonly value: Value } | undefined;

  constructor(event: EventName, columns: ValueMap, happening: Happening) {
    this.event = event;
    this.happening = happening;
    this.#columns = columns;
  }

  get(column: string): Value {
    return ownKey(this.#columns, column);
  }

  columns(): WritableMap {
    const row: WritableMap = {};
    for (const { name } of eventNamed(this.event)?.shown ?? []) {
      const value = this.get(name);
      if (value !== undefined) row[name] = value;
    }
    return row;
  }

  /** Read once, as that of an event that happens: elements of FOREACH ask for it one by one. */
  json(): Value {
    const payload = this.get('payload');
    this.#json ??= { value: typeof payload === 'string' ? jsonOrMissing(payload) : undefined };
    return this.#json.value;
  }
}
