// The tables of broker_auth_clientid and broker_auth_username, as REST and the command line see them.

import assert from 'node:assert/strict';
import test from 'node:test';
import { type Managed, startManaged } from '#test/managed';

interface Kind {
  readonly plugin: string;
  readonly field: string;
  readonly command: string;
  readonly hashKey: string;
}

const kinds: readonly Kind[] = [
  {
    plugin: 'broker_auth_clientid',
    field: 'clientid',
    command: 'clientid',
    hashKey: 'auth.client.password_hash',
  },
  {
    plugin: 'broker_auth_username',
    field: 'username',
    command: 'users',
    hashKey: 'auth.user.password_hash',
  },
];

const existed = { code: 102, message: 'existed' };
const noexisted = { code: 102, message: 'noexisted' };

async function start({ plugin, hashKey }: Kind, scheme: string, workers = 0): Promise<Managed> {
  const settings = { 'plugins.loaded': `broker_management,${plugin}`, [hashKey]: scheme };
  return startManaged({ workers, settings });
}

for (const kind of kinds) {
  const { plugin, field, command } = kind;
  const path = `/auth_${field}`;

  for (const workers of [0, 2]) {
    test(`${plugin} is managed by REST, with ${workers} workers`, async () => {
      await using managed = await start(kind, 'argon2id', workers);
      const add = async (name: string, password: string) =>
        (await managed.post(path, { [field]: name, password })).body;
      const empty = { code: 0, data: [], meta: { page: 1, limit: 10_000, count: 0 } };
      assert.deepEqual((await managed.get(path)).body, empty);
      assert.deepEqual(await add('b/1 ü', 'one'), { code: 0 });
      assert.deepEqual(await add('a', 'one'), { code: 0 });
      assert.deepEqual(await add('a', 'two'), existed);
      const { body } = await managed.get(path);
      assert.deepEqual(body, {
        code: 0,
        data: ['a', 'b/1 ü'],
        meta: { page: 1, limit: 10_000, count: 2 },
      });
      const paged = (await managed.get(`${path}?_page=2&_limit=1`)).body;
      assert.deepEqual(paged, {
        code: 0,
        data: ['b/1 ü'],
        meta: { page: 2, limit: 1, count: 2 },
      });
      const one = `${path}/${encodeURIComponent('b/1 ü')}`;
      assert.deepEqual((await managed.get(one)).body, { code: 0, data: { [field]: 'b/1 ü' } });
      assert.deepEqual((await managed.put(one, { password: 'two' })).body, { code: 0 });
      assert.deepEqual((await managed.put(`${path}/c`, { password: 'two' })).body, noexisted);
      assert.deepEqual((await managed.delete(one)).body, { code: 0 });
      assert.deepEqual((await managed.delete(one)).body, { code: 0 });
      const { status, body: gone } = await managed.get(one);
      assert.deepEqual([status, gone.code], [404, 404]);
      assert.deepEqual((await managed.get(path)).body.data, ['a']);
    });
  }

  test(`${plugin} refuses what is no entry, and repeats no password`, async () => {
    await using managed = await start(kind, 'sha256');
    const refusals: readonly (readonly [body: unknown, code: number, text: RegExp])[] = [
      [{ password: 'secret-1' }, 107, new RegExp(`\\['${field}'\\]`)],
      [{ [field]: 'a' }, 107, /\['password'\]/],
      [{ [field]: '', password: 'secret-1' }, 108, new RegExp(field)],
      [{ [field]: 7, password: 'secret-1' }, 108, new RegExp(field)],
      [{ [field]: 'a', password: '' }, 108, /password/],
      [{ [field]: 'a', password: ['secret-1'] }, 108, /password/],
      [{ [field]: 'a', password: 'secret-1'.repeat(200) }, 108, /password/],
      [{ [field]: 'x'.repeat(1025), password: 'secret-1' }, 108, new RegExp(field)],
      [{ [field]: 'a\nb', password: 'secret-1' }, 102, /^Cannot add "a\\nb"/],
    ];
    for (const [body, code, text] of refusals) {
      const { status, body: told } = await managed.post(path, body);
      assert.deepEqual([status, told.code], [200, code], JSON.stringify(body));
      assert.match(told.message ?? '', text);
      assert.ok(!(told.message ?? '').includes('secret-1'));
    }
    assert.deepEqual((await managed.get(path)).body.data, []);
    assert.ok(!managed.logged.some((line) => line.includes('secret-1')));
  });

  test(`${plugin} tells nobody what it keeps of a password`, async () => {
    for (const scheme of ['argon2id', 'plain']) {
      await using managed = await start(kind, scheme);
      await managed.post(path, { [field]: 'a', password: 'secret-1' });
      const shown = [
        (await managed.get(path)).text,
        (await managed.get(`${path}/a`)).text,
        (await managed.ctl(command, 'list')).stdout,
        (await managed.get(`/configs/${plugin}`)).text,
        ...managed.logged,
      ];
      for (const text of shown) assert.doesNotMatch(text, /secret-1|argon2id\$/);
    }
  });

  test(`${plugin} is managed from the command line`, async () => {
    await using managed = await start(kind, 'sha256');
    const ctl = async (...args: readonly string[]) => {
      const { stdout, stderr, code } = await managed.ctl(command, ...args);
      return [stdout, stderr, code];
    };
    assert.deepEqual(await ctl('list'), ['', '', 0]);
    assert.deepEqual(await ctl('add', 'b', 'one'), ['ok\n', '', 0]);
    assert.deepEqual(await ctl('add', 'a', 'one'), ['ok\n', '', 0]);
    assert.deepEqual(await ctl('add', 'a', 'two'), ['Error: existed\n', '', 1]);
    assert.deepEqual(await ctl('list'), ['a\nb\n', '', 0]);
    assert.deepEqual(await ctl('update', 'a', 'two'), ['ok\n', '', 0]);
    assert.deepEqual(await ctl('update', 'c', 'two'), ['Error: noexisted\n', '', 1]);
    assert.deepEqual(await ctl('del', 'a'), ['ok\n', '', 0]);
    assert.deepEqual(await ctl('del', 'a'), ['ok\n', '', 0]);
    assert.deepEqual(await ctl('list'), ['b\n', '', 0]);
  });

  test(`the commands of ${plugin} say how to load it while it does not run`, async () => {
    await using managed = await startManaged();
    const { stdout, stderr, code } = await managed.ctl(command, 'add', 'a', 'secret-1');
    const hint = `its plugin ${plugin} does not run, "broker_ctl plugins load ${plugin}" starts it`;
    assert.deepEqual([stdout, code], ['', 1]);
    assert.equal(stderr, `Cannot run "${command}": ${hint}\n`);
    assert.equal((await managed.get(path)).status, 404);
    assert.equal((await managed.ctl('plugins', 'load', plugin)).code, 0);
    assert.equal((await managed.ctl(command, 'add', 'a', 'secret-1')).stdout, 'ok\n');
    assert.deepEqual((await managed.get(path)).body.data, ['a']);
    await managed.ctl('plugins', 'unload', plugin);
    assert.equal((await managed.ctl(command, 'list')).stderr, `Cannot run "${command}": ${hint}\n`);
    assert.equal((await managed.get(path)).status, 404);
  });
}
