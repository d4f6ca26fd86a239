// Clients that flap, as they and management see it: banned on all workers together, listed, refused, and
// let in again when somebody takes the ban away.

import assert from 'node:assert/strict';
import test from 'node:test';
import mqtt from 'mqtt';
import { type Managed, startManaged } from '#test/managed';

/** Five cycles are ten events; the next connect is one too many. */
const zone = 'zone.external';
const settings = {
  allow_anonymous: 'true',
  acl_nomatch: 'allow',
  [`${zone}.enable_ban`]: 'on',
  [`${zone}.enable_flapping_detect`]: 'on',
  [`${zone}.flapping_threshold`]: '10, 10m',
  [`${zone}.flapping_banned_expiry_interval`]: '30m',
};
const bannedCode = { 5: 0x8a, 4: 5 } as const;
type Version = keyof typeof bannedCode;

interface Attempt {
  /** Of the CONNACK. */
  readonly code: number;
  readonly client: mqtt.MqttClient;
}

async function attempt(managed: Managed, clientId: string, version: Version): Promise<Attempt> {
  const options = { host: '127.0.0.1', port: managed.mqttPort, clientId, reconnectPeriod: 0 };
  const client = mqtt.connect({ ...options, protocolVersion: version });
  const { promise, resolve } = Promise.withResolvers<number>();
  const late = setTimeout(() => resolve(-1), 10_000);
  client.once('connect', () => resolve(0));
  client.once('error', (error) => resolve((error as { code?: number }).code ?? -1));
  return { code: await promise.finally(() => clearTimeout(late)), client };
}

async function codeFor(managed: Managed, clientId: string, version: Version): Promise<number> {
  const { code, client } = await attempt(managed, clientId, version);
  await client.endAsync(true);
  return code;
}

/** Comes and goes until it is refused; answers how often it was let in. */
async function flap(managed: Managed, clientId: string, version: Version): Promise<number> {
  for (let times = 0; times < 200; times++) {
    const code = await codeFor(managed, clientId, version);
    if (code !== 0) {
      assert.equal(code, bannedCode[version]);
      return times;
    }
  }
  throw new Error(`Cannot see "${clientId}" refused, after 200 times`);
}

interface Row {
  readonly who: string;
  readonly until: number;
}

async function bansOf(managed: Managed): Promise<Row[]> {
  return (await managed.get('/banned')).body.data as Row[];
}

for (const workers of [0, 2]) {
  test(`a client that flaps is banned until it is freed, with ${workers} workers`, async () => {
    await using managed = await startManaged({ workers, settings });
    const { client: stays } = await attempt(managed, 'stays', 5);
    for (const version of [5, 4] as const) {
      const who = `flaps-${version}`;
      const beforeSeconds = Math.floor(Date.now() / 1000);
      // It may come in once more while the ban is on its way.
      assert.ok((await flap(managed, who, version)) >= 6);
      const rows = await bansOf(managed);
      const until = rows[0]?.until ?? 0;
      assert.ok(until >= beforeSeconds + 1800 && until <= Math.ceil(Date.now() / 1000) + 1800);
      const words = { reason: 'flapping', desc: 'undefined', by: 'flapping_checker' };
      assert.deepEqual(rows, [{ who, as: 'client_id', ...words, until }]);
      for (const again of [5, 4] as const) {
        // Refusals of one who is banned are no new offence.
        for (let i = 0; i < 12; i++) {
          assert.equal(await codeFor(managed, who, again), bannedCode[again]);
        }
      }
      assert.equal(await codeFor(managed, 'another', version), 0);
      assert.deepEqual((await managed.delete(`/banned/${who}?as=client_id`)).body, { code: 0 });
      assert.equal(await codeFor(managed, who, version), 0);
      assert.deepEqual(await bansOf(managed), []);
    }
    assert.equal(stays.connected, true);
    await stays.endAsync(true);
  });

  test(`the ban ends a client that is connected when it comes, with ${workers} workers`, async () => {
    await using managed = await startManaged({ workers, settings });
    for (let i = 0; i < 5; i++) assert.equal(await codeFor(managed, 'c', 5), 0);
    const { code, client } = await attempt(managed, 'c', 5);
    assert.equal(code, 0);
    const { promise, resolve } = Promise.withResolvers<string>();
    const late = setTimeout(() => resolve('stays'), 10_000);
    client.once('close', () => resolve('gone'));
    if (!client.connected) resolve('gone');
    assert.equal(await promise.finally(() => clearTimeout(late)), 'gone');
    assert.equal(await codeFor(managed, 'c', 5), bannedCode[5]);
    await client.endAsync(true);
  });

  test(`nobody has the id of another banned by connects that are refused, with ${workers} workers`, async () => {
    const closed = { ...settings, allow_anonymous: 'false' };
    await using managed = await startManaged({ workers, settings: closed });
    for (let i = 0; i < 30; i++) assert.equal(await codeFor(managed, 'unwelcome', 5), 0x87);
    assert.deepEqual(await bansOf(managed), []);
  });
}

test('clients come and go as they like where flapping is not watched for', async () => {
  const off = { ...settings, [`${zone}.enable_flapping_detect`]: 'off' };
  await using managed = await startManaged({ settings: off });
  for (let i = 0; i < 20; i++) assert.equal(await codeFor(managed, 'c', 5), 0);
  assert.deepEqual(await bansOf(managed), []);
});
