import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { basic, startManaged } from '#test/managed';

const app = { id: 'a', name: '', desc: '', status: true };

test('wrong, malformed and foreign credentials are refused alike', async () => {
  await using managed = await startManaged();
  const good = managed.auth;
  for (const header of [
    basic('test:wrong'),
    basic('nobody:wrong'),
    basic('test'),
    basic(`:${good}`),
    basic(''),
    'Basic',
    'Basic !!!',
    `Bearer ${Buffer.from(good).toString('base64')}`,
  ]) {
    const headers = { authorization: header };
    const { status, body, headers: answered } = await managed.get('/nodes', { auth: '', headers });
    assert.equal(status, 401, header);
    assert.equal(body.code, 401);
    assert.match(String(answered['www-authenticate']), /^Basic realm="broker"/);
  }
  assert.equal((await managed.get('/nodes')).status, 200);
});

test('the scheme of credentials may be written in any case, and a secret may hold a colon', async () => {
  await using managed = await startManaged();
  await managed.parts.services.apps.add(app, 'se:cr:et ü');
  assert.equal((await managed.get('/nodes', { auth: 'a:se:cr:et ü' })).status, 200);
  const headers = { authorization: basic('a:se:cr:et ü').replace('Basic', 'bASIC') };
  assert.equal((await managed.get('/nodes', { auth: '', headers })).status, 200);
});

test('an application that is switched off, expired or gone is refused from the next request on', async () => {
  await using managed = await startManaged();
  const { apps } = managed.parts.services;
  const auth = `a:${await apps.add(app, undefined)}`;
  const status = async (): Promise<number> => (await managed.get('/nodes', { auth })).status;
  const nowSeconds = Math.floor(Date.now() / 1000);
  assert.equal(await status(), 200);
  await apps.change('a', { status: false });
  assert.equal(await status(), 401);
  await apps.change('a', { status: true, expired: nowSeconds - 10 });
  assert.equal(await status(), 401);
  await apps.change('a', { expired: nowSeconds + 1000 });
  assert.equal(await status(), 200);
  await apps.remove('a');
  assert.equal(await status(), 401);
});

for (const workers of [0, 2]) {
  test(`applications and users outlive a node with ${workers} workers`, async () => {
    using place = new TempDir();
    const settings = { 'dashboard.listener.http': '127.0.0.1:0' };
    const dir = place.path;
    const first = await startManaged({ dir, workers, settings });
    const auth = `a:${await first.parts.services.apps.add(app, undefined)}`;
    await first.parts.services.users.setPassword('admin', 'changed');
    await first[Symbol.asyncDispose]();
    await using second = await startManaged({ dir, workers, settings });
    assert.equal((await second.get('/nodes', { auth })).status, 200);
    const port = second.portOf('dashboard');
    assert.equal((await second.get('/nodes', { auth: 'admin:changed', port })).status, 200);
    assert.equal((await second.get('/nodes', { auth: 'admin:public', port })).status, 401);
  });
}

test('a user is no application and an application no user', async () => {
  await using managed = await startManaged({
    settings: { 'dashboard.listener.http': '127.0.0.1:0' },
  });
  const port = managed.portOf('dashboard');
  assert.equal((await managed.get('/nodes', { auth: 'admin:public', port })).status, 200);
  assert.equal((await managed.get('/nodes', { auth: 'admin:public' })).status, 401);
  assert.equal((await managed.get('/nodes', { port })).status, 401);
  const named = (await managed.get('/', { auth: 'admin:public', port })).body.data;
  const names = (named as { name: string }[]).map(({ name }) => name);
  for (const name of ['add_app', 'auth_user', 'list_nodes']) assert.ok(names.includes(name), name);
});

test('an address that names wrong secrets has to wait, whatever it names then', async () => {
  await using managed = await startManaged();
  for (let i = 0; i < 10; i++) {
    assert.equal((await managed.get('/nodes', { auth: `test:guess${i}` })).status, 401);
  }
  const { status, body, headers } = await managed.get('/nodes');
  assert.equal(status, 429);
  assert.equal(body.code, 429);
  assert.match(String(body.message), /^Too many failed logins: try again in \d+ seconds$/);
  const waitSeconds = Number(headers['retry-after']);
  assert.ok(waitSeconds > 50 && waitSeconds <= 60, String(waitSeconds));
  assert.equal((await managed.get('@/readyz', { auth: '' })).status, 200);
});

test('guesses that come all at once are not more than the limit', async () => {
  await using managed = await startManaged();
  const guesses = Array.from({ length: 40 }, (_, i) =>
    managed.get('/nodes', { auth: `test:guess${i}` }),
  );
  const statuses = (await Promise.all(guesses)).map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 401).length, 10);
  assert.equal(statuses.filter((status) => status === 429).length, 30);
});

test('many requests with the right secret at once are no guesses', async () => {
  await using managed = await startManaged();
  const asked = Array.from({ length: 40 }, () => managed.get('/nodes'));
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  assert.deepEqual(new Set(statuses), new Set([200]));
});

test('requests without credentials are no guesses', async () => {
  await using managed = await startManaged();
  for (let i = 0; i < 15; i++) {
    assert.equal((await managed.get('/nodes', { auth: '' })).status, 401);
  }
  assert.equal((await managed.get('/nodes')).status, 200);
});

test('no secret is in the log or, as it is, in the store', async () => {
  using place = new TempDir();
  const dir = place.path;
  const settings = { 'dashboard.listener.http': '127.0.0.1:0', 'log.level': 'debug' };
  const managed = await startManaged({ dir, settings });
  const port = managed.portOf('dashboard');
  const options = { auth: 'admin:public', port };
  const secrets = ['app-s3cret-1', 'user-s3cret-2', 'user-s3cret-3', 'guess-s3cret-4'];
  const [ofApp, ofUser, next, guess] = secrets;
  await managed.post('/apps', { app_id: 'a', name: 'a', secret: ofApp }, options);
  assert.equal((await managed.get('/nodes', { auth: `a:${ofApp}` })).status, 200);
  await managed.post('/users', { username: 'u', password: ofUser }, options);
  await managed.post('/auth', { username: 'u', password: ofUser }, { auth: '', port });
  await managed.put('/change_pwd/u', { old_pwd: ofUser, new_pwd: next }, options);
  await managed.get(`/nodes?secret=${guess}`, { auth: `a:${guess}` });
  await managed.post('/auth', { username: 'u', password: guess }, { auth: '', port });
  await managed.ctl('admins', 'add', 'v', String(ofUser));
  await managed[Symbol.asyncDispose]();
  const kept = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'));
  assert.ok(kept.some((text) => text.includes('argon2id')));
  for (const secret of secrets) {
    assert.ok(!kept.some((text) => text.includes(secret)), `${secret} is in a file`);
    assert.ok(!managed.logged.some((line) => line.includes(secret)), `${secret} is in the log`);
  }
});

class TempDir implements Disposable {
  readonly path: string = mkdtempSync(join(tmpdir(), 'broker-auth-'));
  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
