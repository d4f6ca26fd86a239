import assert from 'node:assert/strict';
import test from 'node:test';
import type { Managed } from '#test/managed';
import { Sink } from './resources-fixture.ts';
import { connect, startRuled } from './rules-fixture.ts';

type Row = Readonly<Record<string, unknown>> & { readonly id: string };

async function created(managed: Managed, path: string, body: object): Promise<Row> {
  const answer = await managed.post(path, body);
  assert.equal(answer.body.code, 0, answer.text);
  return answer.body.data as Row;
}

const filled = {
  headers: {},
  method: 'POST',
  content_type: 'application/json',
  connect_timeout: 5,
  request_timeout: 5,
  pool_size: 32,
  queue_size: 10_000,
  queue_bytes: 67_108_864,
  buffer: 'memory',
  buffer_bytes: 1_073_741_824,
  retry_seconds: 60,
  ...{ cacertfile: '', certfile: '', keyfile: '', verify: true },
};

for (const workers of [0, 2]) {
  test(`a resource is created, tested, shown, changed, started and deleted, with ${workers} workers`, async () => {
    await using sink = await Sink.open();
    await using managed = await startRuled(workers);
    const node = managed.parts.settings.node.name;
    const body = { type: 'web_hook', config: { url: sink.url }, description: 'd' };
    const tested = await managed.post('/resources?test=true', body);
    assert.deepEqual(tested.body, { code: 0 });
    assert.deepEqual((await managed.get('/resources')).body.data, []);
    const made = await created(managed, '/resources', body);
    const { id } = made;
    assert.match(id, /^resource:[0-9a-f]{8}$/);
    const config = { url: sink.url, ...filled };
    const plain = { id, type: 'web_hook', config, attrs: 'undefined', description: 'd' };
    assert.deepEqual(made, plain);
    assert.deepEqual((await managed.get('/resources/')).body.data, [plain]);
    assert.deepEqual((await managed.get('/resource_types/web_hook/resources')).body.data, [plain]);
    assert.deepEqual((await managed.get('/resource_types/built_in/resources')).body.data, []);
    const shown = await managed.get(`/resources/${id}`);
    assert.deepEqual(shown.body.data, { ...plain, status: [{ node, is_alive: true }] });
    assert.deepEqual((await managed.get(`/resource_status/${id}`)).body.data, { is_alive: true });
    const changed = await managed.put(`/resources/${id}`, {
      config: { url: sink.url, pool_size: 1 },
    });
    assert.equal((changed.body.data as { config: { pool_size: number } }).config.pool_size, 1);
    assert.equal((changed.body.data as Row)['description'], 'd');
    assert.deepEqual((await managed.post(`/resources/${id}`, {})).body, { code: 0 });
    await sink.down();
    const failed = await managed.post(`/resources/${id}`, {});
    assert.deepEqual(failed.body, { code: 400, message: `Start Resource ${id} Failed` });
    assert.deepEqual((await managed.delete(`/resources/${id}`)).body, { code: 0 });
    assert.deepEqual((await managed.delete(`/resources/${id}`)).body, { code: 0 });
    assert.deepEqual((await managed.get('/resources')).body.data, []);
  });
}

test('a resource that cannot be reached is created all the same, and a test of it fails', async () => {
  await using managed = await startRuled();
  const body = { type: 'web_hook', config: { url: 'http://127.0.0.1:1' } };
  const tested = await managed.post('/resources?test', body);
  assert.equal(tested.status, 200);
  assert.equal(tested.body.code, 500);
  assert.match(tested.body.message ?? '', /^Test Creating Resource Failed/);
  const { id } = await created(managed, '/resources', body);
  assert.deepEqual((await managed.get(`/resource_status/${id}`)).body.data, { is_alive: false });
  assert.equal((await managed.get('/alarms/present')).text.includes('resource_down'), false);
});

