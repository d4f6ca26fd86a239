// Every way in passes the list of bans, and none of another client's session is touched by who does not.

import assert from 'node:assert/strict';
import test from 'node:test';
import { Reason } from '#wire/reason-codes';
import { startBroker, type TestBroker } from '#test/broker';
import type { PeerInfo } from './ports.ts';
import { banSubjectOf } from './refuse-banned.ts';

const enableBan = { enableBan: true };

function ban(broker: TestBroker, isBanned: (name: string) => boolean): void {
  broker.hook('client.check_ban', ({ clientId, usernames, address }) =>
    [clientId, ...usernames, address].some(isBanned) ? 'banned' : 'ignore',
  );
}

test('a banned client is refused in the words of its version', async () => {
  await using broker = await startBroker({ zone: enableBan });
  ban(broker, (name) => name === 'bad');
  for (const [version, code] of [
    [5, Reason.banned],
    [4, 5],
    [3, 5],
  ] as const) {
    const client = await broker.open(version);
    assert.equal((await client.connect({ clientId: 'bad' })).reasonCode, code);
    await client.expectClosed();
  }
  await broker.connect({ clientId: 'good' });
});

test('a zone without enable_ban lets banned clients in', async () => {
  await using broker = await startBroker({ zone: { enableBan: false } });
  ban(broker, () => true);
  await broker.connect({ clientId: 'bad' });
});

test('a banned client is refused before anybody is asked about its password', async () => {
  await using broker = await startBroker({ zone: enableBan });
  ban(broker, (name) => name === 'eve');
  let asked = 0;
  broker.hook('client.authenticate', () => {
    asked += 1;
    return { allow: true };
  });
  const client = await broker.open();
  const connack = await client.connect({ clientId: 'c', username: 'eve' });
  assert.equal(connack.reasonCode, Reason.banned);
  assert.equal(asked, 0);
});

test('a ban list that fails refuses', async () => {
  await using broker = await startBroker({ zone: enableBan });
  broker.hook('client.check_ban', () => {
    throw new Error('no list');
  });
  const client = await broker.open();
  assert.equal((await client.connect({})).reasonCode, Reason.banned);
  assert.equal(broker.takeFaults().length, 1);
});

test('a name that enhanced authentication has found out is looked for in the list', async () => {
  await using broker = await startBroker({ zone: enableBan });
  ban(broker, (name) => name === 'eve');
  broker.hook('client.enhanced_auth', () => ({ allow: true, username: 'eve' }));
  const properties = { authMethod: 'any', authData: Buffer.from('x') };
  const client = await broker.open();
  assert.equal((await client.connect({ properties })).reasonCode, Reason.banned);
});

test('a ban that comes during authentication refuses, and leaves the session of another alone', async () => {
  await using broker = await startBroker({ zone: enableBan });
  const first = await broker.connect({ clientId: 'c', username: 'ann' });
  const banned = new Set<string>();
  ban(broker, (name) => banned.has(name));
  const { promise, resolve } = Promise.withResolvers<void>();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  broker.hook('client.authenticate', async () => {
    begin();
    await promise;
    return { allow: true } as const;
  });
  const second = await broker.open();
  const connack = second.connect({ clientId: 'c', username: 'eve' });
  await begun;
  banned.add('eve');
  resolve();
  assert.equal((await connack).reasonCode, Reason.banned);
  await first.expectNothing();
});

test('a ban that comes in the last moment refuses', async () => {
  await using broker = await startBroker({ zone: { ...enableBan, enableAcl: true } });
  const banned = new Set<string>();
  ban(broker, (name) => banned.has(name));
  // The rights of the will are asked for behind authentication.
  broker.hook('client.check_acl', async () => {
    banned.add('c');
    return 'allow' as const;
  });
  const client = await broker.open();
  const connack = await client.connect({ clientId: 'c', will: { topic: 'w' } });
  assert.equal(connack.reasonCode, Reason.banned);
  assert.equal(broker.session('c'), undefined);
});

test('a client can be banned by the name of its pre-shared key', () => {
  const peer: PeerInfo = { address: '192.0.2.1', port: 1, localAddress: '', localPort: 2 };
  const client = { clientId: 'c', username: 'u' };
  assert.deepEqual(banSubjectOf(client, peer).usernames, ['u']);
  const withKey = { ...peer, tls: { pskIdentity: 'device' } };
  assert.deepEqual(banSubjectOf(client, withKey).usernames, ['u', 'device']);
  assert.deepEqual(banSubjectOf({ clientId: 'c', username: undefined }, peer).usernames, []);
});
