import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { Type } from 'typebox';
import { OperatingError } from '#admin/failures';
import { type AnyOperation, define, Page } from '#admin/operation';
import { noParams } from '#admin/paging';
import { type Managed, startManaged } from '#test/managed';

let managed: Managed;

before(async () => {
  managed = await startManaged({ expectedErrors: ['operation.failed'] });
  managed.parts.catalogue.add('test', tried);
});

after(() => managed[Symbol.asyncDispose]());

const plain = { tag: 'Test', descr: '' };

const tried: AnyOperation[] = [
  define({
    ...plain,
    name: 'echo',
    http: { method: 'GET', path: '/test/echo/:id' },
    params: Type.Object({
      id: Type.String(),
      n: Type.Optional(Type.Integer({ minimum: 1, maximum: 9 })),
      is: Type.Optional(Type.Boolean()),
      text: Type.Optional(Type.String()),
    }),
    run: (params) => params,
  }),
  define({
    ...plain,
    name: 'fixed',
    http: { method: 'GET', path: '/test/echo/fixed' },
    params: noParams,
    run: () => 'fixed',
  }),
  define({
    ...plain,
    name: 'page',
    http: { method: 'GET', path: '/test/page' },
    params: noParams,
    run: () => new Page([1, 2], { page: 3, limit: 2, count: 6 }),
  }),
  define({
    ...plain,
    name: 'code_only',
    http: { method: 'PUT', path: '/test/code' },
    params: noParams,
    run: () => undefined,
  }),
  define({
    ...plain,
    name: 'needs',
    http: { method: 'POST', path: '/test/needs' },
    params: Type.Object({ a: Type.String(), b: Type.Integer() }),
    run: (params) => params,
  }),
  define({
    ...plain,
    name: 'whole_body',
    http: { method: 'POST', path: '/test/list', bodyAs: 'items' },
    params: Type.Object({
      items: Type.Array(Type.Integer()),
      as: Type.Optional(Type.String()),
    }),
    run: (params) => params,
  }),
  define({
    ...plain,
    name: 'remove',
    http: { method: 'DELETE', path: '/test/thing/:who' },
    params: Type.Object({ who: Type.String(), as: Type.String() }),
    run: (params) => params,
  }),
  define({
    ...plain,
    name: 'refuses',
    http: { method: 'GET', path: '/test/refuses' },
    params: noParams,
    run: () => {
      throw new OperatingError('notOnline', 'not_found');
    },
  }),
  define({
    ...plain,
    name: 'breaks',
    http: { method: 'GET', path: '/test/breaks' },
    params: noParams,
    run: () => {
      throw new Error('a table with the name s3cret is missing');
    },
  }),
  define({
    ...plain,
    name: 'of_users',
    http: { method: 'GET', path: '/test/of_users', port: 'dashboard' },
    params: noParams,
    run: () => 'seen',
  }),
];

test('an answer is a code, with data, or with data and meta, as JSON without a charset', async () => {
  const data = await managed.get('/test/echo/fixed');
  assert.equal(data.text, '{"code":0,"data":"fixed"}');
  assert.equal(data.status, 200);
  assert.equal(data.headers['content-type'], 'application/json');
  const code = await managed.put('/test/code');
  assert.equal(code.text, '{"code":0}');
  const page = await managed.get('/test/page');
  assert.equal(page.text, '{"code":0,"data":[1,2],"meta":{"page":3,"limit":2,"count":6}}');
});

test('a failure of an operation is its code and message, with the status of the table', async () => {
  const { status, text } = await managed.get('/test/refuses');
  assert.equal(status, 200);
  assert.equal(text, '{"code":112,"message":"not_found"}');
});

test('an unknown path, an unknown method and a path of the other port are not found', async () => {
  for (const [method, path] of [
    ['GET', '/nothing'],
    ['PATCH', '/test/code'],
    ['OPTIONS', '/test/code'],
    ['POST', '/test/page'],
    ['POST', '/'],
    ['GET', '/test/of_users'],
    ['GET', '/apps'],
    ['GET', '@/'],
    ['GET', '@/api/v4/nodes'],
  ] as const) {
    const { status, text } = await managed.ask(method, path, undefined);
    assert.equal(status, 404, `${method} ${path}`);
    assert.equal(text, '{"code":404,"message":"Not Found"}');
  }
});

