// Functions that look at the event itself. The columns they read are those that events have here; where an
// event has none of them they give a missing value.

import { matches } from '#topics/match';
import type { EventRecord } from '../event-record.ts';
import { readIndex, readKeys } from './path-read.ts';
import { type SqlFunction, sqlFunction } from './sql-function.ts';
import {
  isMap,
  isMissing,
  ownKey,
  setKey,
  type Value,
  type ValueList,
  type WritableMap,
} from './value.ts';

export const eventFunctions: readonly SqlFunction[] = [
  column('msgid', 'The id of the message.', ['id'], '"5898704A55D6AF4430000083D0002"', {
    'strlen(msgid())': '29',
  }),
  column('qos', 'The QoS of the message or of the first filter.', ['qos'], '1', {
    'qos() + 1': '2',
  }),
  column('clientid', 'The client id.', ['client_id', 'clientid'], '"c_broker"', {
    "concat('to/', clientid())": '"to/c_broker"',
  }),
  column('username', 'The user name.', ['username'], '"u_broker"', {
    'upper(username())': '"U_BROKER"',
  }),
  column('peername', 'Address and port of the client.', ['peername'], '"127.0.0.1:63412"', {
    "nth(2, split(peername(), ':'))": '"63412"',
  }),
  column('timestamp', 'When it happened, in milliseconds.', ['timestamp'], '1700000000000', {
    'timestamp() div 1000': '1700000000',
  }),
  sqlFunction('Event', 'clientip', {
    params: {},
    text: 'The address of the client, without the port.',
    examples: { 'clientip()': '"127.0.0.1"', "split(clientip(), '.')": '["127","0","0","1"]' },
    call: (_, { event }) => hostOf(event),
  }),
  sqlFunction('Event', 'peerhost', {
    params: {},
    text: 'The same as clientip().',
    examples: { 'peerhost()': '"127.0.0.1"', 'peerhost() = clientip()': 'true' },
    call: (_, { event }) => hostOf(event),
  }),
  sqlFunction('Event', 'topic', {
    params: { level: 'count?' },
    text: 'The topic, or one level of it, counted from 1, or from the end where negative.',
    examples: { 'topic()': '"t/a"', 'topic(2)': '"a"', 'topic(-2)': '"t"' },
    call: ({ level }, { event }) => {
      const topic = event.get('topic') as Value;
      if (level === undefined || typeof topic !== 'string') return topic;
      return readIndex(topic.split('/'), level);
    },
  }),
  sqlFunction('Event', 'payload', {
    params: { path: 'text?' },
    text: 'The payload as it came, or what its JSON has at a dotted path.',
    examples: { 'payload()': '"{\\"msg\\": \\"hello\\"}"', "payload('msg')": '"hello"' },
    call: ({ path }, { event }) =>
      path === undefined
        ? (event.get('payload') as Value)
        : readKeys(event.json() as Value, path.split('.')),
  }),
  sqlFunction('Event', 'flags', {
    params: {},
    text: 'The flags of the message as an object of booleans.',
    examples: { 'flags()': '{"retain":false}', 'is_map(flags())': 'true' },
    call: (_, { event }) => flagsOf(event),
  }),
  sqlFunction('Event', 'flag', {
    params: { name: 'text' },
    text: 'One of the flags of the message.',
    examples: { "flag('retain')": 'false', "NOT flag('retain')": 'true' },
    call: ({ name }, { event }) => ownKey(flagsOf(event), name),
  }),
  sqlFunction('Event', 'headers', {
    params: {},
    text: 'Who sent the message: user name and address, as an object.',
    examples: {
      'headers()': '{"username":"u_broker","peername":"127.0.0.1:63412"}',
      "map_get('username', headers())": '"u_broker"',
    },
    call: (_, { event }) => headersOf(event),
  }),
  sqlFunction('Event', 'header', {
    params: { name: 'text' },
    text: 'One of headers().',
    examples: { "header('username')": '"u_broker"', "header('peername')": '"127.0.0.1:63412"' },
    call: ({ name }, { event }) => ownKey(headersOf(event), name),
  }),
  sqlFunction('Event', 'contains_topic', {
    params: { filters: 'list', filter: 'text', qos: 'count?' },
    text: 'Whether a filter is in the list of those subscribed to; and with this QoS.',
    examples: {
      "contains_topic(topic_filters, 't/a')": 'true',
      "contains_topic(topic_filters, 't/a', 1)": 'false',
    },
    call: ({ filters, filter, qos }) =>
      contains(
        filters,
        qos,
        (topic) => topic === filter,
        (found) => found.some(Boolean),
      ),
  }),
  sqlFunction('Event', 'contains_topic_match', {
    params: { filters: 'list', filter: 'text', qos: 'count?' },
    text: 'Whether a topic in the list of those subscribed to matches a filter; the first that does has this QoS.',
    examples: {
      "contains_topic_match(topic_filters, 't/+')": 'true',
      "contains_topic_match(topic_filters, 't/+', 1)": 'false',
    },
    call: ({ filters, filter, qos }) =>
      contains(
        filters,
        qos,
        (topic) => matches(filter, topic),
        ([first]) => first === true,
      ),
  }),
];

function column(
  name: string,
  text: string,
  columns: readonly string[],
  result: string,
  another: Readonly<Record<string, string>>,
): SqlFunction {
  return sqlFunction('Event', name, {
    params: {},
    text,
    examples: { [`${name}()`]: result, ...another },
    call: (_, { event }) => {
      for (const each of columns) {
        const value = event.get(each) as Value;
        if (!isMissing(value)) return value;
      }
      return undefined;
    },
  });
}

function hostOf(event: EventRecord): Value {
  const peer = event.get('peername') ?? event.get('peerhost');
  if (typeof peer !== 'string') return undefined;
  const found = /^\[?(.*?)\]?:[0-9]+$/.exec(peer);
  return found === null ? peer : found[1];
}

function flagsOf(event: EventRecord): WritableMap {
  const flags: WritableMap = {};
  for (const name of ['retain', 'dup'] as const) {
    const value = event.get(name);
    if (value !== undefined) flags[name] = value === true || value === 1;
  }
  return flags;
}

function headersOf(event: EventRecord): WritableMap {
  const headers: WritableMap = {};
  for (const name of ['username', 'peername']) {
    const value = event.get(name) as Value;
    if (!isMissing(value)) setKey(headers, name, value);
  }
  return headers;
}

/** Entries are `{topic, qos}`, or texts where nobody asked for a QoS. `decide` is told of those that fit. */
function contains(
  entries: ValueList,
  qos: number | undefined,
  fits: (topic: string) => boolean,
  decide: (hasQos: readonly boolean[]) => boolean,
): boolean {
  const found: boolean[] = [];
  for (const entry of entries) {
    const topic = isMap(entry) ? ownKey(entry, 'topic') : entry;
    if (typeof topic !== 'string' || !fits(topic)) continue;
    found.push(qos === undefined || (isMap(entry) && ownKey(entry, 'qos') === qos));
  }
  return decide(found);
}
