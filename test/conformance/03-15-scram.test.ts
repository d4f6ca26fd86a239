// SCRAM-SHA-256 through real sockets: what stands in CONNECT, AUTH, CONNACK and DISCONNECT (MQTT 5.0,
// section 4.12), and which user a client is afterwards.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Packet, Properties } from '#wire/packet';
import type { ClientInfo } from '#hooks/table';
import { makeScramCredential } from '#access/scram';
import { scramAuth, scramMethod } from '#access/scram-auth';
import { type Overrides, startBroker, type TestBroker } from '#test/broker';
import type { ConnectOptions, RawClient } from '#test/raw-client';
import { ScramClient } from '#test/scram-client';

const users = new Map([
  ['ann', makeScramCredential('apple')],
  ['bob', makeScramCredential('banana')],
]);
const badUsernameOrPassword = 0x86;
const notAuthorized = 0x87;
const badMethod = 0x8c;
const continueCode = 0x18;
const reauthenticateCode = 0x19;

async function startScram(zone: Overrides['zone'] = {}): Promise<TestBroker> {
  // Nobody comes in by another way.
  const broker = await startBroker({ zone: { allowAnonymous: false, ...zone } });
  const decoyKey = Buffer.alloc(32, 1);
  // A lookup that takes its time, as one in a database does.
  const lookup = async (name: string) => users.get(name);
  broker.hook('client.enhanced_auth', scramAuth(lookup, { decoyKey }));
  return broker;
}

function sendConnect(client: RawClient, authData?: Buffer, options: ConnectOptions = {}): void {
  const { will: _, properties, ...rest } = options;
  client.send({
    type: 'connect',
    version: 5,
    isBridge: false,
    cleanStart: true,
    keepaliveSeconds: 0,
    clientId: 'c',
    ...rest,
    properties: { ...properties, authMethod: scramMethod, ...(authData && { authData }) },
  });
}

function sendAuth(client: RawClient, reasonCode: number, authData?: Buffer): void {
  const properties: Properties = { authMethod: scramMethod, ...(authData && { authData }) };
  client.send({ type: 'auth', reasonCode, properties });
}

/** The server's AUTH, which must want more; gives its data. */
async function challenge(client: RawClient): Promise<Buffer | undefined> {
  const { reasonCode, properties } = await client.next('auth');
  assert.deepEqual([reasonCode, properties.authMethod], [continueCode, scramMethod]);
  return properties.authData;
}

/** Connects with the first message in the CONNECT, and answers the challenge. */
async function attempt(
  broker: TestBroker,
  scram: ScramClient,
  options?: ConnectOptions,
): Promise<RawClient> {
  const client = await broker.open();
  sendConnect(client, scram.first(), options);
  sendAuth(client, continueCode, scram.final((await challenge(client)) as Buffer));
  return client;
}

async function letIn(
  broker: TestBroker,
  [name, password]: readonly [string, string] = ['ann', 'apple'],
  options?: ConnectOptions,
): Promise<RawClient> {
  const scram = new ScramClient(name, password);
  const client = await attempt(broker, scram, options);
  client.connack = await client.next('connack');
  assert.equal(client.connack.reasonCode, 0);
  scram.expectProof(client.connack.properties.authData);
  return client;
}

/** Those whom the broker has let in, as its hooks see them. */
function connectedTo(broker: TestBroker): ClientInfo[] {
  const connected: ClientInfo[] = [];
  broker.hook('client.connected', (client) => void connected.push(client), 'watch');
  return connected;
}

test('SCRAM begins in the CONNECT and ends in the CONNACK, with the proof of the server', async () => {
  await using broker = await startScram();
  const client = await letIn(broker);
  assert.equal(client.connack?.properties.authMethod, scramMethod);
  await client.expectNothing();
});

test('SCRAM begins in an AUTH when the CONNECT brings no data', async () => {
  await using broker = await startScram();
  for (const nothing of [undefined, Buffer.alloc(0)]) {
    const client = await broker.open();
    const scram = new ScramClient('ann', 'apple');
    sendConnect(client, nothing);
    assert.equal(await challenge(client), undefined);
    sendAuth(client, continueCode, scram.first());
    sendAuth(client, continueCode, scram.final((await challenge(client)) as Buffer));
    const connack = await client.next('connack');
    assert.equal(connack.reasonCode, 0);
    scram.expectProof(connack.properties.authData);
    await client.disconnect();
  }
});

