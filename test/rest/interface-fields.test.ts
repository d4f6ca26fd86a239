// Every table of fields of the interface, held against what a node with real clients of every kind
// answers: exactly these fields, of these types, in lists, in lookups and per node.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joined } from 'node:path';
import test from 'node:test';
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt';
import { type HttpAnswer, type Managed, startManaged } from '#test/managed';
import { RawClient } from '#test/raw-client';
import * as shapes from './interface-shapes.ts';

const name = 'broker@127.0.0.1';
const settings = {
  allow_anonymous: 'true',
  acl_nomatch: 'allow',
  // Plugins bring counters of their own.
  'plugins.loaded': 'broker_management,broker_retainer,broker_dashboard',
  'listener.ws.external': '127.0.0.1:0',
  'listener.ssl.external': '127.0.0.1:0',
  'dashboard.listener.http': '127.0.0.1:0',
};

type Row = Readonly<Record<string, unknown>>;

/** As it stands in the answer: `code` first, then `data`, and `meta` where the list has pages. */
function dataOf<T = readonly Row[]>({ status, text, body }: HttpAnswer, isPaged = false): T {
  assert.equal(status, 200, text);
  assert.deepEqual(Object.keys(body), isPaged ? ['code', 'data', 'meta'] : ['code', 'data']);
  assert.equal(body.code, 0);
  if (isPaged) {
    assert.deepEqual(Object.keys(body.meta ?? {}), ['page', 'limit', 'count']);
    assert.equal(body.meta?.count, (body.data as readonly unknown[]).length);
  }
  return body.data as T;
}

/** A client of every kind that there is, at every listener. */
class Crowd implements AsyncDisposable {
  readonly #managed: Managed;
  readonly #clients: MqttClient[] = [];

  constructor(managed: Managed) {
    this.#managed = managed;
  }

  async gather(): Promise<void> {
    const [tcp, ssl, ws] = await this.#ports();
    const plain = `mqtt://127.0.0.1:${tcp}`;
    const five = { protocolVersion: 5, keepalive: 0 } as const;
    const endless = { sessionExpiryInterval: 0xffffffff };
    await this.#join(plain, 'old', { protocolVersion: 3, protocolId: 'MQIsdp', clean: false });
    await this.#join(plain, 'usual', { username: 'u', keepalive: 60 });
    await this.#join(plain, 'nameless', { username: '', clean: false });
    await this.#join(plain, 'five', { ...five, clean: false, properties: endless });
    await this.#join(`ws://127.0.0.1:${ws}/mqtt`, 'web', five);
    await this.#join(`mqtts://127.0.0.1:${ssl}`, 'secret', { rejectUnauthorized: false });
    const away = await this.#join(plain, 'away', { clean: false });
    await away.endAsync();
    await this.#isAway('away');
    for (const [i, client] of this.#clients.filter((one) => one !== away).entries()) {
      await client.subscribeAsync([`own/${i}`, '$share/g/all/#'], { qos: (i % 3) as 0 | 1 | 2 });
      await client.publishAsync(`own/${i}`, 'x', { qos: 2, retain: true });
    }
  }

  async #ports(): Promise<readonly number[]> {
    const rows = dataOf(await this.#managed.get(`/nodes/${name}/listeners`));
    return ['mqtt:tcp', 'mqtt:ssl', 'mqtt:ws'].map((protocol) => {
      const row = rows.find((one) => one['protocol'] === protocol);
      return Number(/\d+$/.exec(String(row?.['listen_on']))?.[0]);
    });
  }

  /** A session is left a moment after its socket: asked again until it is so. */
  async #isAway(clientId: string): Promise<void> {
    const deadline = AbortSignal.timeout(10_000);
    for (;;) {
      const [row] = dataOf(await this.#managed.get(`/sessions/${clientId}`));
      if (row?.['binding'] === 'undefined') return;
      assert.ok(!deadline.aborted, JSON.stringify(row));
    }
  }

  async #join(url: string, clientId: string, options: IClientOptions): Promise<MqttClient> {
    const client = await connectAsync(url, { clientId, reconnectPeriod: 0, ...options });
    this.#clients.push(client);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.endAsync(true)));
  }
}

async function assertNodes(managed: Managed): Promise<void> {
  const brokers = dataOf(await managed.get('/brokers/'));
  assert.equal(brokers.length, 1);
  for (const row of brokers) shapes.assertShape(row, shapes.broker, { node: 'text' });
  shapes.assertShape(dataOf(await managed.get(`/brokers/${name}`)), shapes.broker);
  const nodes = dataOf(await managed.get('/nodes/'));
  assert.equal(nodes.length, 1);
  for (const row of nodes) shapes.assertShape(row, shapes.listedNode);
  const one = dataOf<Row>(await managed.get(`/nodes/${name}`));
  shapes.assertShape(one, shapes.node);
  const rows = [...brokers, ...nodes, one];
  assert.ok(rows.every((row) => row['node_status'] === 'Running'));
  assert.deepEqual([one['connections'], nodes[0]?.['connections']], [6, 6]);
}

