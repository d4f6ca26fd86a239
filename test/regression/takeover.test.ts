// Whose session it is when a client id comes a second time: the client id is no secret, so another
// proven user and another mountpoint get a session of their own (the class of CVE-2026-6564).

import assert from 'node:assert/strict';
import test from 'node:test';
import type { ClaimRequest } from '#core/peers-port';
import { startBroker, type TestBroker } from '#test/broker';
import type { RawClient } from '#test/raw-client';
import { settled, until } from './event-turns.ts';
import { HeldTransport } from './held-transport.ts';

const properties = { sessionExpirySeconds: 100 };

/** Whoever names a user has proven to be it; whoever names none is left to the zone. */
function proveUsers(broker: TestBroker, mountpointOf?: (username: string) => string): void {
  broker.hook(
    'client.authenticate',
    ({ username }) => {
      if (username === undefined) return 'ignore';
      return mountpointOf === undefined
        ? { allow: true }
        : { allow: true, mountpoint: mountpointOf(username) };
    },
    'users',
  );
}

/** A session of client `same` that is subscribed to everything and has one message waiting. */
async function leaveSession(broker: TestBroker, username: string | undefined): Promise<RawClient> {
  const who = username === undefined ? {} : { username };
  const owner = await broker.connect({ clientId: 'same', ...who, properties });
  await owner.subscribe('#', { qos: 1 });
  await broker.lose(owner, 'same');
  const writer = await broker.connect({ clientId: 'writer', ...who });
  await writer.publish('secret', 'queued', { qos: 1 });
  return writer;
}

async function comeAs(broker: TestBroker, username: string | undefined): Promise<RawClient> {
  const who = username === undefined ? {} : { username };
  return broker.connect({ clientId: 'same', cleanStart: false, ...who, properties });
}

async function expectStranger(client: RawClient, writer: RawClient): Promise<void> {
  assert.equal(client.connack?.sessionPresent, false);
  await writer.publish('secret', 'live', { qos: 1 });
  await client.expectNothing();
}

for (const [owner, other] of [
  ['alice', 'mallory'],
  ['alice', undefined],
  [undefined, 'mallory'],
] as const) {
  const names = `${other ?? 'nobody'} after ${owner ?? 'nobody'}`;
  test(`another proven user does not inherit a session, neither queue nor subscriptions: ${names} (CVE-2026-6564)`, async () => {
    await using broker = await startBroker();
    proveUsers(broker);
    const writer = await leaveSession(broker, owner);
    await expectStranger(await comeAs(broker, other), writer);
  });
}

test('another proven user who takes over a live connection does not inherit its session (CVE-2026-6564)', async () => {
  await using broker = await startBroker();
  proveUsers(broker);
  const owner = await broker.connect({ clientId: 'same', username: 'alice', properties });
  await owner.subscribe('#', { qos: 1 });
  const writer = await broker.connect({ username: 'alice' });
  const stranger = await comeAs(broker, 'mallory');
  await owner.expectDisconnected(0x8e);
  await expectStranger(stranger, writer);
});

test('the same proven user resumes its session', async () => {
  await using broker = await startBroker();
  proveUsers(broker);
  await leaveSession(broker, 'alice');
  const back = await comeAs(broker, 'alice');
  assert.equal(back.connack?.sessionPresent, true);
  assert.deepEqual(await back.receivePayloads(1), ['queued']);
});

test('a username that nobody checked proves nothing: the client id alone decides', async () => {
  await using broker = await startBroker();
  await leaveSession(broker, 'one name');
  const back = await comeAs(broker, 'another name');
  assert.equal(back.connack?.sessionPresent, true);
  assert.deepEqual(await back.receivePayloads(1), ['queued']);
});

test('a client under another mountpoint does not inherit a session (CVE-2026-6564)', async () => {
  await using broker = await startBroker({ zone: { mountpoint: '%u/' } });
  const writer = await leaveSession(broker, 'alice');
  await expectStranger(await comeAs(broker, 'mallory'), writer);
});

test('a user whom authentication moved to another mountpoint starts afresh', async () => {
  await using broker = await startBroker();
  let home = 'old/';
  proveUsers(broker, () => home);
  const writer = await leaveSession(broker, 'alice');
  home = 'new/';
  await expectStranger(await comeAs(broker, 'alice'), writer);
});

test('[MQTT-4.3.3-10] a QoS 2 message repeated after a take-over while a hook still thinks is delivered once', async () => {
  await using broker = await startBroker();
  const thinking = Promise.withResolvers<void>();
  let asked = 0;
  broker.hook(
    'message.publish',
    async () => {
      asked += 1;
      if (asked === 1) await thinking.promise;
      return undefined;
    },
    'slow',
  );
  const subscriber = await broker.connect();
  await subscriber.subscribe('t', { qos: 2 });
  const before = await broker.connect({ clientId: 'c', properties });
  before.sendPublish('t', 'once', { qos: 2, packetId: 5 });
  await until('the hook asked', () => asked === 1);
  const after = await broker.connect({ clientId: 'c', cleanStart: false, properties });
  after.sendPublish('t', 'once', { qos: 2, packetId: 5, dup: true });
  assert.equal((await after.next('pubrec')).packetId, 5);
  thinking.resolve();
  await settled();
  assert.deepEqual(await subscriber.receivePayloads(1), ['once']);
  await subscriber.expectNothing();
});

test('a client that leaves while its id is claimed leaves no claim behind', async () => {
  // The peers of this one are played by the test.
  await using broker = await startBroker({ workers: 0 });
  const claimed = Promise.withResolvers<void>();
  const calls: string[] = [];
  Object.assign(broker.broker.core.peers, {
    claim: ({ clientId }: ClaimRequest) => {
      calls.push(`claim ${clientId}`);
      return claimed.promise;
    },
    attempted: (clientId: string) => void calls.push(`attempted ${clientId}`),
  });
  const client = new HeldTransport(broker.broker);
  client.connect('gone');
  client.destroy();
  claimed.resolve();
  await settled();
  assert.deepEqual(calls, ['claim gone', 'attempted gone']);
  assert.equal(broker.connectionCount, 0);
});

test('take-overs of every kind leave nothing counted when everybody has gone', async () => {
  await using broker = await startBroker();
  const ends: string[] = [];
  broker.hook('client.disconnected', (_, reason) => void ends.push(reason), 'ends');
  for (let i = 0; i < 12; i++) {
    const client = await broker.connect({
      clientId: 'same',
      cleanStart: i % 3 === 0,
      properties: { sessionExpirySeconds: i % 2 === 0 ? 0 : 10 },
    });
    await client.subscribe(['a', '$share/g/a', 'b/+']);
  }
  broker.kick('same');
  broker.advance(20_000);
  assert.equal(ends.length, 12, 'every connection is told to have ended once');
  const { stats } = broker.broker.core;
  const counts = Object.entries(stats.snapshot()).filter(([name]) => name.endsWith('/count'));
  assert.ok(counts.length > 5);
  for (const [name, count] of counts) assert.equal(count, 0, name);
});
