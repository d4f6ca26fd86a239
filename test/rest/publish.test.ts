// Publishing, subscribing and unsubscribing on behalf of clients, through HTTP and with clients that we
// did not write.

import assert from 'node:assert/strict';
import test from 'node:test';
import mqtt from 'mqtt';
import { type Managed, startManaged } from '#test/managed';
import { Inbox } from '../interop/inbox.ts';

const open = { allow_anonymous: 'true', acl_nomatch: 'allow' };

interface Got {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: number;
  readonly retain: boolean;
}

/** A client and what it got. */
class Client implements AsyncDisposable {
  readonly #client: mqtt.MqttClient;
  readonly #inbox = new Inbox<Got>(({ topic, payload }) => `${topic} ${payload.toString()}`);

  private constructor(client: mqtt.MqttClient) {
    this.#client = client;
    client.on('message', (topic, payload, { qos, retain }) =>
      this.#inbox.put({ topic, payload, qos, retain }),
    );
  }

  static async connect(
    { mqttPort: port }: Managed,
    clientId: string,
    options: Partial<mqtt.IClientOptions> = {},
  ): Promise<Client> {
    const shared = { host: '127.0.0.1', port, clientId, reconnectPeriod: 0 };
    const client = mqtt.connect({ ...shared, ...options });
    const made = new Client(client);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    client.once('connect', () => resolve());
    client.once('error', reject);
    await promise;
    return made;
  }

  /** The next message, as text of its parts. */
  async next(): Promise<string> {
    const { topic, payload, qos, retain } = await this.#inbox.take('a message');
    return `${topic} ${payload.toString()} ${qos}${retain ? ' retained' : ''}`;
  }

