import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import type { Managed } from '#test/managed';
import { connect, type RuleRow, startRuled, until } from './rules-fixture.ts';

const inspect = [{ name: 'inspect', params: {} }];
const sql = 'SELECT payload.x AS x FROM "t/#" WHERE x > 1';

async function create(managed: Managed, body: object): Promise<RuleRow> {
  const answer = await managed.post('/rules', body);
  assert.equal(answer.body.code, 0, answer.text);
  return answer.body.data as RuleRow;
}

async function show(managed: Managed, id: string): Promise<RuleRow> {
  const answer = await managed.get(`/rules/${id}`);
  assert.equal(answer.body.code, 0, answer.text);
  return answer.body.data as RuleRow;
}

for (const workers of [0, 2]) {
  test(`a rule is created, shown, changed, counted and deleted, with ${workers} workers`, async () => {
    await using managed = await startRuled(workers);
    const made = await create(managed, { rawsql: sql, actions: inspect, description: 'd' });
    assert.match(made.id, /^rule:[0-9a-f]{8}$/);
    const { actions, metrics, ...plain } = made;
    assert.deepEqual(plain, {
      id: made.id,
      for: 'message.publish',
      rawsql: sql,
      enabled: true,
      on_action_failed: 'continue',
      description: 'd',
    });
    const [action] = actions;
    assert.match(action?.id ?? '', /^inspect_/);
    const node = managed.parts.settings.node.name;
    assert.deepEqual(action, {
      ...{ id: action?.id, name: 'inspect', params: {} },
      metrics: [{ node, success: 0, failed: 0 }],
    });
    assert.deepEqual(metrics, [{ node, matched: 0, speed: 0, speed_max: 0, speed_last5m: 0 }]);
    assert.deepEqual(await show(managed, made.id), made);
    assert.deepEqual((await managed.get('/rules/')).body.data, [made]);
    const client = await connect(managed, 'c1');
    for (const x of [1, 2, 3]) await client.publishAsync('t/1', `{"x":${x}}`, { qos: 1 });
    await until(async () => {
      const [count] = (await show(managed, made.id)).metrics;
      return count?.matched === 2 ? true : undefined;
    });
    const path = `/rules/${made.id}`;
    const change = { description: 'e', enabled: false, name: 'n', on_action_failed: 'stop' };
    const changed = (await managed.put(path, change)).body.data as RuleRow;
    assert.deepEqual(
      [changed.id, changed.description, changed.enabled, changed.name, changed.on_action_failed],
      [made.id, 'e', false, 'n', 'stop'],
    );
    assert.equal(changed.rawsql, sql);
    assert.equal(changed.metrics[0]?.matched, 2);
    assert.equal(changed.actions[0]?.metrics[0]?.success, 2);
    await client.publishAsync('t/1', '{"x":9}', { qos: 1 });
    assert.equal((await managed.put(path, { enabled: true })).body.code, 0);
    await client.publishAsync('t/1', '{"x":9}', { qos: 1 });
    await until(async () => {
      return (await show(managed, made.id)).metrics[0]?.matched === 3 ? true : undefined;
    });
    const reset = await managed.put(`${path}/reset_metrics`);
    assert.equal((reset.body.data as RuleRow).metrics[0]?.matched, 0);
    assert.equal((await show(managed, made.id)).actions[0]?.metrics[0]?.success, 0);
    assert.deepEqual((await managed.delete(path)).body, { code: 0 });
    assert.deepEqual((await managed.delete(path)).body, { code: 0 });
    assert.deepEqual((await managed.get('/rules')).body.data, []);
    await client.endAsync();
  });
}

test('a rule has `for` as a text for one event and as a list for several', async () => {
  await using managed = await startRuled();
  const one = await create(managed, { rawsql: 'SELECT * FROM "client.connected"', actions: [] });
  assert.equal(one.for, 'client.connected');
  const from = 'SELECT * FROM "client.connected", "client.disconnected"';
  const two = await create(managed, { rawsql: from, actions: inspect });
  assert.deepEqual(two.for, ['client.connected', 'client.disconnected']);
});

