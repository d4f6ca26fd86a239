import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { connackCode } from '#test/connack-code';
import { type Managed, startManaged } from '#test/managed';

const plugin = 'broker_auth_username';
const settings = {
  'plugins.loaded': `broker_management,${plugin}`,
  acl_nomatch: 'allow',
  allow_anonymous: 'true',
};

async function codeOf(managed: Managed, username?: string, password?: string): Promise<number> {
  return connackCode(managed, { clientId: 'c', username, password });
}

/** The exit code of mosquitto_pub: 0, or what the CONNACK said. */
async function mosquitto(
  { mqttPort }: Managed,
  username: string,
  password: string,
): Promise<number> {
  const address = ['-h', '127.0.0.1', '-p', String(mqttPort), '-V', '311', '-q', '1'];
  const said = ['-u', username, '-P', password, '-t', 't', '-m', 'm'];
  return new Promise((resolve) => {
    execFile('mosquitto_pub', [...address, ...said], { timeout: 20_000 }, (error) => {
      resolve(error === null ? 0 : ((error.code as number | undefined) ?? -1));
    });
  });
}

for (const workers of [0, 2]) {
  test(`a user of the table needs the password, with ${workers} workers`, async () => {
    await using managed = await startManaged({ workers, settings });
    await managed.post('/auth_username', { username: 'ada', password: 'right' });
    assert.equal(await codeOf(managed, 'ada', 'right'), 0);
    assert.equal(await codeOf(managed, 'ada', 'wrong'), 0x86);
    assert.equal(await codeOf(managed, 'ada', ''), 0x86);
    assert.equal(await codeOf(managed, 'ada'), 0x86);
    assert.equal(await codeOf(managed, 'Ada', 'wrong'), 0);
    assert.equal(await codeOf(managed), 0);
    const { body } = await managed.get('/nodes/broker@127.0.0.1/metrics/');
    const figures = body.data as Readonly<Record<string, number>>;
    assert.deepEqual(
      ['success', 'failure', 'ignore'].map((name) => figures[`auth/username/${name}`]),
      [1, 3, 2],
    );
    assert.equal(await mosquitto(managed, 'ada', 'right'), 0);
    assert.notEqual(await mosquitto(managed, 'ada', 'wrong'), 0);
  });

  test(`users outlive a restart, with ${workers} workers`, async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'broker-users-'));
    t.after(() => rmSync(dir, { recursive: true, force: true }));
    {
      await using managed = await startManaged({ workers, settings, dir });
      assert.equal((await managed.ctl('users', 'add', 'ada', 'right')).stdout, 'ok\n');
      assert.equal((await managed.ctl('users', 'add', 'bob', 'right')).stdout, 'ok\n');
      assert.equal((await managed.ctl('users', 'del', 'bob')).stdout, 'ok\n');
    }
    await using managed = await startManaged({ workers, settings, dir });
    assert.deepEqual((await managed.get('/auth_username')).body, {
      code: 0,
      data: ['ada'],
      meta: { page: 1, limit: 10_000, count: 1 },
    });
    assert.equal(await codeOf(managed, 'ada', 'right'), 0);
    assert.equal(await codeOf(managed, 'ada', 'wrong'), 0x86);
  });

  test(`unloaded, its users are unknown, and loaded again they are there, with ${workers} workers`, async () => {
    await using managed = await startManaged({
      workers,
      settings: { ...settings, allow_anonymous: 'false' },
    });
    await managed.post('/auth_username', { username: 'ada', password: 'right' });
    assert.equal(await codeOf(managed, 'ada', 'right'), 0);
    for (let round = 0; round < 2; round++) {
      await managed.ctl('plugins', 'unload', plugin);
      assert.equal(await codeOf(managed, 'ada', 'right'), 0x87);
      const { body } = await managed.get('/nodes/broker@127.0.0.1/metrics/');
      assert.ok(!('auth/username/success' in (body.data as object)));
      await managed.ctl('plugins', 'load', plugin);
      assert.equal(await codeOf(managed, 'ada', 'right'), 0);
      assert.equal(await codeOf(managed, 'ada', 'wrong'), 0x86);
    }
  });
}

test('many who guess at once are all refused, and who knows the password comes in behind them', async () => {
  await using managed = await startManaged({ settings });
  await managed.post('/auth_username', { username: 'ada', password: 'right' });
  const guesses = Array.from({ length: 20 }, (_, i) =>
    connackCode(managed, { clientId: `g${i}`, username: 'ada', password: `guess-${i}` }),
  );
  assert.deepEqual(new Set(await Promise.all(guesses)), new Set([0x86]));
  assert.equal(await codeOf(managed, 'ada', 'right'), 0);
});

test('a password that is kept by another scheme lets its user in, and no other password does', async () => {
  await using managed = await startManaged({
    settings: { ...settings, 'auth.user.password_hash': 'md5' },
  });
  await managed.post('/auth_username', { username: 'ada', password: 'right' });
  assert.equal(await codeOf(managed, 'ada', 'right'), 0);
  assert.equal(await codeOf(managed, 'ada', 'wrong'), 0x86);
});

test('of two plugins that know a client, the one that was loaded first decides', async () => {
  const clientid = 'broker_auth_clientid';
  const both = { ...settings, 'plugins.loaded': `broker_management,${plugin},${clientid}` };
  await using managed = await startManaged({ settings: both });
  await managed.post('/auth_username', { username: 'ada', password: 'of the user' });
  await managed.post('/auth_clientid', { clientid: 'c', password: 'of the client' });
  assert.equal(await codeOf(managed, 'ada', 'of the user'), 0);
  assert.equal(await codeOf(managed, 'ada', 'of the client'), 0x86);
  assert.equal(await codeOf(managed, 'bob', 'of the client'), 0);
});
