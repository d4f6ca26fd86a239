import assert from 'node:assert/strict';
import test from 'node:test';
import { type AskOptions, type Managed, startManaged } from '#test/managed';

const settings = { 'dashboard.listener.http': '127.0.0.1:0' };

function as(managed: Managed, auth: string): AskOptions {
  return { auth, port: managed.portOf('dashboard') };
}

test('the first start makes the user of the configuration', async () => {
  await using shipped = await startManaged({ settings });
  const { body } = await shipped.get('/users/', as(shipped, 'admin:public'));
  assert.deepEqual(body.data, [{ username: 'admin', tags: 'administrator' }]);
  await using other = await startManaged({
    settings: {
      ...settings,
      'dashboard.default_user.login': 'boss',
      'dashboard.default_user.password': 'of the boss',
    },
  });
  const users = await other.get('/users', as(other, 'boss:of the boss'));
  assert.deepEqual(users.body.data, [{ username: 'boss', tags: 'administrator' }]);
});

test('while the password is the shipped one, the log says so and a bare port is of this machine only', async () => {
  const bare = { 'dashboard.listener.http': '0' };
  await using shipped = await startManaged({ settings: bare });
  const [port] = shipped.whole.doors.ports.filter(({ settings: s }) => s.owner === 'dashboard');
  assert.match(String(port?.listensOn), /^127\.0\.0\.1:\d+$/);
  const warned = shipped.logged.find((line) => line.includes('dashboard.password.shipped'));
  assert.match(String(warned), /"level":"warning".*"user":"admin"/);
  await using safe = await startManaged({
    settings: { ...bare, 'dashboard.default_user.password': 'not the shipped one' },
  });
  const [open] = safe.whole.doors.ports.filter(({ settings: s }) => s.owner === 'dashboard');
  assert.match(String(open?.listensOn), /^\*:\d+$/);
  assert.ok(!safe.logged.some((line) => line.includes('dashboard.password.shipped')));
});

test('where there is no dashboard nobody is made', async () => {
  await using managed = await startManaged();
  assert.deepEqual(managed.parts.services.users.list(), []);
});

test('users are created, listed, changed and deleted', async () => {
  await using managed = await startManaged({ settings });
  const admin = as(managed, 'admin:public');
  const ann = { username: 'ann', password: 'of ann', tags: 'viewer' };
  assert.deepEqual((await managed.post('/users', ann, admin)).body, { code: 0 });
  const listed = (await managed.get('/users', admin)).body.data;
  assert.deepEqual(listed, [
    { username: 'admin', tags: 'administrator' },
    { username: 'ann', tags: 'viewer' },
  ]);
  const twice = await managed.post('/users', ann, admin);
  assert.deepEqual(twice.body, { code: 113, message: 'Username Already Exist' });
  for (const fields of [{}, { username: 'x' }, { password: 'x' }, { username: '', password: '' }]) {
    const { status, body } = await managed.post('/users', fields, admin);
    assert.equal(status, 200);
    assert.deepEqual(body, { code: 104, message: 'Username or password undefined' });
  }
  assert.equal((await managed.post('/users', { ...ann, username: 'a:b' }, admin)).body.code, 108);
  assert.deepEqual((await managed.put('/users/ann', { tags: 'x' }, admin)).body, { code: 0 });
  const unknown = { code: 105, message: 'Username Not Found' };
  assert.deepEqual((await managed.put('/users/bob', { tags: 'x' }, admin)).body, unknown);
  assert.deepEqual((await managed.delete('/users/bob', undefined, admin)).body, unknown);
  const stays = await managed.delete('/users/admin', undefined, admin);
  assert.deepEqual(stays.body, { code: 106, message: 'Cannot delete admin' });
  assert.equal((await managed.get('/users', as(managed, 'ann:of ann'))).status, 200);
  assert.deepEqual((await managed.delete('/users/ann', undefined, admin)).body, { code: 0 });
  assert.equal((await managed.get('/users', as(managed, 'ann:of ann'))).status, 401);
});

