// Rules against whoever means harm, and against threads that die: nothing is lost silently, nothing stands
// still, and no fault of our own is answered.

import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import type { Worker } from 'node:worker_threads';
import type { MqttClient } from 'mqtt';
import type { Managed } from '#test/managed';
import { startManaged } from '#test/managed';
import { eventually } from '#test/watch';
import { Sink } from '../rest/resources-fixture.ts';
import { connect, type RuleRow, startRuled } from '../rest/rules-fixture.ts';

/** The threads that the process starts from now on. */
function threadsOf(t: TestContext): Worker[] {
  const threads: Worker[] = [];
  const onWorker = (worker: Worker): void => void threads.push(worker);
  process.on('worker', onWorker);
  t.after(() => process.off('worker', onWorker));
  return threads;
}

async function made<T>(managed: Managed, path: string, body: object): Promise<T> {
  const answer = await managed.post(path, body);
  assert.equal(answer.body.code, 0, answer.text);
  return answer.body.data as T;
}

async function counted(managed: Managed, id: string): Promise<readonly [number, number, number]> {
  const { actions, metrics } = (await managed.get(`/rules/${id}`)).body.data as RuleRow;
  const [action] = actions;
  const { success = 0, failed = 0 } = action?.metrics[0] ?? {};
  return [metrics[0]?.matched ?? 0, success, failed];
}

async function publishMany(client: MqttClient, topic: string, count: number): Promise<void> {
  const sent = Array.from({ length: count }, (_, i) =>
    client.publishAsync(topic, `{"n":${i}}`, { qos: 1 }),
  );
  await Promise.all(sent);
}

for (const workers of [0, 2]) {
  test(`a rule that is changed under load misses nothing and counts all, with ${workers} workers`, async () => {
    await using sink = await Sink.open();
    await using managed = await startRuled(workers);
    const config = { url: sink.url, pool_size: 4 };
    const resource = await made<{ id: string }>(managed, '/resources', {
      type: 'web_hook',
      config,
    });
    const params = { $resource: resource.id };
    const actions = [{ name: 'data_to_webserver', params }];
    const rawsql = 'SELECT payload.n AS n, topic FROM "in/#"';
    const { id, actions: own } = await made<RuleRow>(managed, '/rules', { rawsql, actions });
    const clients = await Promise.all(['a', 'b', 'c'].map((name) => connect(managed, name)));
    let isOver = false;
    const changes = (async (): Promise<number> => {
      let count = 0;
      for (; !isOver || count < 3; count++) {
        const change = { description: `${count}`, rawsql: `${rawsql} WHERE qos >= ${-count}` };
        const { body } = await managed.put(`/rules/${id}`, { ...change, actions: own });
        assert.equal(body.code, 0, body.message ?? 'refused');
      }
      return count;
    })();
    await Promise.all(clients.map((client, i) => publishMany(client, `in/${i}`, 300)));
    isOver = true;
    await changes;
    await eventually(async () => (await counted(managed, id)).join() === '900,900,0');
    assert.equal(new Set(sink.told.map(({ body }) => body)).size, 900);
    await Promise.all(clients.map((client) => client.endAsync(true)));
  });

  test(`hops are those of rules, whatever a client writes into a message, with ${workers} workers`, async () => {
    await using managed = await startRuled(workers);
    const actions = [{ name: 'republish', params: { target_topic: 'loop/1' } }];
    const rule = { rawsql: 'SELECT payload FROM "loop/#"', actions };
    const { id } = await made<RuleRow>(managed, '/rules', rule);
    const client = await connect(managed, 'c', { protocolVersion: 5 });
    const userProperties = { hops: '99', 'x-hops': '-1', hop: '8' };
    await client.publishAsync('loop/0', 'x', { qos: 1, properties: { userProperties } });
    // Eight of them, and the ninth that is refused.
    await eventually(async () => (await counted(managed, id)).join() === '9,8,1');
    await client.endAsync(true);
  });
}

