// What an auth plugin says of a client that it lets in or refuses, besides yes and no: until when, under
// which name, and what it keeps with the client.

import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import type { AuthVerdict, ClientInfo } from '#hooks/table';
import { type Overrides, startBroker, type TestBroker } from '#test/broker';

const maximumConnectTime = 0xa0;
const keepaliveTimeout = 0x8d;
const dayMs = 86_400_000;
const yearMs = 365 * dayMs;

async function startWith(
  verdict: (broker: TestBroker) => AuthVerdict,
  zone: Overrides['zone'] = {},
): Promise<TestBroker> {
  const broker = await startBroker({ zone });
  broker.hook('client.authenticate', () => verdict(broker));
  return broker;
}

function expiringIn(ms: number): (broker: TestBroker) => AuthVerdict {
  return ({ broker }) => ({ allow: true, expiresAtMs: broker.core.clock.nowMs() + ms });
}

for (const keepaliveSeconds of [0, 30, 65_535]) {
  test(`a right that ends takes the connection with it, keepalive ${keepaliveSeconds}`, async () => {
    await using broker = await startWith(expiringIn(10_000));
    const ends: string[] = [];
    broker.hook('client.disconnected', (_, reason) => void ends.push(reason), 'ends');
    const v5 = await broker.connect({ keepaliveSeconds });
    const v4 = await broker.connect({ keepaliveSeconds, version: 4 });
    broker.advance(9_000);
    assert.equal(broker.channels().length, 2);
    broker.advance(2_000);
    await v5.expectDisconnected(maximumConnectTime);
    assert.deepEqual(await v4.expectClosed(), []);
    assert.deepEqual(ends, ['maximum_connect_time', 'maximum_connect_time']);
  });
}

test('a right that ends far from now is kept, and ends then', async () => {
  const clock = new VirtualClock();
  await using broker = await startBroker({ clock });
  broker.hook('client.authenticate', () => expiringIn(5 * yearMs)(broker));
  const client = await broker.connect({ keepaliveSeconds: 0 });
  clock.jump(yearMs);
  assert.equal(broker.channels().length, 1);
  clock.jump(5 * yearMs);
  await client.expectDisconnected(maximumConnectTime);
});

test('a right that has ended before the CONNACK ends the connection at once', async () => {
  await using broker = await startWith(expiringIn(-1));
  const client = await broker.connect({ keepaliveSeconds: 0 });
  broker.advance(500);
  await client.expectDisconnected(maximumConnectTime);
});

test('a right that lasts does not keep a silent client', async () => {
  await using broker = await startWith(expiringIn(dayMs));
  const client = await broker.connect({ keepaliveSeconds: 30 });
  broker.advance(60_000);
  await client.expectDisconnected(keepaliveTimeout);
});

test('the end of a right does not reach the client that came back with another', async () => {
  let leftMs = 10_000;
  await using broker = await startWith((one) => expiringIn(leftMs)(one));
  await broker.connect({ clientId: 'c', keepaliveSeconds: 0 });
  leftMs = 60_000;
  const again = await broker.connect({ clientId: 'c', keepaliveSeconds: 0 });
  broker.advance(30_000);
  assert.equal(broker.channels().length, 1);
  broker.advance(40_000);
  await again.expectDisconnected(maximumConnectTime);
});

test('what a plugin keeps with a client is there whenever hooks are told of it', async () => {
  const grant = { some_plugin: { topics: ['a'] } };
  await using broker = await startWith(() => ({ allow: true, grant }), { enableAcl: true });
  const seen: unknown[] = [];
  const see = (client: ClientInfo): void => void seen.push(client.grant);
  broker.hook('client.connected', see, 'watch');
  broker.hook('client.check_acl', (client) => (see(client), 'allow'), 'watch');
  const client = await broker.connect();
  await client.subscribe('a');
  assert.deepEqual(seen, [grant, grant]);
});

for (const useUsernameAsClientId of [false, true]) {
  test(`a proven name takes the place of the shown one, as client id: ${useUsernameAsClientId}`, async () => {
    const verdicts: AuthVerdict[] = [
      { allow: true, username: 'ann' },
      { allow: true, username: null },
      { allow: false, reasonCode: 0x87, username: null },
    ];
    await using broker = await startWith(() => verdicts.shift() as AuthVerdict, {
      useUsernameAsClientId,
    });
    const seen: (string | undefined)[][] = [];
    const see = ({ clientId, username }: ClientInfo): void => void seen.push([clientId, username]);
    broker.hook('client.connected', see, 'watch');
    for (const clientId of ['c1', 'c2', 'c3']) {
      const client = await broker.open();
      await client.connect({ clientId, username: 'a secret' });
    }
    const first = useUsernameAsClientId ? 'ann' : 'c1';
    assert.deepEqual(seen, [
      [first, 'ann'],
      ['c2', undefined],
      ['c3', undefined],
    ]);
  });
}
