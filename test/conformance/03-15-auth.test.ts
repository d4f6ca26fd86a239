// MQTT 5.0 sections 3.15 and 4.12: AUTH, enhanced authentication and re-authentication, with a method
// of the test's own: "hello" is asked "who?", "me" is let in, anything else is refused.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker, type TestBroker } from '#test/broker';
import { connectPacket, field, packet, properties } from '#test/raw-bytes';
import type { ConnectOptions, RawClient } from '#test/raw-client';

const method = 'who-are-you';
const protocolError = 0x82;
const notAuthorized = 0x87;
const badMethod = 0x8c;
const continueCode = 0x18;
const reauthenticateCode = 0x19;

async function startAsking(): Promise<TestBroker> {
  const broker = await startBroker();
  broker.hook('client.enhanced_auth', (step) => {
    if (step.method !== method) return 'ignore';
    const said = step.data?.toString();
    if (said === 'hello') return { continue: true, data: Buffer.from('who?') };
    if (said === 'me') return { allow: true, data: Buffer.from('welcome') };
    return { allow: false, reasonCode: notAuthorized };
  });
  return broker;
}

function sendAuth(client: RawClient, reasonCode: number, said: string, by = method): void {
  client.send({
    type: 'auth',
    reasonCode,
    properties: { authMethod: by, authData: Buffer.from(said) },
  });
}

/** A client that has said hello in its CONNECT and was asked who it is. */
async function asked(broker: TestBroker, options: ConnectOptions = {}): Promise<RawClient> {
  const client = await broker.open();
  client.send({
    type: 'connect',
    version: 5,
    isBridge: false,
    cleanStart: true,
    keepaliveSeconds: 0,
    clientId: 'c',
    properties: { ...options.properties, authMethod: method, authData: Buffer.from('hello') },
  });
  const auth = await client.next('auth');
  assert.equal(auth.properties.authData?.toString(), 'who?');
  return client;
}

async function letIn(broker: TestBroker, options?: ConnectOptions): Promise<RawClient> {
  const client = await asked(broker, options);
  sendAuth(client, continueCode, 'me');
  client.connack = await client.next('connack');
  assert.equal(client.connack.reasonCode, 0);
  return client;
}

test('[MQTT-3.1.2-30] a packet other than AUTH or DISCONNECT before the CONNACK ends the connection', async () => {
  await using broker = await startAsking();
  for (const bytes of [packet(0xc0), packet(0x30, field('a'), properties()), connectPacket()]) {
    const client = await asked(broker);
    client.send(bytes);
    await client.expectRefused(protocolError);
  }
  const client = await asked(broker);
  client.send({ type: 'disconnect', reasonCode: 0, properties: {} });
  assert.deepEqual(await client.expectClosed(), []);
});

test('[MQTT-3.15.1-1] an AUTH with reserved bits set is malformed', async () => {
  await using broker = await startAsking();
  const client = await letIn(broker);
  client.send(packet(0xf1, reauthenticateCode, properties(0x15, field(method))));
  await client.expectDisconnected(0x81);
});

test('[MQTT-3.15.2-1] the server sends AUTH with 0x18 to ask and 0x00 to finish, and refuses other codes', async () => {
  await using broker = await startAsking();
  const client = await letIn(broker);
  sendAuth(client, reauthenticateCode, 'hello');
  assert.equal((await client.next('auth')).reasonCode, continueCode);
  sendAuth(client, continueCode, 'me');
  assert.equal((await client.next('auth')).reasonCode, 0);
  client.send(packet(0xf0, 0x17, properties(0x15, field(method))));
  await client.expectDisconnected(protocolError, 0x81);
});

test('[MQTT-3.15.2-2] [MQTT-3.15.2-3] an AUTH stays within the maximum packet size of the client', async () => {
  await using broker = await startAsking();
  const limits = { properties: { maximumPacketSize: 60 } };
  const client = await letIn(broker, limits);
  sendAuth(client, reauthenticateCode, 'hello');
  const bytes = await client.nextBytes();
  assert.equal(bytes[0], 0xf0);
  assert.ok(bytes.length <= 60, `${bytes.length} bytes`);
});