test('credentials are asked for before it is told whether a path exists', async () => {
  for (const path of ['/nothing', '/nodes', '/', '/test/of_users', '/test/%zz', '/auth']) {
    const { status, body, headers } = await managed.get(path, { auth: '' });
    assert.equal(status, 401, path);
    assert.deepEqual(body, { code: 401, message: 'Unauthorized: credentials are required' });
    assert.match(String(headers['www-authenticate']), /^Basic realm="broker"/);
  }
});

test('slashes that end a path or are doubled make no difference', async () => {
  for (const path of ['/test/page', '/test/page/', '//test//page', '@//api//v3/test/page//']) {
    assert.equal((await managed.get(path)).body.code, 0, path);
  }
  for (const path of ['@/api/v3', '@/api/v3/', '@/api/v3?x=1']) {
    assert.ok(Array.isArray((await managed.get(path)).body.data), path);
  }
});

test('a literal stands before a parameter', async () => {
  assert.equal((await managed.get('/test/echo/fixed')).body.data, 'fixed');
  assert.deepEqual((await managed.get('/test/echo/other')).body.data, { id: 'other' });
});

test('paths and queries are percent-decoded, once', async () => {
  for (const id of [
    'a/b',
    '%2F',
    'a b+c?',
    'ü✓',
    '50%',
    '..',
    '*',
    ':x',
    '"\\',
    'x'.repeat(4000),
  ]) {
    const text = encodeURIComponent(id);
    const { body } = await managed.get(`/test/echo/${text}?text=${text}`);
    assert.deepEqual(body.data, { id, text: id });
  }
});

test('an escape that is none is refused with the code of a wrong parameter', async () => {
  for (const path of ['/test/echo/%zz', '/test/echo/%', '/test/echo/x?text=%E0%A4', '/%']) {
    const { status, body } = await managed.get(path);
    assert.equal(status, 400, path);
    assert.equal(body.code, 108);
    assert.match(String(body.message), /^Cannot decode ".*": expected %XX/);
  }
});

test('text of a path or a query becomes what the schema says', async () => {
  const { body } = await managed.get('/test/echo/7?n=5&is=true&text=5');
  assert.deepEqual(body.data, { id: '7', n: 5, is: true, text: '5' });
});

test('a body is read as JSON on every method and whatever its content type says', async () => {
  for (const type of ['application/json', 'text/plain', 'multipart/form-data', 'garbage', '']) {
    const headers = { 'content-type': type };
    const raw = '{"as":"username"}';
    const removed = await managed.delete('/test/thing/x', undefined, { raw, headers });
    assert.deepEqual(removed.body.data, { who: 'x', as: 'username' }, type);
    const got = await managed.get('/test/echo/x', { raw: '{"n":3}', headers });
    assert.deepEqual(got.body.data, { id: 'x', n: 3 }, type);
  }
});

test('an empty body is no body', async () => {
  const headers = { 'content-type': 'application/json' };
  assert.equal((await managed.put('/test/code', undefined, { raw: '', headers })).body.code, 0);
  assert.equal((await managed.get('/test/page', { headers })).body.code, 0);
});

test('a body that is not JSON is refused with status 400', async () => {
  for (const raw of ['{', 'a=1', '{"a":1}}', '\0']) {
    const { status, body } = await managed.post('/test/needs', undefined, { raw });
    assert.equal(status, 400);
    assert.equal(body.code, 109);
    assert.match(String(body.message), /^Cannot read the body as JSON: /);
  }
});

test('path stands before query, query before body, and of a query the first', async () => {
  const { body } = await managed.get('/test/echo/path?id=query&n=1&n=2', {
    raw: '{"id":"body","n":3,"text":"body"}',
  });
  assert.deepEqual(body.data, { id: 'path', n: 1, text: 'body' });
});

