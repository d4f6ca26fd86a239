// Connections, sessions, subscriptions and routes over HTTP: fields as the interface has them, pages of one
// list whichever worker has which client, lookups, and what ends a connection or a session.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt';
import { type HttpAnswer, type Managed, startManaged } from '#test/managed';

const node = 'broker@127.0.0.1';
const settings = {
  allow_anonymous: 'true',
  acl_nomatch: 'allow',
  'listener.ws.external': '127.0.0.1:0',
};

type Row = Readonly<Record<string, string | number | boolean>>;
const rowsOf = ({ body }: HttpAnswer): readonly Row[] => body.data as readonly Row[];
const column = (answer: HttpAnswer, name: string): unknown[] =>
  rowsOf(answer).map((row) => row[name]);
const isTime = (text: unknown): boolean => /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(String(text));

/** The clients of one test, which leave at its end. */
class Clients implements AsyncDisposable {
  readonly #managed: Managed;
  readonly #clients: MqttClient[] = [];

  constructor(managed: Managed) {
    this.#managed = managed;
  }

  async connect(clientId: string, options: IClientOptions = {}): Promise<MqttClient> {
    const client = await connectAsync(`mqtt://127.0.0.1:${this.#managed.mqttPort}`, {
      clientId,
      reconnectPeriod: 0,
      ...options,
    });
    // It may be kicked.
    client.on('error', () => undefined);
    this.#clients.push(client);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) await client.endAsync(true);
  }
}

/** A session is left a moment after its socket: asked again until it is so. */
async function until(
  ask: () => Promise<HttpAnswer>,
  isSo: (rows: readonly Row[]) => boolean,
): Promise<HttpAnswer> {
  const deadline = AbortSignal.timeout(10_000);
  for (;;) {
    const answer = await ask();
    if (isSo(rowsOf(answer))) return answer;
    assert.ok(!deadline.aborted, answer.text);
  }
}

