// Examples that a schema cannot tell, by the name of the operation, and the values that fields have in
// all of them: the sensors of one small plant. Law: test/rest/docs.test.ts runs each of them against a
// real node, so these are not invented.

import type { ExampleCall } from './operation.ts';

const filter = { topic: 'plant/+/alarm', client_id: 'sensor-1' };
const message = { topic: 'plant/1/temperature', payload: '21.5', qos: 1 };
const key = 'zone.external.max_mqueue_len';
const time = '2026-03-01 12:00:00';
const stats = { 'connections/count': 1, 'connections/max': 1 };
const app = {
  app_id: 'my-app',
  name: 'My application',
  desc: '',
  status: true,
  expired: 'undefined',
};
const plugin = {
  name: 'broker_dashboard',
  version: 'v0.1.0',
  description: 'Broker Dashboard',
  active: true,
  type: 'feature',
};
const trace = {
  name: 'sensor-1.trace',
  client_id: 'sensor-1',
  level: 'all',
  file: 'log/sensor-1.trace',
  status: 'running',
  started_at: time,
  lines: 0,
  bytes: 37,
};
const explained = {
  client: {
    client_id: 'sensor-1',
    username: 'ann',
    zone: 'external',
    mountpoint: '',
    ipaddress: '192.0.2.7',
    state: 'connected',
  },
  acl: { allow: true, by: 'acl_internal', rule: '{allow, all}.', source: 'etc/acl.conf:48' },
};

export const exampleCalls: Readonly<Record<string, ExampleCall>> = {
  auth_user: { params: { username: 'admin', password: 'public' } },
  create_user: { params: { username: 'ben', password: 'Long-enough-1', tags: 'operator' } },
  list_users: { data: [{ username: 'admin', tags: 'administrator' }] },
  update_user: { params: { name: 'ben', tags: 'viewer' } },
  delete_user: { params: { name: 'ben' } },
  change_pwd: {
    params: { username: 'ben', old_pwd: 'Long-enough-1', new_pwd: 'Longer-than-1' },
  },
  add_app: {
    params: { name: 'My application' },
    data: { secret: '5oZq8beQ6P2bYvzKV9eR8Hg1maeLK1dHQFUKll5eyME' },
  },
  list_apps: { data: [app] },
  lookup_app: { data: { ...app, secret: '******' } },
  update_app: { params: { status: false } },
  update_config: { params: { value: 2000 } },
  update_node_config: { params: { value: 2000 } },
  update_plugin_configs: { params: { configs: { 'retainer.max_payload_size': '512KB' } } },
  get_plugin_configs: {
    data: [
      {
        key: 'retainer.max_retained_messages',
        value: '0',
        desc: 'Most topics with a retained message',
        required: false,
      },
    ],
  },
  list_all_plugins: { data: [{ node: 'broker@127.0.0.1', plugins: [plugin] }] },
  list_node_plugins: { data: [plugin] },
  list_node_metrics: { data: { 'messages/received': 5, 'messages/sent': 5 } },
  list_stats: { data: [{ node: 'broker@127.0.0.1', ...stats }] },
  lookup_node_stats: { data: stats },
  load_plugin: { params: { plugin: 'broker_dashboard' } },
  unload_plugin: { params: { plugin: 'broker_dashboard' } },
  list_traces: { data: [trace] },
  start_trace: {
    params: { client_id: 'sensor-1', file: 'sensor-1.trace', for: '10m' },
    data: { ...trace, stops_at: '2026-03-01 12:10:00' },
  },
  stop_trace: { params: { name: 'sensor-1.trace' } },
  download_trace: {
    params: { name: 'sensor-1.trace' },
    data: '# trace of client=sensor-1 level=all\n…',
  },
  tail_trace: {
    params: { name: 'sensor-1.trace' },
    curl: '-N',
    pipe: ' | head -n 4',
    data: ': tail\n\n…',
  },
  explain_publish: {
    params: { client_id: 'sensor-1', qos: 1 },
    data: {
      ...explained,
      topic: 'plant/1/temperature',
      hooks: [],
      retained: { would: 'none' },
      count: 1,
      receivers: [
        {
          client_id: 'sensor-1',
          filters: ['plant/1/temperature'],
          qos: 1,
          connected: true,
          queue: { inflight: 0, window: 65535, queued: 0, max: 1000, full: false },
          would: 'send',
        },
      ],
      groups: [],
    },
  },
  explain_subscribe: {
    params: { client_id: 'sensor-1', topic: 'plant/#', qos: 1 },
    data: {
      ...explained,
      filter: 'plant/#',
      topic: 'plant/#',
      hooks: [],
      granted: 1,
      replaces: false,
      subscriptions: { count: 1, max: 0 },
      retained: { count: 0, more: false },
    },
  },
  reload_acl: {
    data: { rules: 4, subscriptions: 0, clients: 0, messages: 0, undecided: 0, missing: [] },
  },
  check_acl: {
    params: { client_id: 'sensor-1', action: 'publish' },
    data: { ...explained.acl, ...explained.client },
  },
  list_acl_cache: {
    data: [{ access: 'publish', topic: 'plant/1/temperature', result: 'allow', age: 1250 }],
  },
  diff_acl: {
    params: { rules: '{deny, all, subscribe, ["plant/#"]}. {allow, all}.' },
    data: {
      rules: 2,
      clients: 1,
      clients_changed: 1,
      subscriptions: 1,
      subscriptions_changed: 1,
      publishes: 1,
      publishes_changed: 0,
      asked_besides: [],
      differences: [
        {
          client_id: 'sensor-1',
          action: 'subscribe',
          topic: 'plant/1/temperature',
          before: 'allow',
          after: 'deny',
          rule: '{deny, all, subscribe, ["plant/#"]}.',
          line: 1,
        },
      ],
    },
  },
  mqtt_publish: { params: { ...message, retain: true, client_id: 'backend' } },
  mqtt_publish_batch: {
    params: { entries: [message, { topic: 'plant/#', payload: 'x' }] },
    data: [
      { topic: 'plant/1/temperature', code: 0 },
      { topic: 'plant/#', code: 115 },
    ],
  },
  mqtt_subscribe: { params: { ...filter, qos: 1 } },
  mqtt_subscribe_batch: {
    params: { entries: [{ ...filter, qos: 1 }] },
    data: [{ client_id: 'sensor-1', topic: 'plant/+/alarm', code: 0 }],
  },
  mqtt_unsubscribe: { params: filter },
  mqtt_unsubscribe_batch: {
    params: { entries: [filter] },
    data: [{ client_id: 'sensor-1', topic: 'plant/+/alarm', code: 0 }],
  },
  clean_presisent_session: { params: { clientid: 'sensor-2' } },
  clean_node_presisent_session: { params: { clientid: 'sensor-2' } },
  list_banned: {
    data: [
      {
        who: 'sensor-9',
        as: 'client_id',
        reason: 'loud',
        desc: 'undefined',
        by: 'undefined',
        until: 4102444800,
      },
    ],
  },
  create_banned: {
    params: { who: 'sensor-9', as: 'client_id', reason: 'loud', until: 4102444800 },
    data: { who: 'sensor-9', as: 'client_id', reason: 'loud', until: 4102444800 },
  },
  prometheus_metrics: {
    data: '# HELP broker_info The node and its version.\n# TYPE broker_info gauge\n…',
  },
  index: {
    data: [
      {
        name: 'list_nodes',
        method: 'GET',
        path: '/nodes/',
        descr: 'A list of nodes in the cluster',
      },
    ],
  },
  openapi: { data: '{"openapi":"3.1.0",…' },
  api_docs: { data: '<!doctype html>\n…' },
};