/** A packet without what differs each time: nonces, and the salt, which is each user's own. */
function shapeOf(packet: Packet): unknown {
  if (packet.type !== 'auth' && packet.type !== 'connack') return packet;
  const { authData, ...properties } = packet.properties;
  const text = authData?.toString().replace(/r=[^,]+/, ({ length }) => `r=${length}`);
  const data = text?.replace(/s=[^,]+/, ({ length }) => `s=${length}`);
  return { ...packet, properties: { ...properties, data } };
}

test('SCRAM shows an unknown user the same packets as a wrong password', async () => {
  await using broker = await startScram();
  const seen: unknown[][] = [];
  for (const name of ['ann', 'nix']) {
    const client = await broker.open();
    const scram = new ScramClient(name, 'wrong');
    sendConnect(client, scram.first());
    const auth = await client.next('auth');
    sendAuth(client, continueCode, scram.final(auth.properties.authData as Buffer));
    const told = await client.expectClosed();
    assert.deepEqual(
      told.map((packet) => packet.type === 'connack' && packet.reasonCode),
      [badUsernameOrPassword],
    );
    seen.push([auth, ...told].map(shapeOf));
  }
  assert.deepEqual(seen[0], seen[1]);
});

test('SCRAM refuses data that is no SCRAM message with 0x87', async () => {
  await using broker = await startScram();
  const first = await broker.open();
  sendConnect(first, Buffer.from('ann:apple'));
  await first.expectRefused(notAuthorized);
  const final = await broker.open();
  sendConnect(final, new ScramClient('ann', 'apple').first());
  await challenge(final);
  sendAuth(final, continueCode);
  await final.expectRefused(notAuthorized);
});

test('SCRAM with channel binding is another method, which the server does not have', async () => {
  await using broker = await startScram();
  const client = await broker.open();
  const connack = await client.connect({ properties: { authMethod: `${scramMethod}-PLUS` } });
  assert.equal(connack.reasonCode, badMethod);
});

test('SCRAM gives a client that connects without a username the one it proved', async () => {
  await using broker = await startScram();
  const connected = connectedTo(broker);
  await letIn(broker);
  await letIn(broker, ['bob', 'banana'], { clientId: 'd', username: 'bob' });
  assert.deepEqual(
    connected.map(({ username, isAnonymous }) => [username, isAnonymous]),
    [
      ['ann', false],
      ['bob', false],
    ],
  );
});

test('SCRAM refuses a username in the CONNECT that is not the one proved', async () => {
  await using broker = await startScram();
  const client = await attempt(broker, new ScramClient('ann', 'apple'), { username: 'bob' });
  await client.expectRefused(badUsernameOrPassword);
});

test('SCRAM gives a session to the user who left it, and to no other', async () => {
  await using broker = await startScram();
  const lasting = { cleanStart: false, properties: { sessionExpirySeconds: 100 } };
  await (await letIn(broker, ['ann', 'apple'], lasting)).disconnect();
  const again = await letIn(broker, ['ann', 'apple'], lasting);
  assert.equal(again.connack?.sessionPresent, true);
  await again.disconnect();
  const other = await letIn(broker, ['bob', 'banana'], lasting);
  assert.equal(other.connack?.sessionPresent, false);
});

test('SCRAM gives the client id too where the zone takes usernames for it', async () => {
  await using broker = await startScram({ useUsernameAsClientId: true });
  const connected = connectedTo(broker);
  await letIn(broker);
  assert.equal(connected[0]?.clientId, 'ann');
});

test('SCRAM authenticates a connected client again, in an AUTH of its own or in two', async () => {
  await using broker = await startScram();
  const client = await letIn(broker);
  for (const isBegunEmpty of [false, true]) {
    const scram = new ScramClient('ann', 'apple');
    sendAuth(client, reauthenticateCode, isBegunEmpty ? undefined : scram.first());
    if (isBegunEmpty) {
      assert.equal(await challenge(client), undefined);
      sendAuth(client, continueCode, scram.first());
    }
    sendAuth(client, continueCode, scram.final((await challenge(client)) as Buffer));
    const { reasonCode, properties } = await client.next('auth');
    assert.equal(reasonCode, 0);
    scram.expectProof(properties.authData);
  }
  await client.expectNothing();
});

test('SCRAM ends the connection when a client fails to authenticate again', async () => {
  await using broker = await startScram();
  const failing = [
    ['ann', 'wrong'],
    ['nix', 'wrong'],
    // A true proof, but of another user.
    ['bob', 'banana'],
  ] as const;
  for (const [name, password] of failing) {
    const client = await letIn(broker);
    const scram = new ScramClient(name, password);
    sendAuth(client, reauthenticateCode, scram.first());
    sendAuth(client, continueCode, scram.final((await challenge(client)) as Buffer));
    await client.expectDisconnected(notAuthorized);
  }
});