test('the older form with name and for is understood', async () => {
  await using managed = await startRuled();
  const body = { name: 'steven', rawsql: 'SELECT * FROM "#"', description: 'older' };
  const actions = [{ name: 'built_in:inspect_action', params: {} }];
  const rule = await create(managed, { ...body, for: 'client.connected', actions });
  assert.equal(rule.name, 'steven');
  assert.equal(rule.for, 'client.connected');
  const client = await connect(managed, 'c1');
  await client.publishAsync('t', 'x', { qos: 1 });
  await client.endAsync();
  await until(async () => {
    return (await show(managed, rule.id)).metrics[0]?.matched === 1 ? true : undefined;
  });
});

test('what is wrong with a rule is HTTP 200 with code 400 and the reason', async () => {
  await using managed = await startRuled();
  const rows: readonly (readonly [body: object, message: RegExp])[] = [
    [{ actions: inspect }, /^missing mandatory params: \['rawsql'\]$/],
    [{ rawsql: sql }, /^missing mandatory params: \['actions'\]$/],
    [{ rawsql: sql, actions: 5 }, /^Cannot use actions = 5: expected an array/],
    [{ rawsql: '', actions: inspect }, /^Bad Arguments: Cannot read the SQL: line 1, column 1: /],
    [
      { rawsql: 'SELECT *\nFORM "t"', actions: inspect },
      /^Bad Arguments: Cannot read the SQL: line 2, column 1: found "?FORM"?, expected .*FROM[\s\S]*FORM "t"/,
    ],
    [
      { rawsql: 'SELECT nothing FROM "client.connected"', actions: inspect },
      /^Unknown Column: nothing/,
    ],
    [{ rawsql: 'SELECT nofun(1) FROM "t"', actions: inspect }, /^Bad Arguments: .*nofun/],
    [{ rawsql: 'SELECT * FROM "client.gone"', actions: inspect }, /^Event client\.gone Not Found/],
    [{ rawsql: 'SELECT * FROM "t"', for: 'x', actions: inspect }, /^Event x Not Found/],
    [{ rawsql: sql, actions: [{ name: 'fly' }] }, /^Action fly Not Found/],
    [
      { rawsql: sql, actions: [{ name: 'republish', params: { target_qos: 3 } }] },
      /^Bad Arguments: .*target_/,
    ],
    [{ rawsql: sql, actions: inspect, id: '' }, /^Bad Arguments: /],
    [{ rawsql: sql, actions: inspect, id: 'export' }, /^Bad Arguments: Cannot use "id"/],
  ];
  for (const [body, message] of rows) {
    const { status, body: answer, text } = await managed.post('/rules', body);
    assert.equal(status, 200, text);
    assert.equal(answer.code, 400, text);
    assert.match(answer.message ?? '', message);
  }
  assert.deepEqual((await managed.get('/rules')).body.data, []);
});

test('a rule that is not there is code 404, or 400 for whoever would change it', async () => {
  await using managed = await startRuled();
  const id = 'rule:00000000';
  const shown = await managed.get(`/rules/${id}`);
  assert.deepEqual([shown.status, shown.body], [200, { code: 404, message: 'Not Found' }]);
  const unknown = { code: 400, message: `Rule ${id} Not Found` };
  assert.deepEqual((await managed.put(`/rules/${id}`, { enabled: true })).body, unknown);
  assert.deepEqual((await managed.put(`/rules/${id}/reset_metrics`)).body, unknown);
});

test('an update that is wrong changes nothing', async () => {
  await using managed = await startRuled();
  const made = await create(managed, { rawsql: sql, actions: inspect });
  const wrong = await managed.put(`/rules/${made.id}`, { rawsql: 'SELECT', description: 'new' });
  assert.equal(wrong.body.code, 400);
  assert.deepEqual(await show(managed, made.id), made);
});

test('an id is taken once', async () => {
  await using managed = await startRuled();
  const body = { rawsql: sql, actions: inspect, id: 'rule:mine' };
  assert.equal((await create(managed, body)).id, 'rule:mine');
  const again = await managed.post('/rules', body);
  assert.equal(again.body.code, 400);
  assert.match(again.body.message ?? '', /rule:mine/);
});