/** What stands in a field of that name: the first of these that its schema allows. */
export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  node: ['broker@127.0.0.1'],
  name: ['broker@127.0.0.1'],
  node_status: ['Running'],
  version: ['v0.1.0'],
  otp_release: ['R26/14.6.202.34'],
  sysdescr: ['MQTT Broker'],
  uptime: ['2 hours, 3 minutes, 4 seconds'],
  datetime: ['2026-03-01 14:03:04'],
  load1: ['0.42'],
  load5: ['0.37'],
  load15: ['0.31'],
  max_fds: [262144],
  process_available: [262144],
  process_used: [41],
  memory_total: ['332.15M', 348286976],
  memory_used: ['68.67M', 72268379],
  connections: [1],
  client_id: ['sensor-1'],
  clientid: ['sensor-1'],
  username: ['ann'],
  ipaddress: ['192.0.2.7'],
  port: [48814],
  conn_mod: ['broker_connection'],
  connected_at: [time],
  created_at: [time],
  clear_at: ['2026-03-01 12:05:00'],
  is_bridge: [false],
  keepalive: [60],
  peercert: ['nossl'],
  proto_name: ['MQTT'],
  proto_ver: [5],
  recv_cnt: [12],
  recv_msg: [5],
  recv_oct: [225],
  recv_pkt: [12],
  send_cnt: [7],
  send_msg: [5],
  send_oct: [186],
  send_pkt: [12],
  reductions: [24],
  zone: ['external'],
  binding: ['local'],
  deliver_msg: [5],
  subscriptions_count: [1],
  max_inflight: [65535],
  max_mqueue: [1000],
  topic: ['plant/1/temperature'],
  qos: [1],
  acceptors: [8],
  current_conns: [1],
  max_conns: [1024000],
  listen_on: ['1883'],
  protocol: ['mqtt:tcp'],
  shutdown_count: [{ kicked: 1 }],
  id: ['overload'],
  desc: [
    {
      severity: 'warning',
      title: 'The broker is overloaded',
      summary: 'level: pause',
      timestamp: time,
    },
    '',
  ],
  app_id: ['my-app'],
  appid: ['my-app'],
  expired: ['undefined'],
  secret: ['******'],
  app: ['broker'],
  key: [key],
  value: ['1000'],
  datatpye: ['integer'],
  origin: ['default'],
  effective: ['after restart'],
  plugin: ['broker_retainer'],
  who: ['sensor-9'],
  as: ['client_id'],
  metrics: [{ 'messages/received': 5, 'messages/sent': 5 }],
};