  async bytes(): Promise<Buffer> {
    return (await this.#inbox.take('a message')).payload;
  }

  get mqtt(): mqtt.MqttClient {
    return this.#client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.endAsync(true);
  }
}

const v5 = { protocolVersion: 5 } as const;
const v4 = { protocolVersion: 4 } as const;

async function codeOf(asked: ReturnType<Managed['post']>): Promise<readonly unknown[]> {
  const { status, body } = await asked;
  assert.equal(status, 200);
  return body.message === undefined ? [body.code] : [body.code, body.message];
}

for (const workers of [0, 2]) {
  test(`POST /mqtt/publish reaches clients of every version, with ${workers} workers`, async () => {
    await using managed = await startManaged({ workers, settings: open });
    await using five = await Client.connect(managed, 'five', v5);
    await using four = await Client.connect(managed, 'four', v4);
    for (const { mqtt: client } of [five, four]) await client.subscribeAsync('t/#', { qos: 1 });
    const body = { topic: 't/1', payload: 'grüß', qos: 2, retain: true, client_id: 'ann' };
    const { text } = await managed.post('/mqtt/publish', body);
    assert.equal(text, '{"code":0}');
    for (const client of [five, four]) assert.equal(await client.next(), 't/1 grüß 1');
    await using late = await Client.connect(managed, 'late', v4);
    await late.mqtt.subscribeAsync('t/1', { qos: 0 });
    assert.equal(await late.next(), 't/1 grüß 0 retained');
  });

  test(`subscriptions for clients, connected and away, with ${workers} workers`, async () => {
    await using managed = await startManaged({ workers, settings: open });
    await managed.post('/mqtt/publish', { topic: 'kept', payload: 'k', retain: true });
    const away = { ...v4, clean: false };
    const leaving = await Client.connect(managed, 'away', away);
    await leaving.mqtt.endAsync();
    await using here = await Client.connect(managed, 'here', v5);
    const subscribe = (client_id: string, rest: object): Promise<readonly unknown[]> =>
      codeOf(managed.post('/mqtt/subscribe', { client_id, ...rest }));
    assert.deepEqual(await subscribe('here', { topic: 'kept,a/+', qos: 1 }), [0]);
    assert.equal(await here.next(), 'kept k 0 retained');
    assert.deepEqual(await subscribe('away', { topics: ['a/1', 'a/#/bad'], qos: 1 }), [0]);
    assert.deepEqual(await subscribe('nobody', { topic: 'a' }), [112, 'session_not_found']);
    assert.deepEqual(await codeOf(managed.post('/mqtt/publish', { topic: 'a/1', qos: 1 })), [0]);
    assert.equal(await here.next(), 'a/1  1');
    await using back = await Client.connect(managed, 'away', away);
    assert.equal(await back.next(), 'a/1  1');
    const unsubscribe = { client_id: 'here', topic: 'a/+' };
    assert.deepEqual(await codeOf(managed.post('/mqtt/unsubscribe', unsubscribe)), [0]);
    assert.deepEqual(await codeOf(managed.post('/mqtt/unsubscribe', unsubscribe)), [0], 'again');
    await managed.post('/mqtt/publish', { topics: 'a/1,kept', payload: 'last' });
    assert.equal(await here.next(), 'kept last 0');
    assert.equal(await back.next(), 'a/1 last 0');
  });

  test(`batches answer for each entry, in order, with ${workers} workers`, async () => {
    await using managed = await startManaged({ workers, settings: open });
    await using client = await Client.connect(managed, 'c', v5);
    const subscribed = await managed.post('/mqtt/subscribe_batch', [
      { client_id: 'c', topic: 'a', qos: 1 },
      { client_id: 'c', topics: 'b,c' },
      { client_id: 'nobody', topic: 'a' },
      { client_id: 'c', topic: '#/a' },
    ]);
    assert.deepEqual(subscribed.body, {
      code: 0,
      data: [
        { client_id: 'c', topic: 'a', code: 0 },
        { client_id: 'c', topics: 'b,c', code: 0 },
        { client_id: 'nobody', topic: 'a', code: 112 },
        { client_id: 'c', topic: '#/a', code: 115 },
      ],
    });
    const numbers = Array.from({ length: 100 }, (_, i) => String(i));
    const published = await managed.post('/mqtt/publish_batch', [
      ...numbers.map((payload) => ({ topic: 'a', payload, qos: 1 })),
      { topics: ['b', 'c'], payload: 'both' },
      { topic: 'a/#' },
    ]);
    assert.deepEqual((published.body.data as unknown[]).slice(-3), [
      { topic: 'a', code: 0 },
      { topics: ['b', 'c'], code: 0 },
      { topic: 'a/#', code: 115 },
    ]);
    for (const payload of numbers) assert.equal(await client.next(), `a ${payload} 1`);
    assert.deepEqual([await client.next(), await client.next()], ['b both 0', 'c both 0']);
    const left = await managed.post('/mqtt/unsubscribe_batch', [
      { client_id: 'c', topics: ['a', 'b'] },
      { client_id: 'nobody', topic: 'a' },
    ]);
    assert.deepEqual(left.body.data, [
      { client_id: 'c', topics: ['a', 'b'], code: 0 },
      { client_id: 'nobody', topic: 'a', code: 112 },
    ]);
    await managed.post('/mqtt/publish', { topic: 'a,b,c', payload: 'x' });
    assert.equal(await client.next(), 'c x 0');
  });
}

test('POST /mqtt/publish says what is wrong with a request', async () => {
  await using managed = await startManaged();
  const publish = (body: object): Promise<readonly unknown[]> =>
    codeOf(managed.post('/mqtt/publish', body));
  const badTopic = [115, 'bad_topic'];
  const long = 'x'.repeat(65_536);
  for (const topic of ['', 'a/+', '#', ',', 'a\u0000', '\ud800', long]) {
    assert.deepEqual(await publish({ topic }), badTopic, topic.slice(0, 10));
  }
  assert.deepEqual(await publish({}), badTopic);
  assert.deepEqual(await publish({ topics: [] }), badTopic);
  assert.deepEqual(await publish({ topic: 'a/+,b' }), [0], 'one that is valid is enough');
  const wrong = [
    [{ qos: 3 }, 'Cannot use qos = 3: expected an integer from 0 to 2'],
    [{ qos: -1 }, 'Cannot use qos = -1: expected an integer from 0 to 2'],
    [{ qos: 'one' }, 'Cannot use qos = "one": expected an integer from 0 to 2'],
    [{ retain: 1 }, 'Cannot use retain = 1: expected true or false'],
    [{ payload: { a: 1 } }, 'Cannot use payload = {"a":1}: expected text'],
    [{ topic: 5 }, 'Cannot use topic = 5: expected text'],
    [{ client_id: 5 }, 'Cannot use client_id = 5: expected text'],
    [{ encoding: 'hex' }, 'Cannot use encoding = "hex": expected "plain" or "base64"'],
    [{ payload: '!', encoding: 'base64' }, 'Cannot use payload: expected base64'],
    [
      { topic: undefined, topics: ','.repeat(10_000) },
      'Cannot use 10001 topics: expected at most 10000',
    ],
  ] as const;
  for (const [part, message] of wrong) {
    assert.deepEqual(await publish({ topic: 't', ...part }), [108, message]);
  }
});

test('POST /mqtt/publish sends bytes that are given as base64', async () => {
  await using managed = await startManaged({ settings: open });
  await using client = await Client.connect(managed, 'c', v5);
  await client.mqtt.subscribeAsync('t');
  const bytes = Buffer.from([0, 255, 128, 10]);
  const body = { topic: 't', payload: bytes.toString('base64'), encoding: 'base64' };
  assert.deepEqual(await codeOf(managed.post('/mqtt/publish', body)), [0]);
  assert.deepEqual(await client.bytes(), bytes);
  await managed.post('/mqtt/publish?topic=t&payload=by%20query');
  assert.equal(await client.next(), 't by query 0');
});

test('batches that are none, or too long, are refused as a whole', async () => {
  await using managed = await startManaged();
  const batch = (body: unknown): Promise<readonly unknown[]> =>
    codeOf(managed.post('/mqtt/publish_batch', body));
  assert.deepEqual(await batch([]), [0]);
  assert.deepEqual(await batch([{ topic: 't' }, { topic: 't', qos: 9 }]), [
    108,
    'Cannot use entries[1].qos = 9: expected an integer from 0 to 2',
  ]);
  const [code] = await batch(new Array(1001).fill({ topic: 't' }));
  assert.equal(code, 108);
  const [notAnArray] = await batch({ topic: 't' });
  assert.equal(notAnArray, 108);
  const subscribe = await codeOf(managed.post('/mqtt/subscribe', { topic: 't' }));
  assert.deepEqual(subscribe, [107, "missing mandatory params: ['client_id']"]);
});