test('SQL is tested against a sample, with columns in place of its own', async () => {
  await using managed = await startRuled();
  const body = { rawsql: 'SELECT payload.x AS x, topic FROM "t/#" WHERE x > 1' };
  const ctx = { topic: 't/9', payload: '{"x":5}' };
  const data = { x: 5, topic: 't/9' };
  for (const [path, more] of [
    ['/rules?test', {}],
    ['/rules?test=true', {}],
    ['/rules', { test: true }],
    ['/rules', { test: 'true' }],
  ] as const) {
    const answer = await managed.post(path, { ...body, ctx, ...more });
    assert.deepEqual(answer.body, { code: 0, data }, `${path} ${JSON.stringify(more)}`);
  }
  const sample = await managed.post('/rules?test', { rawsql: 'SELECT * FROM "message.publish"' });
  const columns = sample.body.data as Readonly<Record<string, unknown>>;
  assert.deepEqual(
    [columns['client_id'], columns['username'], columns['topic'], columns['qos']],
    ['c_broker', 'u_broker', 't1', 1],
  );
  const none = await managed.post('/rules?test', { ...body, ctx: { ...ctx, payload: '{}' } });
  assert.equal(none.status, 200);
  assert.equal(none.body.code, 404);
  assert.match(none.body.message ?? '', /^SQL Not Match/);
  const bad = await managed.post('/rules?test', { rawsql: 'SELECT * FROM' });
  assert.equal(bad.body.code, 400);
  assert.deepEqual((await managed.get('/rules')).body.data, []);
});

test('a test of FOREACH answers a list, and whole numbers keep their digits', async () => {
  await using managed = await startRuled();
  const rawsql = 'FOREACH payload.list AS n DO n.v AS v FROM "t"';
  const ctx = { topic: 't', payload: '{"list":[{"v":1},{"v":12345678901234567890}]}' };
  const answer = await managed.post('/rules?test', { rawsql, ctx });
  assert.match(answer.text, /"data":\[\{"v":1\},\{"v":12345678901234567890\}\]/);
});

test('actions are listed, by event too, and shown by either of their names', async () => {
  await using managed = await startRuled();
  interface Action {
    readonly name: string;
    readonly for: string;
    readonly title: { readonly en: string };
    readonly params: object;
  }
  const namesOf = async (path: string): Promise<string[]> =>
    ((await managed.get(path)).body.data as Action[]).map(({ name }) => name);
  const own = ['do_nothing', 'inspect', 'republish'];
  const ofOwn = (names: readonly string[]): string[] => names.filter((name) => own.includes(name));
  assert.deepEqual(ofOwn(await namesOf('/actions/')).sort(), own);
  for (const event of ['message.publish', '$message', '$client', '$session', '$any']) {
    assert.deepEqual(ofOwn(await namesOf(`/actions?for=${event}`)), own, event);
  }
  const wrong = await managed.get('/actions?for=client.gone');
  assert.deepEqual(
    [wrong.status, wrong.body],
    [200, { code: 400, message: 'Event client.gone Not Found' }],
  );
  const one = (await managed.get('/actions/republish')).body.data as Action;
  assert.deepEqual(Object.keys(one), [
    ...['name', 'app', 'for', 'types', 'params', 'title', 'description'],
  ]);
  assert.ok('target_topic' in one.params);
  const older = await managed.get('/actions/built_in:republish_action');
  assert.deepEqual(older.body.data, one);
  const none = await managed.get('/actions/fly');
  assert.deepEqual([none.status, none.body.code], [404, 404]);
});

test('events are listed in the order of the interface', async () => {
  await using managed = await startRuled();
  interface Event {
    readonly event: string;
    readonly columns: readonly string[];
    readonly test_columns: object;
    readonly sql_example: string;
  }
  const events = (await managed.get('/rule_events/')).body.data as Event[];
  assert.deepEqual(
    events.slice(0, 10).map(({ event }) => event),
    [
      ...['message.publish', 'message.deliver', 'message.acked', 'message.dropped'],
      ...['client.connected', 'client.disconnected', 'client.subscribe', 'client.unsubscribe'],
      ...['session.subscribed', 'session.unsubscribed'],
    ],
  );
  for (const { event, sql_example: rawsql, test_columns: ctx, columns } of events) {
    assert.ok(columns.includes('client_id'), event);
    const answer = await managed.post('/rules?test', { rawsql, ctx });
    assert.equal(answer.body.code, 0, `${event}: ${rawsql}: ${answer.text}`);
  }
});

