// Retained messages through REST and the command line: listed, looked up, removed by topic and by filter,
// and switched off and on with the plugin that they belong to.

import assert from 'node:assert/strict';
import test from 'node:test';
import mqtt from 'mqtt';
import { type Managed, startManaged } from '#test/managed';
import { Watch } from '#test/watch';

interface Row {
  readonly topic: string;
  readonly qos: number;
  readonly payload_size: number;
  readonly from: string;
  readonly ts: number;
  readonly expires_at?: number;
}

const open = { allow_anonymous: 'true', acl_nomatch: 'allow' };

function connect({ mqttPort: port }: Managed, clientId: string): Promise<mqtt.MqttClient> {
  const options = { host: '127.0.0.1', port, clientId, protocolVersion: 5 } as const;
  return mqtt.connectAsync({ ...options, reconnectPeriod: 0 });
}

async function keep(client: mqtt.MqttClient, ...topics: readonly string[]): Promise<void> {
  const kept = { qos: 1, retain: true } as const;
  await Promise.all(topics.map((topic) => client.publishAsync(topic, `of ${topic}`, kept)));
}

async function topicsOf(managed: Managed, query = ''): Promise<string[]> {
  const { body } = await managed.get(`/retained${query}`);
  assert.equal(body.code, 0, body.message ?? '');
  return (body.data as Row[]).map(({ topic }) => topic);
}

/** A new subscriber is sent the retained messages of these topics, and no others. */
async function expectReplayed(
  managed: Managed,
  filter: string,
  wanted: readonly string[],
): Promise<void> {
  const client = await connect(managed, 'replay');
  try {
    const watch = new Watch();
    const seen: string[] = [];
    client.on('message', (topic) => {
      seen.push(topic);
      watch.wake();
    });
    await client.subscribeAsync([filter, 'marker/#'], { qos: 1 });
    const all = (count: number) =>
      watch.until(
        () => seen.length >= count || undefined,
        5000,
        () => new Error(`Cannot see ${count} messages: got ${seen.join(', ')}`),
      );
    await all(wanted.length);
    // What is one too many would come before the answers to these.
    for (let i = 1; i <= 3; i++) {
      await client.publishAsync(`marker/${i}`, '', { qos: 1 });
      await all(wanted.length + i);
    }
    assert.deepEqual(seen.filter((topic) => !topic.startsWith('marker/')).sort(), wanted);
  } finally {
    await client.endAsync(true);
  }
}