test('what is wrong with a resource is told', async () => {
  await using managed = await startRuled();
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ type: 'nonsense', config: {} }, /^Resource Type nonsense Not Found$/],
    [{ type: 'web_hook', config: {} }, /^Bad Arguments: .*"url" is missing/],
    [{ type: 'web_hook', config: { url: 'ftp://a' } }, /^Bad Arguments: .*expected a URL of http/],
    [{ type: 'web_hook', config: { url: 'http://u:p@a' } }, /user and password/],
    [{ type: 'web_hook', config: { url: 'http://a', method: 'PATCH' } }, /expected one of "POST"/],
    [{ type: 'web_hook', config: { url: 'http://a', headers: [] } }, /expected an object/],
    [
      { type: 'web_hook', config: { url: 'http://a', headers: { 'a b': '1' } } },
      /no name of a header/,
    ],
    [
      { type: 'web_hook', config: { url: 'http://a', headers: { a: '1\r\nb: 2' } } },
      /beyond a line/,
    ],
    [{ type: 'web_hook', config: { url: 'http://a', headers: { host: 'b' } } }, /request itself/],
    [{ type: 'web_hook', config: { url: 'http://a', pool_size: 0 } }, /expected 1 to 1024/],
    [{ type: 'built_in', name: 'a/b', config: {} }, /expected a name of letters/],
    [{ config: {} }, /type/],
  ];
  for (const [body, wanted] of cases) {
    const { status, body: answer } = await managed.post('/resources', body);
    assert.deepEqual([status, answer.code], [200, 400], JSON.stringify(body));
    assert.match(answer.message ?? '', wanted);
  }
  assert.deepEqual((await managed.get('/resources')).body.data, []);
  const missing = { code: 400, message: 'Resource resource:00000000 Not Found' };
  assert.deepEqual((await managed.get('/resource_status/resource:00000000')).body, missing);
  assert.deepEqual((await managed.post('/resources/resource:00000000', {})).body, missing);
  assert.deepEqual((await managed.put('/resources/resource:00000000', {})).body, missing);
  const shown = await managed.get('/resources/resource:00000000');
  assert.deepEqual(shown.body, { code: 404, message: 'Not Found' });
  assert.equal((await managed.get('/resource_types/nonsense')).status, 404);
});

test('secrets go in and never come out, and their mark keeps them', async () => {
  await using sink = await Sink.open();
  await using managed = await startRuled();
  const headers = { Authorization: 'Bearer s3cret', 'X-Room': '7' };
  const { id, config } = await created(managed, '/resources', {
    type: 'web_hook',
    config: { url: sink.url, headers },
  });
  const shown = { Authorization: '******', 'X-Room': '7' };
  assert.deepEqual((config as { headers: unknown }).headers, shown);
  const update = { config: { url: sink.url, headers: { ...shown, 'X-Room': '8' } } };
  assert.equal((await managed.put(`/resources/${id}`, update)).body.code, 0);
  const outs = [
    await managed.get('/resources'),
    await managed.get(`/resources/${id}`),
    await managed.get('/resource_types/web_hook/resources'),
  ];
  for (const { text } of outs) assert.equal(text.includes('s3cret'), false);
  assert.equal((await managed.ctl('resources', 'list')).stdout.includes('s3cret'), false);
  await created(managed, '/rules', {
    rawsql: 'SELECT * FROM "t"',
    actions: [{ name: 'data_to_webserver', params: { $resource: id } }],
  });
  const client = await connect(managed, 'c');
  await client.publishAsync('t', 'x', { qos: 1 });
  await sink.until((told) => told.length === 1);
  const [told] = sink.told;
  assert.deepEqual([told?.headers.authorization, told?.headers['x-room']], ['Bearer s3cret', '8']);
  await client.endAsync();
});

