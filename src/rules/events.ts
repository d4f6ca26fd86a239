// The events that rules can be about: one table, from which come the columns that SQL may name, what
// `SELECT *` gives, what management shows, and how a record is made of what happened.

import { type Column, columnsOf } from './event-columns.ts';
import type { EventRecord } from './event-record.ts';
import type { Value, WritableMap } from './eval/value.ts';
import type { Happening } from './happening.ts';
import type { EventView, Words } from './rule-service.ts';

export type EventName =
  | `message.${'publish' | 'deliver' | 'acked' | 'dropped'}`
  | `client.${'connected' | 'disconnected' | 'subscribe' | 'unsubscribe' | 'connack'}`
  | `session.${'subscribed' | 'unsubscribed'}`;

export interface EventDefinition {
  readonly event: EventName;
  readonly title: Words;
  readonly description: Words;
  readonly testColumns: Readonly<Record<string, unknown>>;
  readonly sqlExample: string;
  readonly columns: readonly Column[];
  /** By name, all that SQL may name. */
  readonly byName: ReadonlyMap<string, Column>;
  /** Those of `*`. */
  readonly shown: readonly Column[];
}

const someone = { client_id: 'c_broker', username: 'u_broker' };
const aMessage = { ...someone, topic: 't/a', qos: 1, payload: '{"msg": "hello"}' };

const messageSql = (event: string): string =>
  `SELECT payload.msg as msg FROM "${event}" WHERE topic =~ 't/#' and msg = 'hello'`;
const allSql = (event: string): string => `SELECT * FROM "${event}"`;
const topicSql = (event: string): string => `SELECT * FROM "${event}" WHERE topic =~ 't/#'`;

const words = (en: string, zh: string): Words => ({ en, zh });

function define(
  event: EventName,
  title: Words,
  description: Words,
  testColumns: Readonly<Record<string, unknown>>,
  sql: (event: string) => string,
): EventDefinition {
  const own: Column = {
    name: 'event',
    type: 'string',
    text: `"${event}"`,
    kind: 'listed',
    read: () => event,
  };
  const columns = [own, ...(columnsOf[event] as readonly Column[])];
  return {
    ...{ event, title, description },
    testColumns,
    sqlExample: sql(event),
    columns,
    byName: new Map(columns.map((column) => [column.name, column])),
    shown: columns.filter(({ kind }) => kind !== 'quiet'),
  };
}

/** In the order of the interface; the last one is ours. */
export const events: readonly EventDefinition[] = [
  define(
    'message.publish',
    words('Message publish', '消息发布'),
    words('A message is accepted, before it is sent to anybody', '消息被接收，尚未投递'),
    aMessage,
    messageSql,
  ),
  define(
    'message.deliver',
    words('Message deliver', '消息投递'),
    words('A message is written to a subscriber', '消息发送给订阅者'),
    aMessage,
    messageSql,
  ),
  define(
    'message.acked',
    words('Message acked', '消息应答'),
    words('A subscriber has acknowledged a message', '订阅者确认收到消息'),
    aMessage,
    messageSql,
  ),
  define(
    'message.dropped',
    words('Message dropped', '消息丢弃'),
    words('A message is dropped, for all or for one subscriber', '消息被丢弃'),
    aMessage,
    messageSql,
  ),
  define(
    'client.connected',
    words('Client connected', '连接建立'),
    words(
      'A client is answered, also one that is refused: see connack',
      '客户端连接得到应答，包括被拒绝的连接',
    ),
    { ...someone, auth_result: 'success', peername: '127.0.0.1:63412' },
    allSql,
  ),
  define(
    'client.disconnected',
    words('Client disconnected', '连接断开'),
    words('A connection has ended', '客户端连接断开'),
    { ...someone, reason_code: 'normal' },
    allSql,
  ),
  define(
    'client.subscribe',
    words('Client subscribe', '订阅'),
    words('A client wants to subscribe, and may', '客户端请求订阅'),
    {
      ...someone,
      topic_filters: [
        { topic: 't/a', qos: 0 },
        { topic: 't/b', qos: 1 },
      ],
    },
    topicSql,
  ),
  define(
    'client.unsubscribe',
    words('Client unsubscribe', '取消订阅'),
    words('A client wants to unsubscribe', '客户端请求取消订阅'),
    { ...someone, topic_filters: ['t/a', 't/b'] },
    topicSql,
  ),
  define(
    'session.subscribed',
    words('Session subscribed', '会话订阅完成'),
    words('A subscription has been made', '会话完成订阅'),
    { ...someone, topic: 't/a', qos: 1 },
    topicSql,
  ),
  define(
    'session.unsubscribed',
    words('Session unsubscribed', '会话取消订阅完成'),
    words('A subscription has been removed', '会话完成取消订阅'),
    { ...someone, topic: 't/a' },
    topicSql,
  ),
  define(
    'client.connack',
    words('Client connack', '连接应答'),
    words('A CONNACK was sent, accepting or refusing', '已发送连接应答'),
    { ...someone, reason_code: 'success', connack: 0 },
    allSql,
  ),
];

const byEvent: ReadonlyMap<string, EventDefinition> = new Map(
  events.map((definition) => [definition.event, definition]),
);

export function eventNamed(name: string): EventDefinition | undefined {
  return byEvent.get(name);
}

export function eventView(definition: EventDefinition): EventView {
  const { event, title, description, testColumns, sqlExample, columns } = definition;
  return {
    ...{ event, title, description, test_columns: testColumns, sql_example: sqlExample },
    columns: columns.filter(({ kind }) => kind === 'listed').map(({ name }) => name),
  };
}

/** What happened, as one event. */
export class TableRecord implements EventRecord {
  readonly event: EventName;
  readonly happening: Happening;
  readonly #definition: EventDefinition;

  constructor(definition: EventDefinition, happening: Happening) {
    this.event = definition.event;
    this.#definition = definition;
    this.happening = happening;
  }

  get(column: string): Value {
    return this.#definition.byName.get(column)?.read(this.happening);
  }

  columns(): WritableMap {
    const row: WritableMap = {};
    for (const { name, read } of this.#definition.shown) {
      const value = read(this.happening);
      if (value !== undefined) row[name] = value;
    }
    return row;
  }

  json(): Value {
    return this.happening.json;
  }

  /** How many rules have published the message, one after the other. */
  get hops(): number {
    return this.happening.hops;
  }
}