async function assertClients(managed: Managed): Promise<void> {
  const lists = {
    connections: [shapes.connection, 6],
    sessions: [shapes.session, 7],
    subscriptions: [shapes.subscription, 12],
  } as const;
  for (const [list, [shape, count]] of Object.entries(lists)) {
    for (const prefix of ['', `/nodes/${name}`]) {
      const rows = dataOf(await managed.get(`${prefix}/${list}/`), true);
      assert.equal(rows.length, count, list);
      for (const row of rows) {
        shapes.assertShape(row, shape);
        const looked = dataOf(await managed.get(`${prefix}/${list}/${row['client_id']}`));
        for (const found of looked) shapes.assertShape(found, shape);
        assert.ok(looked.some((found) => found['topic'] === row['topic']));
      }
      assert.deepEqual(dataOf(await managed.get(`${prefix}/${list}/nobody`)), []);
    }
  }
  for (const prefix of ['', `/nodes/${name}`]) {
    const [found, ...others] = dataOf(await managed.get(`${prefix}/connection/username/u`));
    shapes.assertShape(found, shapes.connection);
    assert.deepEqual(others, []);
  }
  const routes = dataOf(await managed.get('/routes/'), true);
  assert.equal(routes.length, 7);
  for (const row of routes) {
    shapes.assertShape(row, shapes.route);
    const path = `/routes/${encodeURIComponent(String(row['topic']))}`;
    assert.deepEqual(dataOf(await managed.get(path)), [row]);
  }
}

async function assertParts(managed: Managed): Promise<void> {
  const lists = {
    plugins: [shapes.plugin, { type: 'text' }],
    listeners: [shapes.listener, {}],
  } as const;
  for (const [list, [shape, additions]] of Object.entries(lists)) {
    const rows = dataOf(await managed.get(`/nodes/${name}/${list}/`));
    assert.ok(rows.length >= 3);
    for (const row of rows) shapes.assertShape(row, shape, additions);
    const [whole, ...others] = dataOf(await managed.get(`/${list}/`));
    assert.deepEqual(others, []);
    assert.deepEqual(Object.keys(whole ?? {}), ['node', list]);
    assert.equal(whole?.['node'], name);
    const { length } = (whole?.[list] ?? []) as readonly unknown[];
    assert.equal(length, rows.length);
  }
}

async function assertCounters(managed: Managed): Promise<void> {
  const metrics = dataOf<Row>(await managed.get(`/nodes/${name}/metrics/`));
  const stats = dataOf<Row>(await managed.get(`/nodes/${name}/stats/`));
  const metricKeys = [...shapes.metricKeys, ...shapes.ownMetricKeys].sort();
  assert.deepEqual(Object.keys(metrics).sort(), metricKeys);
  assert.deepEqual(Object.keys(stats).sort(), [...shapes.statKeys].sort());
  for (const count of [...Object.values(metrics), ...Object.values(stats)]) {
    assert.ok(Number.isSafeInteger(count) && Number(count) >= 0);
  }
  const [all] = dataOf(await managed.get('/metrics/'));
  assert.deepEqual(Object.keys(all ?? {}), ['node', 'metrics']);
  assert.deepEqual(Object.keys(all?.['metrics'] as object).sort(), metricKeys);
  assert.deepEqual(dataOf(await managed.get('/stats/')), [{ node: name, ...stats }]);
  const counts = shapes.statKeys.filter((key) => key.endsWith('/count')).map((key) => stats[key]);
  assert.deepEqual(counts, [6, 7, 4, 12, 6, 6, 7, 7, 6]);
}