for (const workers of [0, 2]) {
  const title = (text: string): string => `${text} (${workers} workers)`;

  test(title('a connection has the fields of the interface'), async () => {
    await using managed = await startManaged({ workers, settings });
    await using clients = new Clients(managed);
    const client = await clients.connect('c/1', {
      username: 'u',
      protocolVersion: 5,
      keepalive: 90,
    });
    await client.publishAsync('t', 'hello', { qos: 1 });
    const answer = await managed.get('/connections/c%2F1');
    assert.deepEqual([answer.status, answer.body.code], [200, 0]);
    const [row, ...others] = rowsOf(answer);
    assert.deepEqual(others, []);
    assert.ok(row !== undefined && isTime(row['connected_at']), answer.text);
    assert.ok(Math.abs(Date.parse(String(row['connected_at'])) - Date.now()) < 60_000);
    assert.ok(Number(row['recv_oct']) > 20 && Number(row['send_oct']) > 5);
    assert.ok(Number(row['recv_cnt']) >= 2 && Number(row['send_cnt']) >= 2);
    assert.ok(Number.isInteger(row['heap_size']) && Number(row['port']) > 0);
    const varying = [
      'connected_at',
      'recv_oct',
      'send_oct',
      'recv_cnt',
      'send_cnt',
      'heap_size',
      'port',
    ];
    const rest = Object.entries(row).filter(([name]) => !varying.includes(name));
    assert.deepEqual(Object.fromEntries(rest), {
      client_id: 'c/1',
      username: 'u',
      node,
      clean_start: true,
      conn_mod: 'broker_connection',
      ipaddress: '127.0.0.1',
      is_bridge: false,
      keepalive: 90,
      mailbox_len: 0,
      peercert: 'nossl',
      proto_name: 'MQTT',
      proto_ver: 5,
      recv_msg: 1,
      recv_pkt: 2,
      send_msg: 0,
      send_pend: 0,
      send_pkt: 2,
      reductions: 4,
      zone: 'external',
    });
  });

  test(title('a connection by WebSocket without a username says so'), async () => {
    await using managed = await startManaged({ workers, settings });
    const port = managed.node.ports[1];
    const client = await connectAsync(`ws://127.0.0.1:${port}/mqtt`, { clientId: 'w' });
    try {
      const [row] = rowsOf(await managed.get('/connections/w'));
      assert.deepEqual(
        [row?.['username'], row?.['conn_mod'], row?.['peercert']],
        ['undefined', 'broker_ws_connection', 'nossl'],
      );
      assert.equal(row?.['proto_ver'], 4);
    } finally {
      await client.endAsync(true);
    }
  });

  test(title('a session has the fields of the interface, connected or not'), async () => {
    const limits = {
      'zone.external.max_inflight': '32',
      'zone.external.max_awaiting_rel': '100',
      'zone.external.max_subscriptions': '9',
    };
    await using managed = await startManaged({ workers, settings: { ...settings, ...limits } });
    await using clients = new Clients(managed);
    const client = await clients.connect('s', { clean: false, username: 'u' });
    await client.subscribeAsync(['a', 'b/#'], { qos: 1 });
    const [row] = rowsOf(await managed.get('/sessions/s'));
    assert.ok(isTime(row?.['created_at']));
    const expected = {
      client_id: 's',
      username: 'u',
      node,
      binding: 'local',
      clean_start: false,
      created_at: row?.['created_at'],
      expiry_interval: 7200,
      awaiting_rel_len: 0,
      inflight_len: 0,
      mailbox_len: 0,
      mqueue_len: 0,
      mqueue_dropped: 0,
      deliver_msg: 0,
      enqueue_msg: 0,
      heap_size: 0,
      reductions: 0,
      subscriptions_count: 2,
      max_awaiting_rel: 100,
      max_inflight: 32,
      max_mqueue: 1000,
      max_subscriptions: 9,
    };
    assert.deepEqual(row, expected);
    await client.endAsync();
    const publisher = await clients.connect('p');
    const away = await until(
      () => managed.get('/sessions/s'),
      ([found]) => found?.['binding'] === 'undefined',
    );
    assert.equal(rowsOf(away)[0]?.['expiry_interval'], 7200);
    await publisher.publishAsync('a', 'x', { qos: 1 });
    const [queued] = rowsOf(await managed.get('/sessions/s'));
    assert.deepEqual([queued?.['mqueue_len'], queued?.['enqueue_msg']], [1, 1]);
    assert.deepEqual(rowsOf(await managed.get('/connections/s')), []);
  });

  test(title('an MQTT 5 session shows its own expiry and receive maximum'), async () => {
    await using managed = await startManaged({ workers, settings });
    await using clients = new Clients(managed);
    const five = { protocolVersion: 5, clean: true } as const;
    const properties = { sessionExpiryInterval: 0xffffffff, receiveMaximum: 7 };
    await clients.connect('long', { ...five, properties });
    await clients.connect('short', five);
    const rows = rowsOf(await managed.get('/sessions'));
    assert.deepEqual(
      rows.map((row) => [row['client_id'], row['expiry_interval'], row['max_inflight']]),
      [
        ['long', 0xffffffff, 7],
        ['short', 0, 65535],
      ],
    );
  });

  test(title('pages are those of one list in order, and joined have every row once'), async () => {
    await using managed = await startManaged({ workers, settings });
    await using clients = new Clients(managed);
    const ids = Array.from({ length: 23 }, (_, i) => `c${i}`).sort();
    for (const id of ids) {
      const client = await clients.connect(id);
      await client.subscribeAsync([`own/${id}`, '$share/g/all/+', 'all/#'], { qos: 2 });
    }
    const topics = ids.flatMap((id) => [`${id} all/#`, `${id} all/+`, `${id} own/${id}`]);
    const routes = ['all/#', 'all/+', ...ids.map((id) => `own/${id}`)];
    const expected: Readonly<Record<string, readonly string[]>> = {
      connections: ids,
      sessions: ids,
      subscriptions: topics,
      routes: routes.sort(),
    };
    const nameOf = (kind: string, row: Row): string =>
      kind === 'subscriptions'
        ? `${row['client_id']} ${row['topic']}`
        : String(row[kind === 'routes' ? 'topic' : 'client_id']);
    for (const [kind, wanted] of Object.entries(expected)) {
      for (const prefix of kind === 'routes' ? [''] : ['', `/nodes/${node}`]) {
        for (const limit of [4, 23, 100]) {
          const seen: string[] = [];
          for (let page = 1; seen.length < wanted.length; page++) {
            const answer = await managed.get(`${prefix}/${kind}/?_page=${page}&_limit=${limit}`);
            assert.deepEqual(answer.body.meta, { page, limit, count: wanted.length });
            const rows = rowsOf(answer);
            assert.equal(rows.length, Math.min(limit, wanted.length - seen.length));
            seen.push(...rows.map((row) => nameOf(kind, row)));
          }
          assert.deepEqual(seen, wanted);
        }
      }
      const behind = await managed.get(`/${kind}?_page=99&_limit=10`);
      assert.deepEqual(behind.body, {
        code: 0,
        data: [],
        meta: { page: 99, limit: 10, count: wanted.length },
      });
    }
    const all = await managed.get('/routes');
    assert.deepEqual(all.body.meta, { page: 1, limit: 10_000, count: routes.length });
  });

  test(title('subscriptions and routes of a client are looked up by name'), async () => {
    await using managed = await startManaged({ workers, settings });
    await using clients = new Clients(managed);
    const client = await clients.connect('c1');
    await client.subscribeAsync({ '$queue/q': { qos: 0 }, 't/+/x': { qos: 2 } });
    const rows = [
      { client_id: 'c1', node, topic: 'q', qos: 0 },
      { client_id: 'c1', node, topic: 't/+/x', qos: 2 },
    ];
    for (const prefix of ['', `/nodes/${node}`]) {
      assert.deepEqual(rowsOf(await managed.get(`${prefix}/subscriptions/c1`)), rows);
      assert.deepEqual(rowsOf(await managed.get(`${prefix}/subscriptions/c2`)), []);
    }
    assert.deepEqual(rowsOf(await managed.get('/routes/t%2F%2B%2Fx')), [{ topic: 't/+/x', node }]);
    // No match, but the text of the route.
    assert.deepEqual(rowsOf(await managed.get('/routes/t%2Fa%2Fx')), []);
    await client.unsubscribeAsync('t/+/x');
    assert.deepEqual(column(await managed.get('/subscriptions'), 'topic'), ['q']);
    assert.deepEqual(column(await managed.get('/routes'), 'topic'), ['q']);
  });

  test(title('connections are found by username, exactly, in all workers'), async () => {
    await using managed = await startManaged({ workers, settings });
    await using clients = new Clients(managed);
    for (const id of ['a', 'b', 'c', 'd']) await clients.connect(id, { username: 'ann/x' });
    await clients.connect('e', { username: 'ann' });
    await clients.connect('f');
    for (const prefix of ['', `/nodes/${node}`]) {
      const found = await managed.get(`${prefix}/connection/username/ann%2Fx`);
      assert.deepEqual(column(found, 'client_id'), ['a', 'b', 'c', 'd']);
      assert.deepEqual(rowsOf(await managed.get(`${prefix}/connection/username/an`)), []);
    }
    // The word that is shown is nobody's name.
    assert.deepEqual(rowsOf(await managed.get('/connection/username/undefined')), []);
  });

  test(title('a username of more connections than a page may have is refused'), async () => {
    const few = { ...settings, 'management.max_row_limit': '3' };
    await using managed = await startManaged({ workers, settings: few });
    await using clients = new Clients(managed);
    for (const id of ['a', 'b', 'c']) await clients.connect(id, { username: 'u' });
    assert.equal(rowsOf(await managed.get('/connection/username/u')).length, 3);
    await clients.connect('d', { username: 'u' });
    const { status, body } = await managed.get('/connection/username/u');
    assert.deepEqual([status, body.code], [200, 102]);
    assert.match(body.message ?? '', /more than 3, page through/);
  });

  test(title('a client that is kicked is gone, its session is not'), async () => {
    await using managed = await startManaged({ workers, settings });
    await using clients = new Clients(managed);
    const client = await clients.connect('k', { clean: false });
    const closed = new Promise<void>((resolve) => void client.once('close', resolve));
    assert.deepEqual((await managed.delete('/connections/k')).body, { code: 0 });
    await closed;
    assert.deepEqual(rowsOf(await managed.get('/connections/k')), []);
    assert.deepEqual(column(await managed.get('/sessions/k'), 'binding'), ['undefined']);
    for (const id of ['k', 'nobody']) {
      const { status, body } = await managed.delete(`/connections/${id}`);
      assert.deepEqual([status, body], [200, { code: 112, message: 'not_found' }]);
    }
  });

  test(title('a session is cleaned when nobody is connected to it, and only then'), async () => {
    await using managed = await startManaged({ workers, settings });
    await using clients = new Clients(managed);
    for (const prefix of ['', `/nodes/${node}`]) {
      const path = `${prefix}/sessions/persistent/p`;
      const client = await clients.connect('p', { clean: false });
      await client.subscribeAsync('t', { qos: 1 });
      const running = await managed.delete(path);
      assert.deepEqual(running.body, { code: 102, message: 'running_session' });
      await client.endAsync();
      await until(
        () => managed.get('/sessions/p'),
        ([row]) => row?.['binding'] === 'undefined',
      );
      assert.deepEqual((await managed.delete(path)).body, { code: 0 });
      assert.deepEqual((await managed.delete(path)).body, { code: 102, message: 'not_found' });
      assert.deepEqual(rowsOf(await managed.get('/sessions')), []);
      assert.deepEqual(rowsOf(await managed.get('/routes')), []);
    }
  });

  test(title('sessions that a process left are listed by the next one'), async () => {
    const dir = mkdtempSync(join(tmpdir(), 'broker-lists-'));
    try {
      {
        await using managed = await startManaged({ workers, settings, dir });
        await using clients = new Clients(managed);
        for (const id of ['a', 'b', 'c']) {
          const client = await clients.connect(id, { clean: false, username: 'u' });
          await client.subscribeAsync([`x/${id}`, 'all'], { qos: 1 });
        }
        await managed.post('/mqtt/publish', { topic: 'x/a', payload: 'p', qos: 1 });
      }
      await using managed = await startManaged({ workers, settings, dir });
      const rows = rowsOf(await managed.get('/sessions?_page=1&_limit=2'));
      assert.deepEqual(
        rows.map((row) => [row['client_id'], row['username'], row['subscriptions_count']]),
        [
          ['a', 'u', 2],
          ['b', 'u', 2],
        ],
      );
      const subscriptions = await managed.get('/subscriptions?_page=2&_limit=4');
      assert.deepEqual(column(subscriptions, 'topic'), ['all', 'x/c']);
      assert.equal(subscriptions.body.meta?.count, 6);
      assert.deepEqual(column(await managed.get('/routes'), 'topic'), ['all', 'x/a', 'x/b', 'x/c']);
      assert.equal((await managed.get('/connections')).body.meta?.count, 0);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  test(title('another node is not found'), async () => {
    await using managed = await startManaged({ workers, settings });
    const paths = [
      '/connections',
      '/connections/c',
      '/connection/username/u',
      '/sessions',
      '/sessions/c',
      '/subscriptions',
      '/subscriptions/c',
    ];
    for (const path of paths) {
      const { status, body } = await managed.get(`/nodes/other@host${path}`);
      assert.deepEqual([status, body.code], [404, 404], path);
    }
    const { status } = await managed.delete('/nodes/other@host/sessions/persistent/c');
    assert.equal(status, 404);
  });
}

test('pages that are no numbers from 1 are refused', async () => {
  await using managed = await startManaged({ settings });
  for (const query of ['_page=0', '_page=x', '_limit=0', '_limit=10001', '_limit=1.5']) {
    const { status, body } = await managed.get(`/connections?${query}`);
    assert.deepEqual([status, body.code], [200, 108], query);
  }
});
