import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { type Managed, startManaged } from '#test/managed';
import { RawClient } from '#test/raw-client';
import { ScramClient } from '#test/scram-client';

const authMethod = 'SCRAM-SHA-256';
const continueAuthentication = 0x18;
const badAuthenticationMethod = 0x8c;
const settings = {
  'plugins.loaded': 'broker_management,broker_auth_username',
  acl_nomatch: 'allow',
  allow_anonymous: 'false',
  'auth.user.scram': 'on',
};

interface Talk {
  readonly code: number;
  /** The server-first-message. */
  readonly challenge: string;
}

/** One exchange at CONNECT; the server has to prove that it knows the user. */
async function talk({ mqttPort }: Managed, name: string, password: string): Promise<Talk> {
  await using client = await RawClient.open(mqttPort);
  const scram = new ScramClient(name, password);
  client.send({
    type: 'connect',
    version: 5,
    isBridge: false,
    cleanStart: true,
    keepaliveSeconds: 0,
    clientId: 'c',
    properties: { authMethod, authData: scram.first() },
  });
  const { reasonCode, properties } = await client.next('auth');
  assert.equal(reasonCode, continueAuthentication);
  const challenge = properties.authData ?? Buffer.alloc(0);
  client.send({
    type: 'auth',
    reasonCode: continueAuthentication,
    properties: { authMethod, authData: scram.final(challenge) },
  });
  const connack = await client.next('connack');
  if (connack.reasonCode === 0) scram.expectProof(connack.properties.authData);
  return { code: connack.reasonCode, challenge: challenge.toString() };
}

/** What a user is shown in place of its own: salt and rounds. */
function faceOf({ challenge }: Talk): string {
  return challenge.replace(/^r=[^,]*,/, '');
}

for (const workers of [0, 2]) {
  test(`a user authenticates by SCRAM, and by its password, with ${workers} workers`, async () => {
    await using managed = await startManaged({ workers, settings });
    await managed.post('/auth_username', { username: 'ada', password: 'right' });
    assert.equal((await talk(managed, 'ada', 'right')).code, 0);
    assert.equal((await talk(managed, 'ada', 'wrong')).code, 0x86);
    await using client = await RawClient.open(managed.mqttPort);
    const password = Buffer.from('right');
    const connack = await client.connect({ clientId: 'd', username: 'ada', password });
    assert.equal(connack.reasonCode, 0);
    const figures = (await managed.get('/nodes/broker@127.0.0.1/metrics/')).body.data;
    const { 'auth/username/success': success, 'auth/username/failure': failure } =
      figures as Readonly<Record<string, number>>;
    assert.deepEqual([success, failure], [2, 1]);
    await managed.put('/auth_username/ada', { password: 'new' });
    assert.equal((await talk(managed, 'ada', 'right')).code, 0x86);
    assert.equal((await talk(managed, 'ada', 'new')).code, 0);
  });
}

test('a user that does not exist looks like one that does, each time the same', async () => {
  await using managed = await startManaged({ settings });
  await managed.post('/auth_username', { username: 'ada', password: 'right' });
  const unknown = [await talk(managed, 'bob', 'right'), await talk(managed, 'bob', 'right')];
  const known = await talk(managed, 'ada', 'wrong');
  assert.deepEqual(
    [...unknown, known].map(({ code }) => code),
    [0x86, 0x86, 0x86],
  );
  const [first, second] = unknown.map(faceOf);
  assert.equal(first, second);
  assert.equal(first?.length, faceOf(known).length);
  await managed.ctl('plugins', 'unload', 'broker_auth_username');
  await managed.ctl('plugins', 'load', 'broker_auth_username');
  assert.equal(faceOf(await talk(managed, 'bob', 'right')), first);
});

test('a password from before SCRAM was on lets nobody in by it until it is set anew', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'broker-scram-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  {
    const off = { ...settings, 'auth.user.scram': 'off' };
    await using managed = await startManaged({ settings: off, dir });
    await managed.post('/auth_username', { username: 'ada', password: 'right' });
    await using client = await RawClient.open(managed.mqttPort);
    const properties = { authMethod, authData: new ScramClient('ada', 'right').first() };
    const { reasonCode } = await client.connect({ clientId: 'c', properties });
    assert.equal(reasonCode, badAuthenticationMethod);
  }
  await using managed = await startManaged({ settings, dir });
  assert.equal((await talk(managed, 'ada', 'right')).code, 0x86);
  await managed.put('/auth_username/ada', { password: 'right' });
  assert.equal((await talk(managed, 'ada', 'right')).code, 0);
});