for (const workers of [0, 2]) {
  test(`every resource has exactly the fields of the interface (${workers} workers)`, async () => {
    await using managed = await startManaged({ workers, settings });
    await using crowd = new Crowd(managed);
    await crowd.gather();
    await assertNodes(managed);
    await assertClients(managed);
    await assertParts(managed);
    await assertCounters(managed);
  });

  test(`what a connection is stands in its row, whatever it speaks (${workers} workers)`, async () => {
    await using managed = await startManaged({ workers, settings });
    await using crowd = new Crowd(managed);
    await crowd.gather();
    const rows = dataOf(await managed.get('/connections'), true);
    const fields = ['client_id', 'username', 'proto_name', 'proto_ver', 'conn_mod', 'peercert'];
    assert.deepEqual(
      rows.map((row) => [...fields, 'clean_start', 'keepalive'].map((field) => row[field])),
      [
        ['five', 'undefined', 'MQTT', 5, 'broker_connection', 'nossl', false, 0],
        ['nameless', '', 'MQTT', 4, 'broker_connection', 'nossl', false, 60],
        ['old', 'undefined', 'MQIsdp', 3, 'broker_connection', 'nossl', false, 60],
        ['secret', 'undefined', 'MQTT', 4, 'broker_connection', 'undefined', true, 60],
        ['usual', 'u', 'MQTT', 4, 'broker_connection', 'nossl', true, 60],
        ['web', 'undefined', 'MQTT', 5, 'broker_ws_connection', 'nossl', true, 0],
      ],
    );
    const sessions = dataOf(await managed.get('/sessions'), true);
    assert.deepEqual(
      sessions.map((row) => ['client_id', 'binding', 'expiry_interval'].map((key) => row[key])),
      [
        ['away', 'undefined', 7200],
        ['five', 'local', 0xffffffff],
        ['nameless', 'local', 7200],
        ['old', 'local', 7200],
        ['secret', 'local', 0],
        ['usual', 'local', 0],
        ['web', 'local', 0],
      ],
    );
  });

  test(`what waits and what was counted stands in the rows (${workers} workers)`, async () => {
    const zone = { 'zone.external.max_mqueue_len': '2', 'zone.external.max_inflight': '1' };
    await using managed = await startManaged({ workers, settings: { ...settings, ...zone } });
    await using slow = await RawClient.open(managed.mqttPort, 4);
    await slow.connect({ clientId: 'slow', isBridge: true });
    await slow.subscribe('t', { qos: 1 });
    slow.sendPublish('elsewhere', 'x', { qos: 2 });
    await slow.find('pubrec');
    await using quick = await RawClient.open(managed.mqttPort);
    await quick.connect({ clientId: 'quick' });
    for (let i = 0; i < 5; i++) await quick.publish('t', 'x', { qos: 1 });
    await slow.find('publish');
    const [session] = dataOf(await managed.get('/sessions/slow'));
    const waiting = ['awaiting_rel_len', 'inflight_len', 'mqueue_len', 'mailbox_len'];
    const counted = ['mqueue_dropped', 'deliver_msg', 'enqueue_msg', 'max_inflight', 'max_mqueue'];
    assert.deepEqual(
      [...waiting, ...counted].map((field) => session?.[field]),
      [1, 1, 2, 2, 2, 1, 4, 1, 2],
    );
    const [connection] = dataOf(await managed.get('/connections/slow'));
    const numbers = ['recv_pkt', 'recv_msg', 'send_pkt', 'send_msg', 'mailbox_len', 'is_bridge'];
    assert.deepEqual(
      numbers.map((field) => connection?.[field]),
      [3, 1, 4, 1, 2, true],
    );
  });

  test(`sessions that a process left have every field, too (${workers} workers)`, async () => {
    const dir = mkdtempSync(joined(tmpdir(), 'broker-interface-'));
    try {
      {
        await using managed = await startManaged({ workers, settings, dir });
        await using crowd = new Crowd(managed);
        await crowd.gather();
      }
      await using managed = await startManaged({ workers, settings, dir });
      const rows = dataOf(await managed.get('/sessions/'), true);
      for (const row of rows) shapes.assertShape(row, shapes.session);
      assert.deepEqual(
        rows.map((row) => ['client_id', 'username', 'binding'].map((field) => row[field])),
        [
          ['away', 'undefined', 'undefined'],
          ['five', 'undefined', 'undefined'],
          ['nameless', '', 'undefined'],
          ['old', 'undefined', 'undefined'],
        ],
      );
      const subscriptions = dataOf(await managed.get('/subscriptions/'), true);
      for (const row of subscriptions) shapes.assertShape(row, shapes.subscription);
      assert.equal(subscriptions.length, 6);
      assert.deepEqual(dataOf(await managed.get('/connections/'), true), []);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  test(`a listener of all addresses shows its port, and IPv4 as such (${workers} workers)`, async () => {
    const everywhere = { ...settings, 'listener.tcp.external': '0' };
    await using managed = await startManaged({ workers, settings: everywhere });
    await using client = await RawClient.open(managed.mqttPort);
    await client.connect({ clientId: 'c' });
    const [tcp] = dataOf(await managed.get(`/nodes/${name}/listeners`));
    const shown = [tcp?.['protocol'], tcp?.['listen_on'], tcp?.['current_conns']];
    assert.deepEqual(shown, ['mqtt:tcp', String(managed.mqttPort), 1]);
    const [row] = dataOf(await managed.get('/connections/c'));
    shapes.assertShape(row, shapes.connection);
    assert.equal(row?.['ipaddress'], '127.0.0.1');
  });

  test(`a listener counts how its connections ended (${workers} workers)`, async () => {
    await using managed = await startManaged({ workers, settings });
    const join = async (clientId: string): Promise<RawClient> => {
      const client = await RawClient.open(managed.mqttPort);
      await client.connect({ clientId });
      return client;
    };
    const [polite, lost, kicked] = [await join('polite'), await join('lost'), await join('kicked')];
    await polite.disconnect();
    lost.destroy();
    assert.deepEqual((await managed.delete('/connections/kicked')).body, { code: 0 });
    await kicked.expectClosed();
    const deadline = AbortSignal.timeout(10_000);
    for (;;) {
      const [tcp, ...others] = dataOf(await managed.get(`/nodes/${name}/listeners`));
      assert.ok(tcp !== undefined && !deadline.aborted, JSON.stringify(tcp));
      assert.ok(others.every((row) => Array.isArray(row['shutdown_count'])));
      const { shutdown_count: ended, current_conns: open } = tcp;
      // Who says goodbye is not counted.
      if (open !== 0) continue;
      assert.deepEqual(ended, { closed: 1, kicked: 1 });
      break;
    }
  });
}
