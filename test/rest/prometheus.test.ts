import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test, { type TestContext } from 'node:test';
import mqtt from 'mqtt';
import { counterRows, gaugeRows, toldElsewhere } from '#admin/prometheus-names';
import { type ReadFamily, readPrometheus } from '#admin/prometheus-fixture';
import { type Managed, startManaged } from '#test/managed';
import ruleEngine from '../../plugins/broker_rule_engine/plugin.ts';

/** Names, types and labels that users build on. Taking one away or changing it breaks them. */
const golden = [
  'broker_alarm_raised gauge alarm',
  'broker_alarms gauge',
  'broker_bytes_received_total counter',
  'broker_bytes_sent_total counter',
  'broker_connections gauge',
  'broker_connections_max gauge',
  'broker_info gauge node,runtime,version',
  'broker_listener_connections gauge listen_on,protocol',
  'broker_listener_connections_limit gauge listen_on,protocol',
  'broker_listener_shutdowns_total counter listen_on,protocol,reason',
  'broker_messages_dropped_total counter',
  'broker_messages_expired_total counter',
  'broker_messages_forwarded_total counter',
  'broker_messages_qos2_dropped_total counter',
  'broker_messages_qos2_expired_total counter',
  'broker_messages_received_total counter qos',
  'broker_messages_sent_total counter qos',
  'broker_overload_episodes_total counter',
  'broker_overload_paused_total counter',
  'broker_overload_refused_total counter',
  'broker_packets_auth_total counter',
  'broker_packets_missed_total counter type',
  'broker_packets_received_total counter type',
  'broker_packets_sent_total counter type',
  'broker_publish_size_bytes histogram le',
  'broker_retained_messages gauge',
  'broker_retained_messages_max gauge',
  'broker_routes gauge',
  'broker_routes_max gauge',
  'broker_sessions gauge',
  'broker_sessions_max gauge',
  'broker_sessions_persistent gauge',
  'broker_sessions_persistent_max gauge',
  'broker_start_time_seconds gauge',
  'broker_store_bytes gauge',
  'broker_store_disk_free_bytes gauge',
  'broker_subscribers gauge',
  'broker_subscribers_max gauge',
  'broker_subscriptions gauge',
  'broker_subscriptions_max gauge',
  'broker_subscriptions_shared gauge',
  'broker_subscriptions_shared_max gauge',
  'broker_thread_busy_seconds_total counter thread',
  'broker_thread_heap_limit_bytes gauge thread',
  'broker_thread_heap_used_bytes gauge thread',
  'broker_thread_up gauge thread',
  'broker_thread_uptime_seconds gauge thread',
  'broker_thread_utilisation_ratio gauge thread',
  'broker_topics gauge',
  'broker_topics_max gauge',
  'broker_turn_seconds histogram le',
  'broker_uptime_seconds gauge',
  'process_cpu_seconds_total counter',
  'process_resident_memory_bytes gauge',
];

const settings = {
  allow_anonymous: 'true',
  acl_nomatch: 'allow',
  // Plugins have families of their own.
  'plugins.loaded': 'broker_management,broker_retainer',
};

type Families = Map<string, ReadFamily>;

async function scrape(managed: Managed): Promise<Families> {
  const { status, headers, text } = await managed.get('@/metrics');
  assert.equal(status, 200);
  assert.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  return readPrometheus(text);
}