test('the whole body is one parameter where the operation says so', async () => {
  const { body } = await managed.post('/test/list?as=x', [1, 2]);
  assert.deepEqual(body.data, { items: [1, 2], as: 'x' });
  const wrong = await managed.post('/test/list', { items: [1] });
  assert.equal(wrong.body.code, 108);
});

test('a body that is no object is refused where parameters have names', async () => {
  for (const [body, word] of [
    [[1], 'an array'],
    [null, 'null'],
    ['x', 'a string'],
    [1, 'a number'],
  ] as const) {
    const answer = await managed.post('/test/needs', undefined, { raw: JSON.stringify(body) });
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body, {
      code: 108,
      message: `Cannot use the body: found ${word}, expected an object`,
    });
  }
});

test('parameters that are missing or wrong are named', async () => {
  const missing = await managed.post('/test/needs', {});
  assert.equal(missing.status, 200);
  assert.equal(missing.body.code, 107);
  assert.match(String(missing.body.message), /^missing mandatory params: .*a.*b/);
  const wrong = await managed.get('/test/echo/x?n=12');
  assert.equal(wrong.status, 200);
  assert.equal(wrong.body.code, 108);
  assert.match(String(wrong.body.message), /n.*12.*from 1 to 9/);
});

test('a field cannot reach a prototype', async () => {
  const raw = '{"__proto__":{"a":"x","b":1},"constructor":{"prototype":{"a":"y"}}}';
  const { body } = await managed.post('/test/needs?__proto__=1', undefined, { raw });
  assert.equal(body.code, 107);
});

test('a fault of our own is told as one, without its details, and logged with them', async () => {
  const { status, text } = await managed.get('/test/breaks');
  assert.equal(status, 500);
  assert.equal(text, '{"code":500,"message":"Internal Error"}');
  const line = managed.logged.find((one) => one.includes('operation.failed'));
  assert.match(String(line), /"operation":"breaks".*s3cret/);
});

test('HEAD is GET without a body', async () => {
  const get = await managed.get('/test/page');
  const head = await managed.ask('HEAD', '/test/page', undefined);
  assert.equal(head.status, 200);
  assert.equal(head.text, '');
  assert.equal(head.headers['content-type'], 'application/json');
  assert.equal(head.headers['content-length'], get.headers['content-length']);
  assert.equal((await managed.ask('HEAD', '/nothing', undefined)).status, 404);
  assert.equal((await managed.ask('HEAD', '/nothing', undefined, { auth: '' })).status, 401);
});

test('operations that come and go while the node runs are served and not served', async () => {
  const { catalogue } = managed.parts;
  const late = define({
    ...plain,
    name: 'late',
    http: { method: 'GET', path: '/test/late' },
    params: noParams,
    run: () => 'here',
  });
  assert.equal((await managed.get('/test/late')).status, 404);
  catalogue.add('plugin', [late]);
  assert.equal((await managed.get('/test/late')).body.data, 'here');
  catalogue.remove('plugin');
  assert.equal((await managed.get('/test/late')).status, 404);
  assert.equal((await managed.get('/test/page')).status, 200);
});

test('the index lists what its port serves', async () => {
  const rows = (await managed.get('/')).body.data as { name: string; path: string }[];
  const names = rows.map(({ name }) => name);
  assert.ok(names.includes('echo'));
  assert.ok(!names.includes('of_users') && !names.includes('add_app') && !names.includes('index'));
});

test('the probes answer without credentials', async () => {
  const open = { auth: '' };
  const status = await managed.get('@/status', open);
  assert.equal(status.status, 200);
  assert.equal(status.headers['content-type'], 'text/plain');
  assert.equal(status.text, 'Node broker@127.0.0.1 is started\nbroker is running');
  for (const path of ['@/livez', '@/readyz', '@/readyz?verbose']) {
    assert.equal((await managed.get(path, open)).text, 'ok', path);
  }
  assert.equal((await managed.post('@/status', undefined, open)).status, 404);
});

test('no answer lets a page of another origin read it', async () => {
  const { headers } = await managed.get('/test/page', { headers: { origin: 'http://evil' } });
  assert.equal(headers['access-control-allow-origin'], undefined);
});
