// Trying a statement out on a sample of its event, with columns as somebody wants them. Nothing is stored,
// and no action runs.

import { matches } from '#topics/match';
import { jsonOrMissing } from './eval/json.ts';
import { isList, isMap, type Value, type WritableMap } from './eval/value.ts';
import { type EventDefinition, eventNamed } from './events.ts';
import type { EventRecord } from './event-record.ts';
import { type PreparedStatement, prepareStatement } from './prepare-statement.ts';
import { RuleFault } from './rule-fault.ts';
import type { SqlTest, TestOutput } from './rule-service.ts';

export interface TestPlace {
  readonly nodeName: string;
  readonly nowMs: number;
}

/** Throws `no_match` with the reason. */
export function testSql(
  { rawsql, ctx = {}, for: forEvents }: SqlTest,
  place: TestPlace,
): TestOutput {
  const prepared = prepareStatement(rawsql, forEvents);
  const record = sampleRecord(prepared, ctx, place);
  const topic = record.get('topic');
  const { filters, isOutside } = topicsOf(prepared, topic);
  if (isOutside) {
    throw noMatch(`topic "${String(topic)}" matches none of FROM: ${filters.join(', ')}`);
  }
  const results = prepared.compiled.run(record);
  if (results === undefined) throw noMatch(prepared.compiled.explain(record).misses[0]?.reason);
  if (prepared.statement.kind === 'foreach') return results;
  return results[0] as Readonly<Record<string, unknown>>;
}

function noMatch(reason: string | undefined): RuleFault {
  return new RuleFault(
    'no_match',
    reason === undefined ? 'SQL Not Match' : `SQL Not Match: ${reason}`,
  );
}

/** Only where FROM has nothing but topics. */
function topicsOf(
  { sources }: PreparedStatement,
  topic: unknown,
): { readonly filters: readonly string[]; readonly isOutside: boolean } {
  const filters = sources.map(({ filter }) => filter).filter((filter) => filter !== undefined);
  const isTopics = filters.length === sources.length;
  const isOutside = isTopics && !filters.some((filter) => matches(filter, String(topic)));
  return { filters, isOutside };
}

class SampleRecord implements EventRecord {
  readonly event: string;
  readonly #columns: WritableMap;
  #json: { readonly value: Value } | undefined;

  constructor(event: string, columns: WritableMap) {
    this.event = event;
    this.#columns = columns;
  }

  get(column: string): Value {
    return Object.hasOwn(this.#columns, column) ? this.#columns[column] : undefined;
  }

  columns(): Record<string, unknown> {
    return { ...this.#columns };
  }

  json(): Value {
    const { payload } = this.#columns;
    this.#json ??= { value: typeof payload === 'string' ? jsonOrMissing(payload) : undefined };
    return this.#json.value;
  }
}

function sampleRecord(
  { events, sources }: PreparedStatement,
  ctx: Readonly<Record<string, unknown>>,
  place: TestPlace,
): EventRecord {
  const definition = eventNamed(events[0] as string) as EventDefinition;
  const sample = sampleColumns(place, sources[0]?.filter);
  const columns: WritableMap = {};
  for (const { name, kind } of definition.columns) {
    if (Object.hasOwn(ctx, name)) columns[name] = givenColumn(name, ctx[name]);
    else if (kind !== 'quiet' && Object.hasOwn(sample, name)) columns[name] = sample[name];
  }
  columns['event'] = definition.event;
  const filters = columns['topic_filters'];
  if (filters !== undefined) takeFirst(columns, filters, ctx);
  return new SampleRecord(definition.event, columns);
}

/** `topic` and `qos` are those of the first filter, unless somebody says otherwise. */
function takeFirst(
  columns: WritableMap,
  filters: Value,
  ctx: Readonly<Record<string, unknown>>,
): void {
  const first = isList(filters) ? filters[0] : undefined;
  if (first === undefined || !isMap(first)) return;
  if (!Object.hasOwn(ctx, 'topic')) columns['topic'] = first['topic'];
  if (!Object.hasOwn(ctx, 'qos')) columns['qos'] = first['qos'];
}

function givenColumn(name: string, value: unknown): Value {
  if (name === 'payload' && typeof value === 'object' && value !== null) {
    return JSON.stringify(value);
  }
  if (name !== 'topic_filters') return value as Value;
  const list = typeof value === 'string' ? jsonOrMissing(value) : (value as Value);
  if (!isList(list)) {
    throw new RuleFault(
      'bad_rule',
      'Cannot use "topic_filters": expected a list, or the JSON of one',
    );
  }
  return list.map((one) => (typeof one === 'string' ? { topic: one, qos: 0, sub_opts: {} } : one));
}

/** A topic that the filter matches. */
function topicIn(filter: string | undefined): string {
  if (filter === undefined) return 't1';
  return filter.replaceAll('+', 't1').replace(/(^|\/)#$/, '$1t1');
}

function sampleColumns({ nodeName, nowMs }: TestPlace, filter: string | undefined): WritableMap {
  return {
    ...{ client_id: 'c_broker', username: 'u_broker', topic: topicIn(filter), qos: 1 },
    ...{ payload: '{"id": 1, "name": "ha"}', id: '5898704A55D6AF4430000083D0002', retain: 0 },
    ...{ peername: '127.0.0.1:50891', sockname: '127.0.0.1:1883', zone: 'external' },
    ...{ keepalive: 60, proto_ver: 4, clean_start: true, is_bridge: false, anonymous: false },
    ...{ auth_result: 'success', connack: 0, reason_code: 'normal', mountpoint: '' },
    ...{ reason: 'no_subscribers', nl: 0, rap: 0, rh: 0, rc: 1 },
    sub_opts: { qos: 1, nl: 0, rap: 0, rh: 0, rc: 1, first: true },
    topic_filters: [{ topic: 't1', qos: 1, sub_opts: { qos: 1, nl: 0, rap: 0, rh: 0 } }],
    ...{ timestamp: nowMs, connected_at: nowMs, node: nodeName },
  };
}