function value(families: Families, series: string): number | undefined {
  return families.get(series.replace(/\{.*/, ''))?.series.get(series);
}

/** A client that has published and was shown out, and one that has subscribed and stays. */
async function traffic(t: TestContext, managed: Managed): Promise<mqtt.MqttClient> {
  const { mqttPort: port } = managed;
  const options = { host: '127.0.0.1', port, protocolVersion: 5, reconnectPeriod: 0 } as const;
  const stays = await mqtt.connectAsync({ ...options, clientId: 'stays' });
  t.after(() => stays.endAsync(true));
  await stays.subscribeAsync('plant/#', { qos: 1 });
  const leaves = await mqtt.connectAsync({ ...options, clientId: 'leaves' });
  const { promise, resolve } = Promise.withResolvers<void>();
  stays.on('message', (topic) => topic === 'plant/last' && resolve());
  await leaves.publishAsync('plant/1', 'x', { qos: 1, retain: true });
  await leaves.publishAsync('plant/last', 'x', { qos: 1 });
  await promise;
  const closed = new Promise<void>((end) => leaves.once('close', () => end()));
  await managed.delete('/connections/leaves');
  await closed;
  return stays;
}

for (const workers of [0, 2]) {
  test(`GET /metrics tells what a node with ${workers} workers has counted, by stable names`, async (t) => {
    await using managed = await startManaged({ workers, settings });
    const client = await traffic(t, managed);
    managed.node.alarms.raise('a "strange" alarm\\', {});
    const families = await scrape(managed);
    const names = [...families].map(([name, { type, series }]) => {
      const [first = ''] = series.keys();
      const labels = [...first.matchAll(/[{,]([a-z_]+)=/g)].map((match) => match[1] ?? '').sort();
      return [name, type, labels.join()].join(' ').trim();
    });
    assert.deepEqual(names.sort(), golden);
    const told = {
      'broker_packets_received_total{type="connect"}': 2,
      'broker_packets_received_total{type="publish"}': 2,
      'broker_packets_sent_total{type="suback"}': 1,
      'broker_messages_received_total{qos="1"}': 2,
      broker_connections: 1,
      broker_connections_max: 2,
      broker_subscriptions: 1,
      broker_retained_messages: 1,
      broker_alarms: 1,
      'broker_alarm_raised{alarm="a \\"strange\\" alarm\\\\"}': 1,
      'broker_listener_connections{protocol="mqtt:tcp",listen_on="127.0.0.1:0"}': 1,
      'broker_thread_up{thread="control"}': 1,
    };
    for (const [series, expected] of Object.entries(told)) {
      assert.equal(value(families, series), expected, series);
    }
    assert.equal(families.get('broker_thread_up')?.series.size, workers + 1);
    await client.endAsync();
  });
}

test('counters of GET /metrics never go down', async (t) => {
  await using managed = await startManaged({ workers: 2, settings });
  let before = await scrape(managed);
  for (let round = 0; round < 5; round++) {
    const client = await traffic(t, managed);
    const after = await scrape(managed);
    for (const [name, { type, series }] of before) {
      if (type !== 'counter') continue;
      for (const [one, count] of series) {
        assert.ok((value(after, one) ?? -1) >= count, `${one} of ${name} went down`);
      }
    }
    before = after;
    await client.endAsync();
  }
  assert.equal(value(before, 'broker_messages_received_total{qos="1"}'), 10);
});

test('GET /metrics and GET /api/v3/metrics say the same', async (t) => {
  await using managed = await startManaged({ settings });
  const client = await traffic(t, managed);
  const families = await scrape(managed);
  const { body } = await managed.get(`/nodes/${managed.parts.settings.node.name}/metrics`);
  const metrics = body.data as Record<string, number>;
  for (const { name, label, keys } of counterRows) {
    for (const [word, key] of Object.entries(keys)) {
      const series = label === '' ? name : `${name}{${label}="${word}"}`;
      assert.equal(value(families, series), metrics[key], `${series} is ${key}`);
    }
  }
  for (const [key, expression] of Object.entries(toldElsewhere)) {
    const name = /broker_\w+/.exec(expression)?.[0] ?? '';
    const series = families.get(name)?.series ?? new Map<string, number>();
    const sum = [...series.values()].reduce((a, b) => a + b, 0);
    assert.equal(sum, metrics[key], `${expression} is ${key}`);
  }
  await client.endAsync();
});

test('GET /metrics wants credentials', async () => {
  await using managed = await startManaged({ settings });
  const { status, headers, body } = await managed.get('@/metrics', { auth: '' });
  assert.equal(status, 401);
  assert.match(headers['www-authenticate'] ?? '', /^Basic/);
  assert.equal(body.code, 401);
});

/** Names in an expression of PromQL, those of our own kind; the series of a histogram by its name. */
function namesIn(text: string): string[] {
  const found = text.match(/\b(?:broker|process)_[a-z0-9_]+/g) ?? [];
  return found.map((name) => name.replace(/_bucket$/, ''));
}

const known = new Set(golden.map((line) => line.split(' ')[0]));

test('the dashboard for Grafana asks only for metrics that exist, and for what matters', () => {
  const text = readFileSync(new URL('../../docs/grafana/broker.json', import.meta.url), 'utf8');
  const dashboard = JSON.parse(text) as {
    readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
    readonly templating: { readonly list: readonly { readonly query: unknown }[] };
  };
  const asked = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  const queries = dashboard.templating.list.map(({ query }) => JSON.stringify(query));
  const names = [...asked, ...queries].flatMap(namesIn);
  assert.ok(asked.length > 10);
  for (const name of names) assert.ok(known.has(name), `the dashboard asks for ${name}`);
  for (const { name } of gaugeRows.slice(0, 2)) assert.ok(names.includes(name), name);
});

test('docs/monitoring.md names only metrics that exist, and every one of them', () => {
  const text = readFileSync(new URL('../../docs/monitoring.md', import.meta.url), 'utf8');
  const names = new Set(namesIn(text));
  // Files and programs of ours are called so, too.
  for (const word of ['broker_ctl', 'broker_dashboard']) names.delete(word);
  // They are there while their plugin runs, which it does not here: rules-stats.test.ts.
  for (const name of Object.keys(ruleEngine.gauges ?? {})) {
    assert.ok(names.delete(`broker_${name}`), `docs/monitoring.md lacks broker_${name}`);
  }
  for (const name of names) assert.ok(known.has(name), `docs/monitoring.md names ${name}`);
  for (const name of known) assert.ok(names.has(name ?? ''), `docs/monitoring.md lacks ${name}`);
});
