import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { type AskOptions, type HttpAnswer, type Managed, startManaged } from '#test/managed';

let managed: Managed;
let asUser: AskOptions;

before(async () => {
  const settings = { 'dashboard.listener.http': '127.0.0.1:0' };
  managed = await startManaged({ settings });
  asUser = { auth: 'admin:public', port: managed.portOf('dashboard') };
});

after(() => managed[Symbol.asyncDispose]());

const add = (fields: object): Promise<HttpAnswer> => managed.post('/apps', fields, asUser);

test('an application that is added gets a secret, is listed without it and is let in', async () => {
  const { body } = await add({ app_id: 'one', name: 'One', desc: 'first' });
  assert.equal(body.code, 0);
  const { secret } = body.data as { secret: string };
  assert.match(secret, /^[0-9A-Za-z]{43}$/);
  assert.equal((await managed.get('/nodes', { auth: `one:${secret}` })).status, 200);
  const listed = (await managed.get('/apps/', asUser)).body.data as { app_id: string }[];
  assert.deepEqual(
    listed.find(({ app_id }) => app_id === 'one'),
    { app_id: 'one', name: 'One', desc: 'first', status: true, expired: 'undefined' },
  );
  const { body: found } = await managed.get('/apps/one', asUser);
  assert.deepEqual(found.data, {
    app_id: 'one',
    name: 'One',
    desc: 'first',
    status: true,
    expired: 'undefined',
    secret: '******',
  });
});

test('an application can bring its secret, its state and its end', async () => {
  const expired = Math.floor(Date.now() / 1000) + 100;
  const { body } = await add({ app_id: 'two', secret: 'mine-alone', status: false, expired });
  assert.deepEqual(body, { code: 0, data: { secret: 'mine-alone' } });
  assert.equal((await managed.get('/nodes', { auth: 'two:mine-alone' })).status, 401);
  assert.equal((await managed.put('/apps/two', { status: true }, asUser)).body.code, 0);
  assert.equal((await managed.get('/nodes', { auth: 'two:mine-alone' })).status, 200);
  const { data } = (await managed.get('/apps/two', asUser)).body;
  assert.equal((data as { expired: unknown }).expired, expired);
});

test('an application is changed where the request names something, and stays elsewhere', async () => {
  await add({ app_id: 'three', name: 'n', desc: 'd', expired: 2_000_000_000 });
  const fields = async (): Promise<unknown> => (await managed.get('/apps/three', asUser)).body.data;
  await managed.put('/apps/three', { name: 'm' }, asUser);
  const changed = { app_id: 'three', name: 'm', desc: 'd', status: true, secret: '******' };
  assert.deepEqual(await fields(), { ...changed, expired: 2_000_000_000 });
  await managed.put('/apps/three', { expired: null }, asUser);
  assert.deepEqual(await fields(), { ...changed, expired: 'undefined' });
});

test('what is wrong with an application is told by code 102', async () => {
  await add({ app_id: 'four' });
  const twice = await add({ app_id: 'four' });
  assert.equal(twice.status, 200);
  assert.deepEqual(twice.body, { code: 102, message: 'alread_existed' });
  const unknown = await managed.put('/apps/nobody', { name: 'x' }, asUser);
  assert.deepEqual(unknown.body, { code: 102, message: 'ont_found' });
  assert.deepEqual((await managed.get('/apps/nobody', asUser)).body, { code: 0, data: [] });
  assert.deepEqual((await managed.delete('/apps/nobody', undefined, asUser)).body, { code: 0 });
});

test('of two that add the same application at once one is refused', async () => {
  const both = await Promise.all([add({ app_id: 'five' }), add({ app_id: 'five' })]);
  const codes = new Set(both.map(({ body }) => body.code));
  assert.deepEqual(codes, new Set([0, 102]));
});

test('an id that credentials cannot carry is refused', async () => {
  for (const app_id of ['', 'a:b', 'a b', 'x'.repeat(256)]) {
    assert.equal((await add({ app_id })).body.code, 108, app_id);
  }
  assert.equal((await add({})).body.code, 107);
});

test('an application that is deleted is not let in', async () => {
  const { body } = await add({ app_id: 'a/b' });
  const auth = `a/b:${(body.data as { secret: string }).secret}`;
  assert.equal((await managed.get('/nodes', { auth })).status, 200);
  assert.equal((await managed.delete('/apps/a%2Fb', undefined, asUser)).body.code, 0);
  assert.equal((await managed.get('/nodes', { auth })).status, 401);
});

test('mgmt manages applications from the command line', async () => {
  const inserted = await managed.ctl('mgmt', 'insert', 'cli', 'Of the console');
  assert.equal(inserted.code, 0);
  const secret = /^AppSecret: ([0-9A-Za-z]{43})\n$/.exec(inserted.stdout)?.[1];
  assert.ok(secret, inserted.stdout);
  assert.equal((await managed.get('/nodes', { auth: `cli:${secret}` })).status, 200);
  const line =
    'app_id: cli, secret: ******, name: Of the console, desc: Application user, ' +
    'status: true, expired: undefined';
  const listed = await managed.ctl('mgmt', 'list');
  assert.ok(listed.stdout.split('\n').includes(line), listed.stdout);
  const found = await managed.ctl('mgmt', 'lookup', 'cli');
  assert.equal(found.stdout, `${line.replaceAll(', ', '\n')}\n`);
  const updated = await managed.ctl('mgmt', 'update', 'cli', 'false');
  assert.equal(updated.stdout, 'update successfully.\n');
  assert.equal((await managed.get('/nodes', { auth: `cli:${secret}` })).status, 401);
  assert.equal((await managed.ctl('mgmt', 'delete', 'cli')).stdout, 'ok\n');
  assert.equal((await managed.ctl('mgmt', 'lookup', 'cli')).stdout, 'Not Found.\n');
  const gone = await managed.ctl('mgmt', 'update', 'cli', 'true');
  assert.deepEqual(gone, { stdout: 'Error: ont_found\n', stderr: '', code: 1 });
});

test('the configured secret is that of an application without one', async () => {
  await using other = await startManaged({
    settings: { 'management.application.default_secret': 'for-everybody' },
  });
  assert.equal((await other.ctl('mgmt', 'insert', 'a', 'b')).stdout, 'AppSecret: for-everybody\n');
  assert.equal((await other.get('/nodes', { auth: 'a:for-everybody' })).status, 200);
});
