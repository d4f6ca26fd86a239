// The columns of events: name, type, what it is, and how it is read. Each is said once; events.ts puts
// them together. Law: what a column reads has no side effects and changes nothing.

import { reasonWord } from '#wire/reason-codes';
import type { MessageView } from '#hooks/table';
import type { Value, WritableMap } from './eval/value.ts';
import type { FilterWish, Happening, HappeningDetail } from './happening.ts';

export type ColumnType = 'string' | 'integer' | 'boolean' | 'object' | 'list';

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly text: string;
  /** listed: part of the interface; also: in `*` as well; quiet: only for who names it. */
  readonly kind: 'listed' | 'also' | 'quiet';
  readonly read: (happening: Happening) => Value;
}

function listed(
  name: string,
  type: ColumnType,
  text: string,
  read: (happening: Happening) => Value,
): Column {
  return { name, type, text, kind: 'listed', read };
}

/** In `*` besides those that the interface lists. */
function also(...column: Parameters<typeof listed>): Column {
  return { ...listed(...column), kind: 'also' };
}

/** Another name for something: not in `*`. */
function quiet(...column: Parameters<typeof listed>): Column {
  return { ...listed(...column), kind: 'quiet' };
}

/** `ip:port`, without brackets; undefined for somebody inside of the broker. */
function peerOf(address: string | undefined, port: number | undefined): Value {
  return address === undefined || address === '' ? undefined : `${address}:${port ?? 0}`;
}

const bit = (is: boolean): 0 | 1 => (is ? 1 : 0);

export const nodeColumn: Column = listed('node', 'string', 'The node', ({ nodeName }) => nodeName);

const publisherNames: readonly Column[] = [
  listed('client_id', 'string', 'The publisher', ({ message }) => message?.clientId),
  listed('username', 'string', 'Of the publisher', ({ message }) => message?.username),
  quiet('clientid', 'string', 'client_id', ({ message }) => message?.clientId),
];

const publisherPeer: readonly Column[] = [
  listed('peername', 'string', 'Address and port of the publisher', ({ message }) =>
    peerOf(message?.address, message?.port),
  ),
  quiet('peerhost', 'string', 'Address of the publisher', ({ message }) => message?.address),
];

const clientNames: readonly Column[] = [
  listed('client_id', 'string', 'The client', ({ client }) => client?.clientId),
  listed('username', 'string', 'Of the client', ({ client }) => client?.username),
  quiet('clientid', 'string', 'client_id', ({ client }) => client?.clientId),
];

const fromNames: readonly Column[] = [
  quiet('from_clientid', 'string', 'The publisher', ({ message }) => message?.clientId),
  quiet('from_username', 'string', 'Of the publisher', ({ message }) => message?.username),
];

const messageColumns: readonly Column[] = [
  listed('id', 'string', 'Of the message', ({ message }) => idOf(message)),
  listed('payload', 'string', 'Text; bytes where it is no UTF-8', ({ payload }) => payload),
  listed('qos', 'integer', '0, 1 or 2', ({ message, detail }) => detail.qos ?? message?.qos),
  listed(
    'timestamp',
    'integer',
    'When it was published, in ms',
    ({ message }) => message?.timestampMs,
  ),
  listed('topic', 'string', 'Where it was published', ({ message }) => message?.topic),
  nodeColumn,
  also(
    'retain',
    'integer',
    '1: it is to be retained',
    ({ message }) => message && bit(message.retain),
  ),
  quiet(
    'flags',
    'object',
    'retain as a boolean',
    ({ message }) => message && { retain: message.retain },
  ),
  quiet('publish_received_at', 'integer', 'timestamp', ({ message }) => message?.timestampMs),
  quiet('pub_props', 'object', 'Properties of MQTT 5', ({ message }) => propertiesOf(message)),
];

/** Of a client that is connected, or tries to be. */
const connectionColumns: readonly Column[] = [
  listed('auth_result', 'string', 'success, or why the client was refused', ({ detail }) =>
    reasonWord(detail.reasonCode ?? 0),
  ),
  listed('mountpoint', 'string', 'What its topics begin with', ({ client }) => client?.mountpoint),
  listed('peername', 'string', 'Address and port of the client', ({ client }) =>
    peerOf(client?.address, client?.port),
  ),
  quiet('peerhost', 'string', 'Address of the client', ({ client }) => client?.address),
  also('anonymous', 'boolean', 'Nobody vouched for it', ({ client }) => client?.isAnonymous),
  also('sockname', 'string', 'Address and port that it connected to', ({ client }) =>
    peerOf(client?.localAddress, client?.localPort),
  ),
  also('zone', 'string', 'Of the listener', ({ client }) => client?.zone),
  also('cn', 'string', 'Common name of its certificate', ({ client }) => client?.commonName),
  also('dn', 'string', 'Name in its certificate', ({ client }) => client?.distinguishedName),
];

const momentColumns: readonly Column[] = [
  listed('timestamp', 'integer', 'When it happened, in ms', ({ atMs }) => atMs),
  nodeColumn,
];

const connectColumns: readonly Column[] = [
  listed('clean_start', 'boolean', 'As CONNECT says', ({ client }) => client?.cleanStart),
  listed('connected_at', 'integer', 'When, in ms', ({ client }) => client?.connectedAtMs),
  listed('is_bridge', 'boolean', 'It says that it is a bridge', ({ client }) => client?.isBridge),
  listed('keepalive', 'integer', 'In seconds', ({ client }) => client?.keepaliveSeconds),
  listed('proto_ver', 'integer', '3, 4 or 5', ({ client }) => client?.version),
  quiet('proto_name', 'string', 'MQTT or MQIsdp', ({ client }) => client?.protocolName),
];