for (const workers of [0, 2]) {
  test(`rules that answer each other end also where messages are delayed between them, with ${workers} workers`, async () => {
    const settings = {
      allow_anonymous: 'true',
      acl_nomatch: 'allow',
      'plugins.loaded': 'broker_management,broker_rule_engine,broker_delayed_publish',
    };
    await using managed = await startManaged({ workers, settings });
    const actions = [
      { name: 'republish', params: { target_topic: '${to}', payload_tmpl: '{"n":${n}}' } },
    ];
    const to = "CASE WHEN payload.n < 7 THEN 'x' ELSE '$delayed/0/x' END AS to";
    const rule = { rawsql: `SELECT ${to}, payload.n + 1 AS n FROM "x"`, actions };
    const { id } = await made<RuleRow>(managed, '/rules', rule);
    const client = await connect(managed, 'c');
    await client.publishAsync('x', '{"n":0}', { qos: 1 });
    // Seven at once, the eighth when its delay is over, and what comes of that is refused.
    await eventually(async () => (await counted(managed, id))[0] >= 9);
    await eventually(async () => (await counted(managed, id)).join() === '9,8,1');
    await client.endAsync(true);
  });
}

for (const workers of [0, 2]) {
  test(`rules see topics with their mountpoint and publish to topics as they stand, with ${workers} workers`, async () => {
    const settings = {
      ...{ allow_anonymous: 'true', acl_nomatch: 'allow' },
      'plugins.loaded': 'broker_management,broker_rule_engine',
      'zone.external.mountpoint': 'room/%c/',
    };
    await using managed = await startManaged({ workers, settings });
    const to = (topic: string): object => ({
      name: 'republish',
      params: { target_topic: topic, payload_tmpl: '${topic}' },
    });
    const rules = [
      ['bare', 'SELECT topic FROM "in"', to('room/c1/never')],
      ['below', 'SELECT topic, client_id FROM "room/+/in"', to('room/${client_id}/echo')],
      ['outside', 'SELECT topic FROM "room/c1/in"', to('echo')],
      ['asked', 'SELECT topic, client_id FROM "client.subscribe"', to('room/${client_id}/asked')],
      ['had', 'SELECT topic, client_id FROM "session.subscribed"', to('room/${client_id}/had')],
    ] as const;
    for (const [id, rawsql, action] of rules) {
      await made(managed, '/rules', { id, rawsql, actions: [action] });
    }
    const client = await connect(managed, 'c1');
    const got = new Map<string, string>();
    client.on('message', (topic, payload) => void got.set(topic, payload.toString()));
    await client.subscribeAsync('#', { qos: 1 });
    await client.subscribeAsync('more/#', { qos: 1 });
    await client.publishAsync('in', 'x', { qos: 1 });
    await eventually(() => got.size === 4 && got.get('had') === 'more/#');
    assert.deepEqual(Object.fromEntries(got), {
      in: 'x',
      // What was published to `echo` itself is outside.
      echo: 'room/c1/in',
      asked: 'more/#',
      had: 'more/#',
    });
    assert.deepEqual(await counted(managed, 'bare'), [0, 0, 0]);
    await eventually(async () => (await counted(managed, 'outside')).join() === '1,1,0');
    await client.endAsync(true);
  });
}

test('the successor of a worker that died has all rules, and they count on', async (t) => {
  const threads = threadsOf(t);
  const settings = {
    allow_anonymous: 'true',
    acl_nomatch: 'allow',
    'plugins.loaded': 'broker_management,broker_rule_engine',
  };
  const expectedErrors = ['worker.died'];
  await using managed = await startManaged({ workers: 2, settings, expectedErrors });
  const actions = [{ name: 'do_nothing' }];
  const rule = { rawsql: 'SELECT payload FROM "t"', actions };
  const { id } = await made<RuleRow>(managed, '/rules', rule);
  const publishFromAll = async (round: number): Promise<void> => {
    for (let i = 0; i < 8; i++) {
      const client = await connect(managed, `c${round}.${i}`);
      await client.publishAsync('t', 'x', { qos: 1 });
      await client.endAsync(true);
    }
  };
  await publishFromAll(1);
  assert.deepEqual(await counted(managed, id), [8, 8, 0]);
  for (const index of ['0', '1']) {
    const before = threads.length;
    const victim = threads.findLast(({ threadName }) => threadName?.includes(index));
    assert.ok(victim, threads.map(({ threadName }) => threadName).join());
    await victim.terminate();
    await eventually(() => threads.length > before);
    await eventually(async () => (await managed.get('@/readyz')).status === 200);
    const [matched] = await counted(managed, id);
    await publishFromAll(2 + Number(index));
    await eventually(
      async () => (await counted(managed, id)).join() === `${matched + 8},${matched + 8},0`,
    );
  }
});