for (const workers of [0, 2]) {
  const among = `with ${workers} workers`;

  test(`retained messages are listed by pages, by filter and alone, ${among}`, async () => {
    await using managed = await startManaged({ workers, settings: open });
    const client = await connect(managed, 'c1');
    await keep(client, 'a/1', 'a/2', 'b/1', '$own/1', `long/${'x'.repeat(3000)}`);
    await client.publishAsync('a/3', Buffer.from([0xff, 0xfe]), {
      qos: 2,
      retain: true,
      properties: { messageExpiryInterval: 1000 },
    });
    const { body } = await managed.get('/retained');
    assert.deepEqual(body.meta, { page: 1, limit: 10_000, count: 6 });
    const rows = new Map((body.data as Row[]).map((row) => [row.topic, row]));
    assert.equal(rows.size, 6);
    const { ts = 0, ...first } = rows.get('a/1') ?? {};
    assert.deepEqual(first, { topic: 'a/1', qos: 1, payload_size: 6, from: 'c1' });
    assert.ok(Math.abs(ts - Date.now() / 1000) < 60);
    const last = rows.get('a/3');
    assert.ok(last?.expires_at !== undefined && last.expires_at - last.ts >= 999);
    assert.deepEqual(await topicsOf(managed, '?filter=a%2F%2B'), ['a/1', 'a/2', 'a/3']);
    const second = await managed.get('/retained?filter=a%2F%23&_page=2&_limit=2');
    assert.deepEqual(second.body.meta, { page: 2, limit: 2, count: 3 });
    assert.deepEqual(
      (second.body.data as Row[]).map(({ topic }) => topic),
      ['a/3'],
    );
    const text = (await managed.get('/retained/a%2F1')).body.data as object;
    assert.deepEqual({ ...text, ts: 0 }, { ...first, ts: 0, payload: 'of a/1', encoding: 'plain' });
    const bytes = (await managed.get('/retained/a%2F3')).body.data as object;
    assert.deepEqual({ ...bytes, ...last }, { ...last, payload: '//4=', encoding: 'base64' });
    await client.endAsync(true);
  });

  test(`more topics than a slice has are paged, counted and removed, ${among}`, async () => {
    await using managed = await startManaged({ workers, settings: open });
    const client = await connect(managed, 'many');
    const names = Array.from({ length: 2500 }, (_, i) => `many/${String(i).padStart(4, '0')}`);
    await keep(client, ...names, 'other');
    assert.deepEqual(await topicsOf(managed, '?_page=5&_limit=500'), names.slice(2000));
    assert.deepEqual(await topicsOf(managed, '?_page=6&_limit=500'), ['other']);
    const { body } = await managed.delete('/retained?filter=many/%23&preview=true');
    assert.deepEqual(body.data, { count: 2500, topics: names.slice(0, 100) });
    assert.equal((await managed.ctl('retainer', 'info')).stdout, 'retained/total: 2501\n');
    assert.equal((await managed.ctl('retainer', 'topics')).stdout, `${names.join('\n')}\nother\n`);
    const cleaned = await managed.delete('/retained?filter=many/%23');
    assert.deepEqual(cleaned.body.data, { count: 2500 });
    assert.deepEqual(await topicsOf(managed), ['other']);
    assert.equal((await managed.ctl('retainer', 'info')).stdout, 'retained/total: 1\n');
    await client.endAsync(true);
  });

  test(`the command line cleans by filter and all, ${among}`, async () => {
    await using managed = await startManaged({ workers, settings: open });
    const client = await connect(managed, 'c');
    await keep(client, 'a/1', 'a/2', 'b/1', '$own/1');
    const clean = async (...args: readonly string[]) => {
      const { stdout, stderr, code } = await managed.ctl('retainer', 'clean', ...args);
      return [stdout, stderr, code];
    };
    assert.deepEqual(await clean('a/+'), ['Cleaned 2 retained messages\n', '', 0]);
    assert.deepEqual(await clean('a/+'), ['Cleaned 0 retained messages\n', '', 0]);
    await expectReplayed(managed, '#', ['b/1']);
    assert.deepEqual(await clean(), ['Cleaned 2 retained messages\n', '', 0]);
    await expectReplayed(managed, '$own/#', []);
    assert.deepEqual(await clean('a/#/b'), [
      '',
      'Cannot use filter "a/#/b": wildcard "#" is allowed only as the whole last level\n',
      1,
    ]);
    assert.deepEqual((await managed.ctl('retainer', 'topics')).stdout, '');
    await client.endAsync(true);
  });

  test(`one topic is removed by itself, and what is wrong is refused, ${among}`, async () => {
    await using managed = await startManaged({ workers, settings: open });
    const client = await connect(managed, 'c');
    await keep(client, 'a/1', 'a/2');
    assert.deepEqual((await managed.delete('/retained/a%2F1')).body, { code: 0 });
    await expectReplayed(managed, 'a/#', ['a/2']);
    const code = async (asked: ReturnType<Managed['get']>): Promise<number> =>
      (await asked).body.code;
    assert.equal(await code(managed.delete('/retained/a%2F1')), 404);
    assert.equal(await code(managed.get('/retained/a%2F1')), 404);
    assert.equal(await code(managed.get('/retained/a%2F%23')), 115);
    assert.equal(await code(managed.delete('/retained/%23')), 115, 'a filter is no topic');
    assert.equal(await code(managed.delete('/retained')), 107, 'nothing is removed by omission');
    assert.equal(await code(managed.delete('/retained?filter=$share/g/a')), 115);
    assert.equal(await code(managed.delete('/retained?filter=$SYS/%23')), 115);
    assert.equal(await code(managed.delete('/retained/$SYS%2Fbrokers')), 115);
    assert.equal(await code(managed.delete('/retained?filter=a/%23&preview=perhaps')), 108);
    assert.deepEqual(await topicsOf(managed), ['a/2']);
    await client.endAsync(true);
  });

  test(`without the plugin nothing is kept or handed out, and it comes back with it, ${among}`, async () => {
    await using managed = await startManaged({ workers, settings: open });
    const client = await connect(managed, 'c');
    await keep(client, 'a/1', 'a/2');
    const unloaded = await managed.ctl('plugins', 'unload', 'broker_retainer');
    assert.equal(unloaded.stdout, 'Plugin broker_retainer unloaded successfully.\n');
    await expectReplayed(managed, '#', []);
    await keep(client, 'a/3');
    await client.publishAsync('a/1', '', { qos: 1, retain: true });
    assert.equal((await managed.get('/retained')).status, 404);
    assert.equal((await managed.ctl('retainer', 'info')).code, 1);
    const loaded = await managed.ctl('plugins', 'load', 'broker_retainer');
    assert.equal(loaded.code, 0, loaded.stdout);
    assert.deepEqual(await topicsOf(managed), ['a/1', 'a/2']);
    await expectReplayed(managed, '#', ['a/1', 'a/2']);
    await keep(client, 'a/3');
    await expectReplayed(managed, '#', ['a/1', 'a/2', 'a/3']);
    await client.endAsync(true);
  });
}