test('[MQTT-4.12.0-1] a method that the server does not have is refused with 0x8C', async () => {
  await using broker = await startAsking();
  const client = await broker.open();
  const connack = await client.connect({ properties: { authMethod: 'unheard of' } });
  assert.ok([badMethod, notAuthorized].includes(connack.reasonCode));
  assert.deepEqual(await client.expectClosed(), []);
});

test('[MQTT-4.12.0-2] the server asks for more by AUTH with 0x18 before the CONNACK', async () => {
  await using broker = await startAsking();
  const client = await broker.open();
  client.send(connectPacket({ properties: properties(0x15, field(method), 0x16, field('hello')) }));
  const auth = await client.next('auth');
  assert.equal(auth.reasonCode, continueCode);
  assert.equal(auth.properties.authData?.toString(), 'who?');
});

test('[MQTT-4.12.0-3] an AUTH of the client that does not continue ends the exchange', async () => {
  await using broker = await startAsking();
  for (const code of [0x00, reauthenticateCode]) {
    const client = await asked(broker);
    sendAuth(client, code, 'me');
    await client.expectRefused(protocolError, 0x81);
  }
});

test('[MQTT-4.12.0-4] the server may refuse at any point and then closes', async () => {
  await using broker = await startAsking();
  const atOnce = await broker.open();
  const refusal = await atOnce.connect({
    properties: { authMethod: method, authData: Buffer.from('bah') },
  });
  assert.equal(refusal.reasonCode, notAuthorized);
  assert.deepEqual(await atOnce.expectClosed(), []);
  const later = await asked(broker);
  sendAuth(later, continueCode, 'somebody else');
  assert.equal((await later.next('connack')).reasonCode, notAuthorized);
  assert.deepEqual(await later.expectClosed(), []);
});

test('[MQTT-4.12.0-5] every AUTH and the CONNACK name the method of the CONNECT', async () => {
  await using broker = await startAsking();
  const client = await broker.open();
  client.send(connectPacket({ properties: properties(0x15, field(method), 0x16, field('hello')) }));
  assert.equal((await client.next('auth')).properties.authMethod, method);
  sendAuth(client, continueCode, 'me');
  const connack = await client.next('connack');
  assert.equal(connack.properties.authMethod, method);
  assert.equal(connack.properties.authData?.toString(), 'welcome');
  sendAuth(client, reauthenticateCode, 'me');
  const auth = await client.next('auth');
  assert.deepEqual([auth.reasonCode, auth.properties.authMethod], [0, method]);
});

test('[MQTT-4.12.0-6] a client without a method gets no AUTH and no method in its CONNACK', async () => {
  await using broker = await startAsking();
  const client = await broker.connect({ username: 'hello', password: Buffer.from('hello') });
  assert.equal(client.connack?.properties.authMethod, undefined);
  assert.equal(client.connack?.properties.authData, undefined);
  await client.expectNothing();
});

test('[MQTT-4.12.0-7] an AUTH of a client that named no method is a protocol error', async () => {
  await using broker = await startAsking();
  const client = await broker.connect();
  sendAuth(client, reauthenticateCode, 'me');
  await client.expectDisconnected(protocolError);
});

test('[MQTT-4.12.1-1] re-authentication by another method is a protocol error', async () => {
  await using broker = await startAsking();
  const client = await letIn(broker);
  sendAuth(client, reauthenticateCode, 'me', 'another');
  await client.expectDisconnected(protocolError, badMethod);
});

test('[MQTT-4.12.1-1] during re-authentication other packets go on being served', async () => {
  await using broker = await startAsking();
  const client = await letIn(broker);
  sendAuth(client, reauthenticateCode, 'hello');
  await client.next('auth');
  await client.subscribe('a', { qos: 1 });
  await client.publish('a', 'meanwhile', { qos: 1 });
  assert.deepEqual(await client.receivePayloads(1), ['meanwhile']);
  sendAuth(client, continueCode, 'me');
  assert.equal((await client.next('auth')).reasonCode, 0);
});

test('[MQTT-4.12.1-2] a re-authentication that fails ends the connection with its reason', async () => {
  await using broker = await startAsking();
  const client = await letIn(broker);
  sendAuth(client, reauthenticateCode, 'hello');
  await client.next('auth');
  sendAuth(client, continueCode, 'somebody else');
  await client.expectDisconnected(notAuthorized);
});