/** Actions of a rule that is made anew have other ids, and it comes last. */
function comparable(document: unknown): unknown {
  const { rules } = document as { readonly rules: readonly { readonly id: string }[] };
  const sorted = rules.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return JSON.parse(JSON.stringify(sorted).replaceAll(/"id":"[a-z_]+_[0-9]+",?/g, '')) as unknown;
}

test('rules go out as one document and come back, all or none', async () => {
  await using managed = await startRuled();
  const fallbacks = [{ name: 'do_nothing', params: {} }];
  const actions = [{ name: 'inspect', params: {}, fallbacks }];
  const first = await create(managed, { rawsql: sql, actions, name: 'first', enabled: false });
  const second = await create(managed, { rawsql: 'SELECT * FROM "a"', actions: [], id: 'rule:2' });
  const document = await managed.get('/rules/export');
  assert.equal(document.body.code, 0);
  await managed.delete(`/rules/${first.id}`);
  const taken = await managed.post('/rules/import', undefined, { raw: document.text });
  const resources = { created: 0, replaced: 0 };
  assert.deepEqual(taken.body, { code: 0, data: { created: 1, replaced: 1, resources } });
  const again = await managed.get('/rules/export');
  assert.deepEqual(comparable(again.body.data), comparable(document.body.data));
  const back = await show(managed, first.id);
  assert.deepEqual([back.name, back.enabled, back.rawsql], ['first', false, sql]);
  assert.equal(back.actions[0]?.fallbacks?.[0]?.name, 'do_nothing');
  assert.equal((await show(managed, second.id)).rawsql, 'SELECT * FROM "a"');
  const good = { id: 'rule:3', rawsql: sql, actions: [] };
  const bad = { id: 'rule:4', rawsql: 'SELECT', actions: [] };
  const refused = await managed.post('/rules/import', { version: 1, rules: [good, bad] });
  assert.equal(refused.body.code, 400);
  assert.match(refused.body.message ?? '', /rule:4/);
  assert.equal((await managed.get('/rules/rule:3')).body.code, 404);
  for (const wrong of [{}, { version: 2, rules: [] }, { version: 1, rules: {} }, { data: 5 }]) {
    const answer = await managed.post('/rules/import', wrong);
    assert.equal(answer.body.code, 400, JSON.stringify(wrong));
  }
});

test('rules are there again after a restart', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'broker-rules-'));
  try {
    let before: RuleRow;
    {
      await using managed = await startRuled(0, dir);
      before = await create(managed, { rawsql: sql, actions: inspect, name: 'kept' });
    }
    await using managed = await startRuled(0, dir);
    assert.deepEqual(await show(managed, before.id), before);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test('keys that mean something to the runtime are keys like any other', async () => {
  await using managed = await startRuled();
  const payload = JSON.stringify('{"__proto__":{"x":1}}');
  const rawsql = `SELECT payload.'__proto__'.x AS x, payload.constructor AS c, payload.x AS y FROM \\"t\\"`;
  const ctx = `{"topic":"t","payload":${payload},"__proto__":{"qos":7},"constructor":1}`;
  const raw = `{"rawsql":"${rawsql}","ctx":${ctx}}`;
  const tested = await managed.post('/rules?test', undefined, { raw });
  assert.deepEqual(tested.body, { code: 0, data: { x: 1 } }, tested.text);
  const params = '{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}}';
  const action = `{"name":"inspect","params":${params},"__proto__":{"id":"mine"}}`;
  const rule = `{"id":"rule:p","rawsql":"SELECT * FROM \\"t\\"","actions":[${action}],"__proto__":{"name":"n"}}`;
  const made = await managed.post('/rules', undefined, { raw: rule });
  assert.equal(made.body.code, 0, made.text);
  assert.equal((made.body.data as RuleRow).name, undefined);
  assert.equal(Object.getPrototypeOf({}), Object.prototype);
  assert.equal(({} as Record<string, unknown>)['x'], undefined);
  const document = (await managed.get('/rules/export')).text;
  const taken = await managed.post('/rules/import', undefined, { raw: document });
  assert.partialDeepStrictEqual(taken.body.data, { created: 0, replaced: 1 });
});