for (const buffer of ['memory', 'disk']) {
  test(`nothing is lost silently when the integration thread dies, buffer: ${buffer}`, async (t) => {
    const threads = threadsOf(t);
    await using sink = await Sink.open();
    await using managed = await startRuled(2);
    const config = { url: sink.url, buffer, pool_size: 4 };
    const resource = await made<{ id: string }>(managed, '/resources', {
      type: 'web_hook',
      config,
    });
    const actions = [{ name: 'data_to_webserver', params: { $resource: resource.id } }];
    const rule = { rawsql: 'SELECT payload.n AS n FROM "t"', actions };
    const { id } = await made<RuleRow>(managed, '/rules', rule);
    const client = await connect(managed, 'c');
    sink.manner = 'silent';
    await publishMany(client, 't', 200);
    await sink.until((told) => told.length > 0);
    if (buffer === 'disk') {
      await eventually(async () => (await counted(managed, id)).join() === '200,200,0');
    }
    const victim = threads.find(({ threadName }) => threadName === 'integration');
    assert.ok(victim);
    sink.manner = 200;
    await victim.terminate();
    await publishMany(client, 't', 10);
    await eventually(async () => {
      const [matched, success, failed] = await counted(managed, id);
      return matched === 210 && success + failed === 210;
    });
    const [, success] = await counted(managed, id);
    const numbers = (): number => new Set(sink.told.map(({ body }) => body)).size;
    if (buffer === 'disk') {
      assert.ok(success >= 200);
      await eventually(() => numbers() === 200);
    }
    await client.endAsync(true);
  });
}

test('a document of rules that is wrong in any way is refused in words, and nothing of it is taken', async () => {
  await using managed = await startRuled();
  const good = { id: 'good', rawsql: 'SELECT * FROM "t"', actions: [] };
  const wrong: readonly unknown[] = [
    { ...good, id: 5 },
    { ...good, id: ['a'] },
    { ...good, id: {} },
    { ...good, id: '..' },
    { ...good, id: '.' },
    { ...good, id: 'a', actions: [{ name: 'inspect', fallbacks: null }] },
    { ...good, id: 'a', actions: [{ name: 'inspect', fallbacks: 'x' }] },
    {
      ...good,
      id: 'a',
      actions: [{ name: 'inspect', fallbacks: [{ name: 'inspect', fallbacks: [{}] }] }],
    },
    { ...good, id: 'a', actions: [{ name: 'inspect', params: null }] },
    { ...good, id: 'a', for: null },
    { ...good, id: 'a', for: [[]] },
    { ...good, id: 'a', rawsql: [] },
    null,
    7,
  ];
  for (const rule of wrong) {
    const answer = await managed.post('/rules/import', { version: 1, rules: [good, rule] });
    assert.equal(answer.status, 200, `${JSON.stringify(rule)} ${answer.text}`);
    assert.equal(answer.body.code, 400, `${JSON.stringify(rule)} ${answer.text}`);
  }
  assert.deepEqual((await managed.get('/rules')).body.data, []);
  for (const id of ['.', '..']) {
    const resource = { id, type: 'built_in', config: {}, description: '' };
    const answer = await managed.post('/rules/import', {
      version: 1,
      rules: [],
      resources: [resource],
    });
    assert.equal(answer.body.code, 400, answer.text);
  }
});

test('an event that is named often is meant once', async () => {
  await using managed = await startRuled();
  const topics = Array.from({ length: 1000 }, (_, i) => `"t${i}"`).join(',');
  const rawsql = `SELECT topic FROM ${topics}`;
  const many = Array(40_000).fill('message.publish');
  const answer = await managed.post('/rules?test', { rawsql, for: many, ctx: { topic: 't7' } });
  assert.deepEqual(answer.body, { code: 0, data: { topic: 't7' } });
});

test('a payload that is nested as deep as it may be is previewed as any other', async () => {
  await using managed = await startRuled(2);
  assert.equal((await managed.put('/rules/preview/record', { filter: 't/#' })).body.code, 0);
  const client = await connect(managed, 'c');
  const nested = `{"a":${'['.repeat(126)}"${'x'.repeat(300)}"${']'.repeat(126)}}`;
  await client.publishAsync('t/1', nested, { qos: 1 });
  const rawsql = 'SELECT payload.a AS a FROM "t/#"';
  const { body, text } = await managed.post('/rules/preview', { rawsql });
  assert.equal(body.code, 0, text);
  assert.equal((body.data as { matched: number }).matched, 1);
  await client.endAsync(true);
});
