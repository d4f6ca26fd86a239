// Events for tests of statements, without a broker: columns as given, the payload's JSON read on demand.

import type { EventRecord } from '../event-record.ts';
import { parseSql } from '../sql/parser.ts';
import { type CompiledStatement, compileStatement, type Match } from './compile.ts';
import { jsonOrMissing } from './json.ts';

export const nowMs = 1_700_000_000_123;

/** The values that examples of functions show. */
export const sampleColumns: Readonly<Record<string, unknown>> = {
  id: '5898704A55D6AF4430000083D0002',
  client_id: 'c_broker',
  username: 'u_broker',
  event: 'message.publish',
  payload: '{"msg": "hello"}',
  peername: '127.0.0.1:63412',
  qos: 1,
  timestamp: 1_700_000_000_000,
  topic: 't/a',
  node: 'broker@127.0.0.1',
  retain: 0,
  topic_filters: [
    { topic: 't/a', qos: 0 },
    { topic: 't/b', qos: 1 },
  ],
};

export interface CountedEvent extends EventRecord {
  /** How often somebody asked for the payload as JSON. */
  readonly jsonReads: number;
}

export function eventOf(columns: Readonly<Record<string, unknown>> = {}): CountedEvent {
  const all = new Map(Object.entries({ ...sampleColumns, ...columns }));
  let jsonReads = 0;
  let json: { readonly value: unknown } | undefined;
  return {
    event: 'message.publish',
    get jsonReads() {
      return jsonReads;
    },
    get: (column) => all.get(column),
    columns: () => Object.fromEntries(all),
    json: () => {
      jsonReads += 1;
      json ??= { value: jsonOrMissing(String(all.get('payload'))) };
      return json.value;
    },
  };
}

export function compiled(sql: string): CompiledStatement {
  const columns = new Set(Object.keys(sampleColumns));
  return compileStatement(parseSql(sql), { columns, nowMs: () => nowMs });
}

export function run(
  sql: string,
  columns: Readonly<Record<string, unknown>> = {},
): readonly Match[] | undefined {
  return compiled(sql).run(eventOf(columns));
}

/** What an expression gives, as `{ value }`; a text: why it raised. */
export function valueOf(
  expression: string,
  columns: Readonly<Record<string, unknown>> = {},
): { readonly value: unknown } | string {
  const { matches, misses } = compiled(`SELECT ${expression} AS x FROM "message.publish"`).explain(
    eventOf(columns),
  );
  return matches === undefined ? (misses[0]?.reason ?? '') : { value: matches[0]?.['x'] };
}