test('a resource that a rule needs stays, and a rule names one that is there and of its kind', async () => {
  await using managed = await startRuled();
  const older = await created(managed, '/resources', { type: 'built_in', name: 'a', config: {} });
  assert.deepEqual([older.id, older['name']], ['built_in:a', 'a']);
  const hook = await created(managed, '/resources', {
    type: 'web_hook',
    name: 'h',
    config: { url: 'http://127.0.0.1:1' },
  });
  const ruleWith = ($resource: string): object => ({
    rawsql: 'SELECT * FROM "t"',
    actions: [{ name: 'web_hook:publish_action', params: { $resource } }],
  });
  const none = await managed.post('/rules', ruleWith('resource:00000000'));
  assert.deepEqual(none.body, { code: 400, message: 'Resource resource:00000000 Not Found' });
  const wrong = await managed.post('/rules', ruleWith('built_in:a'));
  assert.match(wrong.body.message ?? '', /is of type built_in, expected web_hook/);
  const rule = await created(managed, '/rules', ruleWith(hook.id));
  const refused = await managed.delete(`/resources/${hook.id}`);
  const text = `Bad Arguments: {dependency_exists,{rule,<<"${rule.id}">>}}`;
  assert.deepEqual(refused.body, { code: 400, message: text });
  const { stdout } = await managed.ctl('resources', 'delete', hook.id);
  assert.equal(stdout, `Cannot delete resource as {dependency_exists,{rule,<<"${rule.id}">>}}\n`);
  await managed.delete(`/rules/${rule.id}`);
  assert.deepEqual((await managed.delete(`/resources/${hook.id}`)).body, { code: 0 });
});

test('types of resources are listed by title, with their parameters and actions', async () => {
  await using managed = await startRuled();
  const types = (await managed.get('/resource_types')).body.data as readonly { name: string }[];
  assert.deepEqual(
    types.map(({ name }) => name),
    ['built_in', 'web_hook'],
  );
  const type = (await managed.get('/resource_types/web_hook')).body.data as {
    readonly provider: string;
    readonly params: Readonly<
      Record<string, { readonly order: number; readonly required: boolean }>
    >;
  };
  assert.equal(type.provider, 'broker_web_hook');
  const { url, headers, method } = type.params;
  assert.deepEqual([url?.order, url?.required], [1, true]);
  assert.deepEqual([headers?.required, method?.required], [false, false]);
  const actions = (await managed.get('/resource_types/web_hook/actions')).body.data;
  assert.deepEqual(
    (actions as readonly { name: string }[]).map(({ name }) => name),
    ['data_to_webserver', 'web_hook:event_action'],
  );
});

test('resources on the command line', async () => {
  await using sink = await Sink.open();
  await using managed = await startRuled(0);
  const config = JSON.stringify({ url: sink.url });
  const out = async (...args: readonly string[]): Promise<string> =>
    (await managed.ctl(...args)).stdout;
  const test = 'Test creating resource successfully (dry-run)\n';
  assert.equal(await out('resources', 'test', 'web_hook', '-c', config), test);
  const away = JSON.stringify({ url: 'http://127.0.0.1:1' });
  assert.match(
    await out('resources', 'test', 'web_hook', '-c', away),
    /^Test creating resource failed: Cannot reach the web server: connect ECONNREFUSED/,
  );
  const made = await out('resources', 'create', 'web_hook', '-c', config, '-d', 'told');
  const id = /^Resource (resource:[0-9a-f]{8}) created\n$/.exec(made)?.[1] ?? '';
  const line = await out('resources', 'show', id);
  const head = `resource(id='${id}', type='web_hook', config=#{<<"url">> => <<"${sink.url}">>,`;
  assert.ok(line.startsWith(head), line);
  const node = managed.parts.settings.node.name;
  const tail = `status=[#{is_alive => true,node => '${node}'}], description='told')\n`;
  assert.ok(line.endsWith(tail), line);
  assert.equal(await out('resources', 'list', '-t', 'web_hook'), line);
  assert.equal(await out('resources', 'list', '-t', 'built_in'), '');
  assert.equal(await out('resources', 'show', 'nobody'), 'Cannot found nobody\n');
  assert.match(await out('resources', 'create', 'nonsense'), /^Invalid options: Resource Type/);
  assert.equal(await out('resources', 'delete', id), 'ok\n');
  assert.equal(
    await out('resource-types', 'show', 'web_hook'),
    "resource_type(name='web_hook', provider='broker_web_hook', title ='WebHook', description='WebHook')\n",
  );
  assert.equal((await out('resource-types', 'list')).split('\n').length, 3);
});
