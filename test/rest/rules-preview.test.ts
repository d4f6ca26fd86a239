import assert from 'node:assert/strict';
import test from 'node:test';
import { type Managed, startManaged } from '#test/managed';
import { connect, startRuled, until } from './rules-fixture.ts';

interface Previewed {
  readonly events: readonly {
    readonly event: string;
    readonly timestamp: number;
    readonly input: Readonly<Record<string, unknown>>;
    readonly matched: boolean;
    readonly output: readonly unknown[];
    readonly reasons: readonly string[];
  }[];
  readonly matched: number;
  readonly missing: readonly string[];
}

async function preview(managed: Managed, body: object): Promise<Previewed> {
  const answer = await managed.post('/rules/preview', body);
  assert.equal(answer.body.code, 0, answer.text);
  return answer.body.data as Previewed;
}

const rawsql = 'SELECT payload.x AS x FROM "t/#" WHERE x > 1';

for (const workers of [0, 2]) {
  test(`SQL is run on what was recorded, with ${workers} workers`, async () => {
    await using managed = await startRuled(workers);
    assert.deepEqual((await managed.get('/rules/preview/record')).body.data, []);
    const unseen = await managed.post('/rules/preview', { rawsql });
    assert.equal(unseen.body.code, 400);
    assert.match(unseen.body.message ?? '', /No message\.publish is recorded/);
    assert.deepEqual((await managed.put('/rules/preview/record', { filter: 't/#' })).body, {
      code: 0,
    });
    const client = await connect(managed, 'c1');
    for (const x of [1, 2, 3]) await client.publishAsync('t/1', `{"x":${x}}`, { qos: 1 });
    await client.publishAsync('other', '{"x":9}', { qos: 1 });
    const { events, matched, missing } = await preview(managed, { rawsql });
    assert.deepEqual(
      events.map(({ output, matched: is }) => [is, output]),
      [
        [false, []],
        [true, [{ x: 2 }]],
        [true, [{ x: 3 }]],
      ],
    );
    assert.deepEqual([matched, missing], [2, []]);
    assert.equal(events[0]?.input['client_id'], 'c1');
    assert.match(events[0]?.reasons[0] ?? '', /^WHERE: x > 1 is false/);
    assert.equal(
      (await preview(managed, { rawsql, count: 1 })).events[0]?.input['payload'],
      '{"x":3}',
    );
    assert.deepEqual((await managed.get('/rules/preview/record')).body.data, [
      { filter: 't/#', events: ['message.publish'], recorded: 3 },
    ]);
    const gone = await managed.delete('/rules/preview/record?filter=t%2F%23');
    assert.deepEqual(gone.body, { code: 0 });
    await managed.put('/rules/preview/record', { filter: 'other' });
    assert.deepEqual((await preview(managed, { rawsql })).events, []);
    assert.deepEqual((await managed.get('/rules')).body.data, []);
    await client.endAsync();
  });

  test(`SQL is run on the events of the next seconds, with ${workers} workers`, async () => {
    await using managed = await startRuled(workers);
    const client = await connect(managed, 'c1');
    let isDone = false;
    const asked = preview(managed, { rawsql, seconds: 60, count: 2 }).finally(
      () => (isDone = true),
    );
    while (!isDone) await client.publishAsync('t/2', '{"x":12345678901234567890}', { qos: 1 });
    const { events } = await asked;
    assert.equal(events.length, 2);
    assert.equal(events[0]?.input['topic'], 't/2');
    // Nothing is left that would look at messages.
    await until(async () => {
      const { answers } = await managed.node.workers.everywhere('heldByPlugins', []);
      const left = answers.map(([, by]) => by['broker_rule_engine']?.belongings);
      assert.equal(left.length, Math.max(1, workers));
      return left.every((count) => count === 0) ? true : undefined;
    });
    await client.endAsync();
  });
}

test('a preview waits no longer than it is told to, and shows other events too', async () => {
  await using managed = await startRuled();
  const nothing = await preview(managed, { rawsql, seconds: 1 });
  assert.deepEqual(nothing.events, []);
  const events = ['client.connected', 'session.subscribed'];
  await managed.put('/rules/preview/record', { filter: 'a/#', events });
  const client = await connect(managed, 'c1', { username: 'ann' });
  await client.subscribeAsync(['a/1', 'b/1']);
  const seen = await preview(managed, {
    rawsql: 'SELECT client_id, topic FROM "client.connected", "session.subscribed"',
  });
  assert.deepEqual(
    seen.events.map(({ event, output }) => [event, output]),
    [
      ['client.connected', [{ client_id: 'c1' }]],
      ['session.subscribed', [{ client_id: 'c1', topic: 'a/1' }]],
    ],
  );
  await client.endAsync();
});

test('what is wrong with a preview is code 400', async () => {
  await using managed = await startRuled();
  const rows: readonly (readonly [path: string, body: object, message: RegExp])[] = [
    ['', { rawsql: 'SELECT' }, /^Bad Arguments: Cannot read the SQL/],
    ['', { rawsql, seconds: 61 }, /seconds = 61/],
    ['', { rawsql, count: 101 }, /count = 101/],
    ['/record', { filter: 'a/#/b' }, /Cannot record "a\/#\/b"/],
    ['/record', { filter: '$share/g/t' }, /Cannot record/],
    ['/record', { filter: 't', events: ['client.gone'] }, /^Event client\.gone Not Found/],
  ];
  for (const [path, body, message] of rows) {
    const method = path === '' ? 'POST' : 'PUT';
    const answer = await managed.ask(method, `/rules/preview${path}`, body);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.code, 400, answer.text);
    assert.match(answer.body.message ?? '', message);
  }
  assert.equal((await managed.delete('/rules/preview/record?filter=none')).body.code, 404);
  for (let i = 0; i < 32; i++) {
    assert.equal((await managed.put('/rules/preview/record', { filter: `t/${i}` })).body.code, 0);
  }
  const more = await managed.put('/rules/preview/record', { filter: 'more' });
  assert.match(more.body.message ?? '', /limit/);
});

test('filters of the configuration are recorded from the start', async () => {
  await using managed = await startManaged({
    settings: {
      allow_anonymous: 'true',
      acl_nomatch: 'allow',
      'plugins.loaded': 'broker_management,broker_rule_engine',
      'rule_engine.preview.filters': 't/#, u/+',
    },
  });
  const client = await connect(managed, 'c1');
  await client.publishAsync('t/1', '{"x":5}', { qos: 1 });
  assert.deepEqual((await preview(managed, { rawsql })).events[0]?.output, [{ x: 5 }]);
  const { stdout } = await managed.ctl('rules', 'preview', rawsql);
  assert.equal(stdout, '+ message.publish t/1 [{"x":5}]\n1 of 1 events match\n');
  await client.endAsync();
});