test('a login is open to everybody, and says what is wrong', async () => {
  await using managed = await startManaged({ settings });
  const open = as(managed, '');
  const login = async (fields: object): Promise<unknown> =>
    (await managed.post('/auth', fields, open)).body;
  assert.deepEqual(await login({ username: 'admin', password: 'public' }), { code: 0 });
  for (const [fields, code, message] of [
    [{ username: 'admin', password: 'x' }, 103, 'Password Error'],
    [{ username: 'nobody', password: 'x' }, 105, 'Username Not Found'],
    [{ password: 'x' }, 104, 'Username undefined'],
    [{ username: 'admin' }, 104, 'Password undefined'],
  ] as const) {
    assert.deepEqual(await login(fields), { code, message });
  }
  assert.equal((await managed.post('/auth', {}, { auth: '' })).status, 401);
});

test('logins that fail are limited like other guesses', async () => {
  await using managed = await startManaged({ settings });
  const open = as(managed, '');
  for (let i = 0; i < 10; i++) {
    await managed.post('/auth', { username: 'admin', password: `guess${i}` }, open);
  }
  const { status, headers } = await managed.post(
    '/auth',
    { username: 'admin', password: 'x' },
    open,
  );
  assert.equal(status, 429);
  assert.ok(Number(headers['retry-after']) > 0);
});

test('a password is changed by whoever knows the old one, and holds at once', async () => {
  await using managed = await startManaged({ settings });
  const admin = as(managed, 'admin:public');
  const change = async (name: string, fields: object): Promise<unknown> =>
    (await managed.put(`/change_pwd/${name}`, fields, admin)).body;
  assert.deepEqual(await change('nobody', { old_pwd: 'x', new_pwd: 'y' }), {
    code: 105,
    message: 'Username Not Found',
  });
  assert.deepEqual(await change('admin', { old_pwd: 'wrong', new_pwd: 'y' }), {
    code: 114,
    message: 'Password Error',
  });
  assert.deepEqual(await change('admin', { old_pwd: 'public' }), {
    code: 104,
    message: 'Password undefined',
  });
  assert.deepEqual(await change('admin', { old_pwd: 'public', new_pwd: 'better' }), { code: 0 });
  assert.equal((await managed.get('/users', admin)).status, 401);
  assert.equal((await managed.get('/users', as(managed, 'admin:better'))).status, 200);
  assert.equal(managed.parts.services.users.hasShippedPassword, false);
});

test('admins manages users from the command line', async () => {
  await using managed = await startManaged({ settings });
  const ok = { stdout: 'ok\n', stderr: '', code: 0 };
  assert.deepEqual(await managed.ctl('admins', 'add', 'eve', 'of eve', 'ops'), ok);
  assert.equal((await managed.get('/users', as(managed, 'eve:of eve'))).status, 200);
  const twice = await managed.ctl('admins', 'add', 'eve', 'x');
  assert.equal(twice.stdout, 'Error: <<"Username Already Exist">>\n');
  assert.deepEqual(await managed.ctl('admins', 'passwd', 'eve', 'new'), ok);
  assert.equal((await managed.get('/users', as(managed, 'eve:new'))).status, 200);
  assert.deepEqual(await managed.ctl('admins', 'del', 'eve'), ok);
  const gone = await managed.ctl('admins', 'passwd', 'eve', 'x');
  assert.equal(gone.stdout, '{error,<<"Username Not Found">>}\n');
  assert.equal((await managed.ctl('admins', 'del', 'eve')).stdout, gone.stdout);
});

test('the last user stays, whatever its name is', async () => {
  await using managed = await startManaged({ settings });
  const { users } = managed.parts.services;
  const records = managed.node.records.records('users');
  await users.add({ username: 'only', tags: '' }, 'x');
  records.delete('admin');
  await assert.rejects(users.remove('only'), /Cannot delete "only": it is the last user/);
});