const wishColumns: readonly Column[] = [
  listed('topic_filters', 'list', '{topic, qos, sub_opts} each', ({ detail }) =>
    detail.filters?.map(wishOf),
  ),
  listed('topic', 'string', 'The first filter', ({ detail }) => detail.filters?.[0]?.filter),
  listed('qos', 'integer', 'Of the first filter', ({ detail }) => detail.filters?.[0]?.qos ?? 0),
];

export const columnsOf: Readonly<Record<string, readonly Column[]>> = {
  'message.publish': [...publisherNames, ...messageColumns, ...publisherPeer],
  'message.deliver': [...clientNames, ...messageColumns, ...connectionColumns, ...fromNames],
  'message.acked': [...clientNames, ...messageColumns, ...publisherPeer, ...fromNames],
  'message.dropped': [
    ...publisherNames,
    ...messageColumns,
    ...publisherPeer,
    listed('reason', 'string', 'Why: no_subscribers, queue_full …', ({ detail }) => detail.reason),
    also('to_client_id', 'string', 'Whom it was for, if one', ({ detail }) => detail.receiver),
  ],
  'client.connected': [
    ...clientNames,
    ...connectionColumns,
    ...connectColumns,
    listed('connack', 'integer', 'Reason code, 0: accepted', ({ detail }) => detail.reasonCode),
    ...momentColumns,
  ],
  'client.disconnected': [
    ...clientNames,
    ...connectionColumns,
    listed(
      'reason_code',
      'string',
      'normal, kicked, keepalive_timeout …',
      ({ detail }) => detail.reason,
    ),
    quiet('reason', 'string', 'reason_code', ({ detail }) => detail.reason),
    quiet('disconnected_at', 'integer', 'timestamp', ({ atMs }) => atMs),
    ...momentColumns,
  ],
  'client.subscribe': [...clientNames, ...connectionColumns, ...wishColumns, ...momentColumns],
  'client.unsubscribe': [...clientNames, ...connectionColumns, ...wishColumns, ...momentColumns],
  'session.subscribed': [
    ...clientNames,
    listed('topic', 'string', 'The filter', ({ detail }) => detail.subscription?.filter),
    ...subscriptionColumns(),
    ...momentColumns,
  ],
  'session.unsubscribed': [
    ...clientNames,
    listed('topic', 'string', 'The filter', ({ detail }) => detail.filter),
    // What it was is not known any more; a statement may name it all the same.
    ...subscriptionColumns().map((column) => ({ ...column, kind: 'quiet' as const })),
    ...momentColumns,
  ],
  'client.connack': [
    ...clientNames,
    ...connectionColumns,
    ...connectColumns,
    listed('reason_code', 'string', 'success, or why it was refused', ({ detail }) =>
      reasonWord(detail.reasonCode ?? 0),
    ),
    listed('connack', 'integer', 'Reason code, 0: accepted', ({ detail }) => detail.reasonCode),
    ...momentColumns,
  ],
};

function subscriptionColumns(): readonly Column[] {
  const of = (name: string, text: string): Column =>
    listed(name, 'integer', text, ({ detail }) => grantedOf(detail)?.[name]);
  return [
    of('qos', 'Of the subscription'),
    of('nl', '1: no local'),
    of('rap', '1: retain as published'),
    of('rh', 'Retain handling'),
    of('rc', 'Reason code: the QoS that was granted'),
    also('sub_opts', 'object', '{qos, nl, rap, rh, rc, first}', ({ detail }) => grantedOf(detail)),
  ];
}

function grantedOf({ subscription }: HappeningDetail): WritableMap | undefined {
  if (subscription === undefined) return undefined;
  const options = optionsOf(subscription);
  return { ...options, rc: options['qos'], first: subscription.isNew };
}

function optionsOf(options: Partial<FilterWish>): WritableMap {
  const { qos = 0, noLocal = false, retainAsPublished = false, retainHandling = 0 } = options;
  return { qos, nl: bit(noLocal), rap: bit(retainAsPublished), rh: retainHandling };
}

/** Of UNSUBSCRIBE only the filter is known. */
function wishOf(wish: FilterWish): Value {
  const { filter, qos } = wish;
  const options = qos === undefined ? {} : optionsOf(wish);
  return { topic: filter, qos: qos ?? 0, sub_opts: options };
}

/** A number without zeros in front, as the interface has it. */
function idOf(message: MessageView | undefined): Value {
  return message?.id.replace(/^0+(?=.)/, '').toUpperCase();
}

/** By the names that later versions of the interface give them. */
function propertiesOf(message: MessageView | undefined): Value {
  if (message === undefined) return undefined;
  const { properties = {} } = message;
  const named: WritableMap = {
    'Payload-Format-Indicator': properties.payloadFormat,
    'Message-Expiry-Interval': properties.messageExpirySeconds,
    'Content-Type': properties.contentType,
    'Response-Topic': properties.responseTopic,
    'Correlation-Data': properties.correlationData,
    'User-Property': properties.userProperties && Object.fromEntries(properties.userProperties),
  };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
}
