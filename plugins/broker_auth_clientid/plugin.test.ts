import assert from 'node:assert/strict';
import test from 'node:test';
import { connackCode } from '#test/connack-code';
import { type Managed, startManaged } from '#test/managed';

const plugin = 'broker_auth_clientid';
const base = { 'plugins.loaded': `broker_management,${plugin}`, acl_nomatch: 'allow' };

async function metrics(managed: Managed): Promise<number[]> {
  const { body } = await managed.get('/nodes/broker@127.0.0.1/metrics/');
  const figures = body.data as Readonly<Record<string, number>>;
  return ['success', 'failure', 'ignore'].map((name) => figures[`auth/clientid/${name}`] ?? -1);
}

for (const workers of [0, 2]) {
  test(`a client id with a password needs it, with ${workers} workers`, async () => {
    await using managed = await startManaged({
      workers,
      settings: { ...base, allow_anonymous: 'true' },
    });
    const code = (clientId: string, password?: string) =>
      connackCode(managed, { clientId, username: 'any', password });
    await managed.post('/auth_clientid', { clientid: 'sensor-1', password: 'right' });
    assert.equal(await code('sensor-1', 'right'), 0);
    assert.equal(await code('sensor-1', 'wrong'), 0x86);
    assert.equal(await code('sensor-1', ''), 0x86);
    assert.equal(await code('sensor-1'), 0x86);
    assert.equal(await code('sensor-2'), 0);
    assert.equal(await code('', 'right'), 0);
    assert.deepEqual(await metrics(managed), [1, 3, 2]);
    await managed.put('/auth_clientid/sensor-1', { password: 'new' });
    assert.equal(await code('sensor-1', 'right'), 0x86);
    assert.equal(await code('sensor-1', 'new'), 0);
    await managed.delete('/auth_clientid/sensor-1');
    assert.equal(await code('sensor-1', 'right'), 0);
  });
}

test('without anonymous clients, only client ids of the table come in', async () => {
  await using managed = await startManaged({ settings: { ...base, allow_anonymous: 'false' } });
  await managed.post('/auth_clientid', { clientid: 'sensor-1', password: 'right' });
  const as = (clientId: string) =>
    connackCode(managed, { clientId, username: 'any', password: 'right' });
  assert.equal(await as('sensor-1'), 0);
  assert.equal(await as('sensor-2'), 0x87);
});

test('a version 3.1.1 client is told by its own codes', async () => {
  await using managed = await startManaged({ settings: { ...base, allow_anonymous: 'true' } });
  await managed.post('/auth_clientid', { clientid: 'sensor-1', password: 'right' });
  const as = (password: string) =>
    connackCode(managed, {
      clientId: 'sensor-1',
      username: 'any',
      password,
      protocolVersion: 4,
    });
  assert.equal(await as('right'), 0);
  assert.equal(await as('wrong'), 4);
});

test('a preset is there at the first start, and gives way to what was changed', async () => {
  await using managed = await startManaged({
    settings: {
      ...base,
      'auth.client.1.clientid': 'sensor-1',
      'auth.client.1.password': 'preset',
    },
  });
  const code = (password: string) =>
    connackCode(managed, { clientId: 'sensor-1', username: 'any', password });
  assert.equal(await code('preset'), 0);
  await managed.put('/auth_clientid/sensor-1', { password: 'changed' });
  await managed.ctl('plugins', 'unload', plugin);
  await managed.ctl('plugins', 'load', plugin);
  assert.equal(await code('preset'), 0x86);
  assert.equal(await code('changed'), 0);
});
