// Brokers, nodes, metrics and stats over HTTP, with clients connected; one thread and several.

import assert from 'node:assert/strict';
import test from 'node:test';
import { connectAsync, type MqttClient } from 'mqtt';
import { metricKeys } from '#core/metrics';
import { gaugeNames } from '#core/stats';
import { startManaged, type Managed } from '#test/managed';

const name = 'broker@127.0.0.1';
const timestamp = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;

const settings = {
  allow_anonymous: 'true',
  acl_nomatch: 'allow',
  // Plugins bring counters of their own.
  'plugins.loaded': 'broker_management,broker_retainer',
};

type Row = Readonly<Record<string, unknown>>;

async function dataOf<T>(managed: Managed, path: string): Promise<T> {
  const { status, body } = await managed.get(path);
  assert.deepEqual([status, body.code], [200, 0], JSON.stringify(body));
  return body.data as T;
}

interface Connected extends AsyncDisposable {
  readonly client: MqttClient;
}

async function connected(managed: Managed): Promise<Connected> {
  const client = await connectAsync(`mqtt://127.0.0.1:${managed.mqttPort}`, { reconnectPeriod: 0 });
  return { client, [Symbol.asyncDispose]: () => client.endAsync(true) };
}

for (const workers of [0, 2]) {
  test(`brokers and nodes answer the fields of the interface (${workers} workers)`, async () => {
    await using managed = await startManaged({ workers, settings });
    await using _one = await connected(managed);
    await using _two = await connected(managed);

    const [broker, ...others] = await dataOf<Row[]>(managed, '/brokers/');
    assert.deepEqual(others, []);
    const { node, ...single } = broker ?? {};
    assert.equal(node, name);
    assert.deepEqual(Object.keys(single).sort(), [
      'datetime',
      'node_status',
      'otp_release',
      'sysdescr',
      'uptime',
      'version',
    ]);
    assert.match(String(single['datetime']), timestamp);
    assert.match(String(single['otp_release']), /^R\d+\/[\d.]+$/);
    assert.match(String(single['uptime']), /^\d+ seconds$/);
    assert.match(String(single['version']), /^v\d+\.\d+\.\d+$/);
    assert.equal(single['node_status'], 'Running');
    const one = await dataOf<Row>(managed, `/brokers/${name}`);
    assert.deepEqual(Object.keys(one).sort(), Object.keys(single).sort());

    const [listed] = await dataOf<Row[]>(managed, '/nodes');
    const found = await dataOf<Row>(managed, `/nodes/${name}`);
    const fields = [
      'connections',
      'load1',
      'load15',
      'load5',
      'max_fds',
      'memory_total',
      'memory_used',
      'name',
      'node_status',
      'otp_release',
      'process_available',
      'process_used',
      'uptime',
      'version',
    ];
    assert.deepEqual(Object.keys(found).sort(), fields);
    assert.deepEqual(Object.keys(listed ?? {}).sort(), [...fields, 'node'].sort());
    assert.deepEqual([listed?.['node'], listed?.['name'], found['name']], [name, name, name]);
    assert.deepEqual([listed?.['connections'], found['connections']], [2, 2]);
    for (const field of ['load1', 'load5', 'load15']) {
      assert.match(String(found[field]), /^\d+\.\d\d$/);
    }
    for (const field of ['memory_total', 'memory_used']) {
      assert.ok(Number.isInteger(found[field]) && Number(found[field]) > 1024 ** 2, field);
      assert.match(String(listed?.[field]), /^\d+\.\d\d[MG]$/);
    }
    assert.ok(Number(found['memory_used']) <= Number(found['memory_total']));
    assert.ok(Number(found['process_used']) > 2);
    assert.equal(found['process_available'], found['max_fds']);
    assert.ok(Number(found['process_used']) < Number(found['max_fds']));
  });

  test(`metrics and stats have every key, and count (${workers} workers)`, async () => {
    await using managed = await startManaged({ workers, settings });
    await using one = await connected(managed);
    const { client } = one;
    await client.subscribeAsync('a/+', { qos: 1 });
    await client.publishAsync('b', 'x', { qos: 1, retain: true });

    const [all] = await dataOf<Row[]>(managed, '/metrics/');
    const metrics = await dataOf<Record<string, number>>(managed, `/nodes/${name}/metrics`);
    assert.deepEqual(Object.keys(all ?? {}), ['node', 'metrics']);
    assert.equal(all?.['node'], name);
    assert.deepEqual(Object.keys(metrics), [...metricKeys]);
    assert.deepEqual(Object.keys(all?.['metrics'] ?? {}), [...metricKeys]);
    assert.equal(metrics['packets/connect'], 1);
    assert.equal(metrics['messages/qos1/received'], 1);
    assert.ok(Object.values(metrics).every(Number.isInteger));

    const [stats] = await dataOf<Row[]>(managed, '/stats/');
    const own = await dataOf<Record<string, number>>(managed, `/nodes/${name}/stats/`);
    assert.deepEqual(
      Object.keys(own).sort(),
      gaugeNames.flatMap((gauge) => [`${gauge}/count`, `${gauge}/max`]).sort(),
    );
    assert.deepEqual(stats, { node: name, ...own });
    assert.deepEqual(
      ['connections/count', 'subscriptions/count', 'retained/count'].map((key) => own[key]),
      [1, 1, 1],
    );
  });
}

test('another node is not found, whatever is asked of it', async () => {
  await using managed = await startManaged();
  const paths = [
    '/brokers/other@h',
    '/nodes/other@h',
    '/nodes/other@h/metrics',
    '/nodes/other@h/stats',
    '/nodes/other@h/listeners',
    '/nodes/other@h/plugins',
    '/nodes/other@h/configs',
    '/nodes/other@h/plugin_configs/broker_retainer',
  ];
  for (const path of paths) {
    const { status, body } = await managed.get(path);
    assert.deepEqual([status, body.code], [404, 404], path);
    assert.match(body.message ?? '', /Cannot find node "other@h"/);
  }
});
