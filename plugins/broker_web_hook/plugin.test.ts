import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import mqtt from 'mqtt';
import { type Managed, startManaged } from '#test/managed';
import { eventually, Watch } from '#test/watch';

interface Told {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A web server that keeps what it was told. */
class Server implements AsyncDisposable {
  readonly told: Told[] = [];
  status: number | 'silent' = 200;
  readonly #watch = new Watch();
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const body = JSON.parse(text) as Told['body'];
      this.told.push({ headers: request.headers, text, body });
      this.#watch.wake();
      if (this.status !== 'silent') response.writeHead(this.status).end();
    });
  });

  async open(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  of(action: string): Told['body'][] {
    return this.told.map(({ body }) => body).filter((body) => body['action'] === action);
  }

  first(action: string): Promise<Told['body']> {
    const late = (): Error => new Error(`Not told ${action}: ${JSON.stringify(this.told)}`);
    return this.#watch.until(() => this.of(action)[0], 20_000, late);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }
}

function start(server: Server, workers: number, settings: object = {}): Promise<Managed> {
  const rules = [
    ...['client.connected', 'client.disconnected', 'client.subscribe', 'client.unsubscribe'],
    ...['session.created', 'session.subscribed', 'session.unsubscribed', 'session.terminated'],
    ...['message.publish', 'message.deliver', 'message.acked'],
  ].map((event) => [
    `web.hook.rule.${event}.1`,
    JSON.stringify({ action: `on_${event.replace('.', '_')}` }),
  ]);
  return startManaged({
    workers,
    settings: {
      allow_anonymous: 'true',
      acl_nomatch: 'allow',
      'plugins.loaded': 'broker_management,broker_web_hook',
      'web.hook.api.url': server.url,
      ...Object.fromEntries(rules),
      ...settings,
    },
  });
}

function connect(
  { mqttPort: port }: Managed,
  options: mqtt.IClientOptions,
): Promise<mqtt.MqttClient> {
  return mqtt.connectAsync({ host: '127.0.0.1', port, reconnectPeriod: 0, ...options });
}

for (const workers of [0, 2]) {
  test(`a web server is told of all eleven events, with ${workers} workers`, async () => {
    await using server = await new Server().open();
    await using managed = await start(server, workers);
    const client = await connect(managed, { clientId: 'c1', username: 'u1', keepalive: 33 });
    const opts = { qos: 1, nl: 0, rap: 0, rh: 0 };
    await client.subscribeAsync('t/#', { qos: 1 });
    await client.publishAsync('t/1', 'hello', { qos: 1, retain: false });
    const acked = await server.first('message_acked');
    await client.unsubscribeAsync('t/#');
    await client.endAsync();
    const connected = await server.first('client_connected');
    const at = connected['connected_at'] as number;
    assert.ok(Number.isInteger(at) && Math.abs(at - Date.now() / 1000) < 100);
    assert.deepEqual(connected, {
      action: 'client_connected',
      ...{ client_id: 'c1', username: 'u1', keepalive: 33, ipaddress: '127.0.0.1', proto_ver: 4 },
      ...{ connected_at: at, conn_ack: 0 },
    });
    const [topic, client_id, username] = ['t/#', 'c1', 'u1'];
    assert.deepEqual(await server.first('client_subscribe'), {
      ...{ action: 'client_subscribe', client_id, username, topic, opts },
    });
    assert.deepEqual(await server.first('session_subscribed'), {
      ...{ action: 'session_subscribed', client_id, topic, opts },
    });
    assert.deepEqual(await server.first('client_unsubscribe'), {
      ...{ action: 'client_unsubscribe', client_id, username, topic, opts: {} },
    });
    const session = { action: 'session_created', client_id, username };
    assert.deepEqual(await server.first('session_created'), session);
    const unsubscribed = { action: 'session_unsubscribed', client_id, topic };
    assert.deepEqual(await server.first('session_unsubscribed'), unsubscribed);
    const { ts, ...published } = await server.first('message_publish');
    assert.ok(Number.isInteger(ts));
    const message = {
      ...{ from_client_id: 'c1', from_username: 'u1', topic: 't/1', qos: 1, retain: false },
      payload: 'hello',
    };
    assert.deepEqual(published, { action: 'message_publish', ...message });
    const delivered = await server.first('message_deliver');
    assert.deepEqual(delivered, { action: 'message_deliver', client_id, username, ...message, ts });
    assert.deepEqual(acked, { action: 'message_acked', client_id, ...message, ts });
    const gone = await server.first('client_disconnected');
    assert.deepEqual(gone, {
      ...{ action: 'client_disconnected', client_id, username, reason: gone['reason'] },
    });
    assert.equal((await server.first('session_terminated'))['client_id'], 'c1');
    const { headers } = server.told[0] as Told;
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers['x-webhook-signature'], undefined);
    const metrics = (await managed.get('/metrics')).text;
    assert.match(metrics, /"web_hook\/message_publish":1/);
  });
}

