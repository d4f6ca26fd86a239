// The tables "Resources and their fields" of the interface, as shapes that an answer can be held against:
// exactly these fields, each of this kind. Additions of ours are named where the shape is used.

import assert from 'node:assert/strict';

type Kind =
  | 'text'
  | 'anyText'
  | 'integer'
  | 'boolean'
  | 'qos'
  | 'time'
  | 'decimal'
  | 'memory'
  | 'version'
  | 'uptime'
  | 'address'
  | 'where'
  | 'shutdowns';
export type Shape = Readonly<Record<string, Kind>>;

/** What a field may hold. */
const kinds: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  text: (value: unknown) => typeof value === 'string' && value !== '',
  /** May be empty, too. */
  anyText: (value: unknown) => typeof value === 'string',
  integer: (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0,
  boolean: (value: unknown) => typeof value === 'boolean',
  qos: (value: unknown) => value === 0 || value === 1 || value === 2,
  time: isTime,
  decimal: (value: unknown) => matches(value, /^\d+\.\d\d$/),
  memory: (value: unknown) => matches(value, /^\d+\.\d\d[KMG]$/),
  version: (value: unknown) => matches(value, /^v\d+\.\d+\.\d+$/),
  uptime: (value: unknown) => matches(value, /^(\d+ minutes, )?\d+ seconds$/),
  address: (value: unknown) => matches(value, /^(\d+\.){3}\d+$|^[\da-f]*:[\da-f:]*$/),
  where: (value: unknown) => matches(value, /^(.+:)?[1-9]\d*$/),
  shutdowns: isShutdowns,
};

export function assertShape(value: unknown, shape: Shape, additions: Shape = {}): void {
  const whole = { ...shape, ...additions };
  assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value));
  assert.deepEqual(Object.keys(value).sort(), Object.keys(whole).sort());
  for (const [field, kind] of Object.entries(whole)) {
    const found: unknown = (value as Readonly<Record<string, unknown>>)[field];
    assert.ok(kinds[kind](found), `${field} is no ${kind}: ${JSON.stringify(found)}`);
  }
}

export const broker: Shape = {
  datetime: 'time',
  node_status: 'text',
  otp_release: 'text',
  sysdescr: 'text',
  uptime: 'uptime',
  version: 'version',
};

const nodeFields: Shape = {
  connections: 'integer',
  load1: 'decimal',
  load5: 'decimal',
  load15: 'decimal',
  max_fds: 'integer',
  name: 'text',
  node_status: 'text',
  otp_release: 'text',
  process_available: 'integer',
  process_used: 'integer',
  uptime: 'uptime',
  version: 'version',
};
export const node: Shape = { ...nodeFields, memory_total: 'integer', memory_used: 'integer' };
export const listedNode: Shape = {
  ...nodeFields,
  memory_total: 'memory',
  memory_used: 'memory',
  node: 'text',
};

export const connection: Shape = {
  client_id: 'text',
  username: 'anyText',
  node: 'text',
  clean_start: 'boolean',
  conn_mod: 'text',
  connected_at: 'time',
  heap_size: 'integer',
  ipaddress: 'address',
  port: 'integer',
  is_bridge: 'boolean',
  keepalive: 'integer',
  mailbox_len: 'integer',
  peercert: 'text',
  proto_name: 'text',
  proto_ver: 'integer',
  recv_cnt: 'integer',
  recv_msg: 'integer',
  recv_oct: 'integer',
  recv_pkt: 'integer',
  send_cnt: 'integer',
  send_msg: 'integer',
  send_oct: 'integer',
  send_pend: 'integer',
  send_pkt: 'integer',
  reductions: 'integer',
  zone: 'text',
};

export const session: Shape = {
  client_id: 'text',
  username: 'anyText',
  node: 'text',
  binding: 'text',
  clean_start: 'boolean',
  created_at: 'time',
  expiry_interval: 'integer',
  awaiting_rel_len: 'integer',
  inflight_len: 'integer',
  mailbox_len: 'integer',
  mqueue_len: 'integer',
  mqueue_dropped: 'integer',
  deliver_msg: 'integer',
  enqueue_msg: 'integer',
  heap_size: 'integer',
  reductions: 'integer',
  subscriptions_count: 'integer',
  max_awaiting_rel: 'integer',
  max_inflight: 'integer',
  max_mqueue: 'integer',
  max_subscriptions: 'integer',
};

export const subscription: Shape = { client_id: 'text', node: 'text', topic: 'text', qos: 'qos' };
export const route: Shape = { node: 'text', topic: 'text' };
export const plugin: Shape = {
  name: 'text',
  version: 'version',
  description: 'text',
  active: 'boolean',
};
export const listener: Shape = {
  acceptors: 'integer',
  current_conns: 'integer',
  max_conns: 'integer',
  listen_on: 'where',
  protocol: 'text',
  shutdown_count: 'shutdowns',
};
export const pastAlarm: Shape = { clear_at: 'time', desc: 'text', id: 'text' };
export const banned: Shape = {
  who: 'text',
  as: 'text',
  reason: 'text',
  desc: 'text',
  until: 'integer',
};

export const metricKeys: readonly string[] = [
  ...under('bytes', 'received', 'sent'),
  ...under('packets', 'received', 'sent', 'connect', 'connack', 'auth'),
  ...under('packets', 'subscribe', 'suback', 'unsubscribe', 'unsuback', 'pingreq', 'pingresp'),
  ...under('packets/publish', 'received', 'sent'),
  ...under('packets/disconnect', 'received', 'sent'),
  ...['puback', 'pubrec', 'pubrel', 'pubcomp'].flatMap((type) =>
    under(`packets/${type}`, 'received', 'sent', 'missed'),
  ),
  ...under('messages', 'received', 'sent', 'expired', 'retained', 'dropped', 'forward'),
  ...['qos0', 'qos1', 'qos2'].flatMap((qos) => under(`messages/${qos}`, 'received', 'sent')),
  ...under('messages/qos2', 'expired', 'dropped'),
];
/** Not of the interface. */
export const ownMetricKeys: readonly string[] = under('overload', 'episodes', 'paused', 'refused');

export const statKeys: readonly string[] = [
  'connections',
  'sessions',
  'sessions/persistent',
  'subscriptions',
  'subscriptions/shared',
  'subscribers',
  'topics',
  'routes',
  'retained',
].flatMap((gauge) => under(gauge, 'count', 'max'));

function under(branch: string, ...leaves: readonly string[]): string[] {
  return leaves.map((leaf) => `${branch}/${leaf}`);
}

function matches(value: unknown, pattern: RegExp): boolean {
  return typeof value === 'string' && pattern.test(value);
}

/** Local time of this machine, and of these minutes. */
function isTime(value: unknown): boolean {
  if (!matches(value, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)) return false;
  return Math.abs(Date.parse(String(value).replace(' ', 'T')) - Date.now()) < 10 * 60_000;
}

function isShutdowns(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  const counts = Object.entries(value as object);
  return counts.length > 0 && counts.every(([why, count]) => /^\w+$/.test(why) && count > 0);
}