/** As somebody would check it who has nothing of ours. */
function macByOpenssl(secret: string, signed: string): string {
  const args = ['dgst', '-sha256', '-hmac', secret];
  const said = execFileSync('openssl', args, { input: signed, encoding: 'utf8' });
  return said.trim().split(' ').at(-1) ?? '';
}

test('requests are signed, payloads encoded, and topics chosen', async () => {
  await using server = await new Server().open();
  await using managed = await start(server, 0, {
    'web.hook.secret': 's3cret',
    'web.hook.headers.x-own': 'mine',
    'web.hook.encode_payload': 'base62',
    'web.hook.rule.message.publish.1': '{"action": "on_message_publish", "topic": "a/+"}',
    'web.hook.rule.message.publish.2': '{"action": "on_message_publish", "topic": "b"}',
  });
  const client = await connect(managed, { clientId: 'c1' });
  const payload = Buffer.from([0xff, 0xfe, 0xf7, 0xdf]);
  for (const topic of ['x', 'a/b/c', 'a/ü😀', 'b'])
    await client.publishAsync(topic, payload, { qos: 1 });
  await eventually(() => server.of('message_publish').length === 2);
  const seen = server.of('message_publish');
  assert.deepEqual(
    seen.map(({ topic }) => topic),
    ['a/ü😀', 'b'],
  );
  const inBase64 = String(seen[0]?.['payload'])
    .replaceAll('9A', '*')
    .replaceAll('9B', '+')
    .replaceAll('9C', '/')
    .replaceAll('*', '9');
  assert.deepEqual(Buffer.from(inBase64, 'base64'), payload);
  assert.match(String(seen[0]?.['payload']), /^[A-Za-z0-9]+$/);
  assert.equal(seen[0]?.['from_username'], 'undefined');
  for (const { headers, text } of server.told) {
    const timestamp = headers['x-webhook-timestamp'] as string;
    assert.match(timestamp, /^\d+$/);
    const mac = macByOpenssl('s3cret', `${timestamp}.${text}`);
    assert.equal(headers['x-webhook-signature'], `sha256=${mac}`);
    assert.equal(headers['x-own'], 'mine');
  }
  const shown = await managed.get(
    `/nodes/${managed.parts.settings.node.name}/plugin_configs/broker_web_hook`,
  );
  assert.equal(shown.text.includes('s3cret') || shown.text.includes('mine'), false, shown.text);
  await client.endAsync();
});

test('a web server that never answers holds nobody up: what is too much is dropped and counted', async () => {
  await using server = await new Server().open();
  server.status = 'silent';
  await using managed = await start(server, 2, {
    'web.hook.max_pending': '5',
    'web.hook.request_timeout': '100ms',
  });
  const client = await connect(managed, { clientId: 'c1' });
  for (let i = 0; i < 50; i++) await client.publishAsync('t', 'x', { qos: 1 });
  await client.endAsync();
  await eventually(async () => {
    const { text } = await managed.get('/metrics');
    const of = (name: string): number =>
      Number(new RegExp(`"web_hook/${name}":(\\d+)`).exec(text)?.[1]);
    return of('dropped') > 0 && of('failed') > 0 && of('sent') === 0;
  });
});

test('a payload that is no text is never mangled', async () => {
  await using server = await new Server().open();
  await using managed = await start(server, 0);
  const client = await connect(managed, { clientId: 'c1' });
  const payload = Buffer.from([0xc3, 0x28]);
  await client.publishAsync('t', payload, { qos: 1 });
  const told = await server.first('message_publish');
  assert.deepEqual([told['payload'], told['encoding']], [payload.toString('base64'), 'base64']);
  await client.endAsync();
});

test('contradictions in the configuration are told', async () => {
  await using server = await new Server().open();
  const cases: readonly (readonly [string, string, RegExp])[] = [
    [
      'web.hook.rule.client.connected.1',
      '{"action": "on_client_gone"}',
      /expected "on_client_connected"/,
    ],
    [
      'web.hook.rule.client.connected.1',
      '{"action": "on_client_connected", "topic": "a"}',
      /no topic/,
    ],
    [
      'web.hook.rule.client.flown.1',
      '{"action": "on_client_flown"}',
      /expected one of client.connected/,
    ],
    [
      'web.hook.rule.message.publish.1',
      '{"action": "on_message_publish", "topic": "a#"}',
      /"topic": "<filter>"/,
    ],
    ['web.hook.rule.message.publish.1', 'publish', /\{"action"/],
    ['web.hook.api.url', 'http://u:p@host', /without user and password/],
  ];
  for (const [key, value, wanted] of cases) {
    await assert.rejects(start(server, 0, { [key]: value }), wanted);
  }
});
