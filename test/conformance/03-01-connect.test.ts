// MQTT 5.0 section 3.1.0 to 3.1.2: the first packet, its protocol name and version, its flags.
// Wills are in 03-01-will.test.ts, client ids and the rest of the payload in 03-01-payload.test.ts.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import { connectPacket, field, packet, properties, u16 } from '#test/raw-bytes';
import { exchange } from '#test/exchange';

const malformed = 0x81;
const protocolError = 0x82;
const unsupportedVersion = 0x84;

test('[MQTT-3.1.0-1] a first packet that is not CONNECT ends the connection without an answer', async () => {
  await using broker = await startBroker();
  for (const bytes of [
    packet(0xc0),
    packet(0x30, field('a'), properties()),
    packet(0x82, u16(1), properties(), field('a'), 0),
    packet(0x40, u16(1)),
    packet(0xe0),
    packet(0xf0, 0x18, properties(0x15, field('m'))),
  ]) {
    assert.equal((await exchange(broker.port, bytes)).length, 0);
  }
});

test('[MQTT-3.1.0-2] a second CONNECT is a protocol error and ends the connection', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({ clientId: 'twice' });
  client.send(connectPacket({ payload: [field('twice')] }));
  await client.expectDisconnected(protocolError);
});

test('[MQTT-3.1.2-1] a protocol name that is not MQTT is refused', async () => {
  await using broker = await startBroker();
  for (const protocol of ['mqtt', 'MQTTX', 'MQT', '', 'MQIsdp']) {
    const answer = await exchange(broker.port, connectPacket({ protocol }));
    assertVersionRefused(answer);
  }
});

test('[MQTT-3.1.2-2] a protocol version that the server does not know is refused', async () => {
  await using broker = await startBroker();
  for (const level of [0, 1, 2, 6, 127]) {
    const answer = await exchange(
      broker.port,
      connectPacket({ level, properties: Buffer.alloc(0) }),
    );
    assertVersionRefused(answer);
  }
});

test('[MQTT-3.1.2-3] a CONNECT with its reserved flag set is malformed', async () => {
  await using broker = await startBroker();
  const client = await broker.open();
  client.send(connectPacket({ flags: 0x03 }));
  await client.expectRefused(malformed);
});

test('[MQTT-3.1.2-4] a clean start discards the session that exists', async () => {
  await using broker = await startBroker();
  const long = { clientId: 'c', properties: { sessionExpirySeconds: 1000 } };
  const first = await broker.connect(long);
  await first.subscribe('a', { qos: 1 });
  await first.disconnect();
  const publisher = await broker.connect();
  await publisher.publish('a', 'for the old session', { qos: 1 });

  const second = await broker.connect({ ...long, cleanStart: true });
  assert.equal(second.connack?.sessionPresent, false);
  await second.expectNothing();
  assert.equal((await publisher.publish('a', 'nobody', { qos: 1 }))?.reasonCode, 0x10);
  await second.expectNothing();
});

test('[MQTT-3.1.2-5] without clean start the session that exists is resumed', async () => {
  await using broker = await startBroker();
  const long = { clientId: 'c', cleanStart: false, properties: { sessionExpirySeconds: 1000 } };
  const first = await broker.connect(long);
  await first.subscribe('a', { qos: 1 });
  await first.disconnect();
  const publisher = await broker.connect();
  await publisher.publish('a', 'kept', { qos: 1 });

  const second = await broker.connect(long);
  assert.equal(second.connack?.sessionPresent, true);
  assert.deepEqual(await second.receivePayloads(1), ['kept']);
  await publisher.publish('a', 'live', { qos: 1 });
  assert.deepEqual(await second.receivePayloads(1), ['live']);
});

test('[MQTT-3.1.2-6] without clean start and without a session a new one is made', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({ cleanStart: false });
  assert.equal(client.connack?.sessionPresent, false);
  await client.subscribe('a');
  await client.publish('a', 'works');
  assert.deepEqual(await client.receivePayloads(1), ['works']);
});

test('[MQTT-3.1.2-16] a username without its flag makes the CONNECT malformed', async () => {
  await using broker = await startBroker();
  const client = await broker.open();
  client.send(connectPacket({ flags: 0x02, payload: [field('c'), field('name')] }));
  await client.expectRefused(malformed);
});

test('[MQTT-3.1.2-17] a username flag without a username makes the CONNECT malformed', async () => {
  await using broker = await startBroker();
  const client = await broker.open();
  client.send(connectPacket({ flags: 0x82, payload: [field('c')] }));
  await client.expectRefused(malformed);
});

test('[MQTT-3.1.2-18] a password without its flag makes the CONNECT malformed', async () => {
  await using broker = await startBroker();
  const client = await broker.open();
  client.send(
    connectPacket({ flags: 0x82, payload: [field('c'), field('name'), field('secret')] }),
  );
  await client.expectRefused(malformed);
});

test('[MQTT-3.1.2-19] a password flag without a password makes the CONNECT malformed', async () => {
  await using broker = await startBroker();
  const client = await broker.open();
  client.send(connectPacket({ flags: 0xc2, payload: [field('c'), field('name')] }));
  await client.expectRefused(malformed);
});

test('[MQTT-3.1.2-19] a password without a username is allowed in 5.0', async () => {
  await using broker = await startBroker();
  const client = await broker.open();
  client.send(connectPacket({ flags: 0x42, payload: [field('c'), field('secret')] }));
  assert.equal((await client.next('connack')).reasonCode, 0);
});

for (const keepaliveSeconds of [1, 2, 10]) {
  test(`[MQTT-3.1.2-22] a client silent for one and a half times its keepalive of ${keepaliveSeconds} s is disconnected`, async () => {
    await using broker = await startBroker();
    const client = await broker.connect({ keepaliveSeconds });
    const limitMs = keepaliveSeconds * 1500;
    // Timers are late by a quarter of a second at most, and never early.
    broker.advance(limitMs - 250);
    await client.expectNothing();
    broker.advance(limitMs - 250);
    await client.publish('any packet', 'counts');
    broker.advance(limitMs + 250);
    await client.expectDisconnected(0x8d);
  });
}

test('[MQTT-3.1.2-22] a keepalive of 0 turns the limit off', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({ keepaliveSeconds: 0 });
  broker.advance(50_000_000);
  await client.expectNothing();
});

test('[MQTT-3.1.2-23] a session with an expiry interval is kept after the connection closes', async () => {
  await using broker = await startBroker();
  const options = { clientId: 'c', cleanStart: false, properties: { sessionExpirySeconds: 100 } };
  const first = await broker.connect(options);
  await first.subscribe('a', { qos: 1 });
  await broker.lose(first, 'c');
  broker.advance(90_000);
  const second = await broker.connect(options);
  assert.equal(second.connack?.sessionPresent, true);
});

test('[MQTT-3.1.2-24] the server sends no packet larger than the maximum of the client', async () => {
  await using broker = await startBroker();
  // 02: two bytes of header, 3 of topic, 1 of properties; 30 bytes leave 24 for the payload.
  const client = await broker.connect({ properties: { maximumPacketSize: 30 } });
  await client.subscribe('a');
  await client.publish('a', 'x'.repeat(25));
  await client.publish('a', 'y'.repeat(24));
  assert.deepEqual(await client.receivePayloads(1), ['y'.repeat(24)]);
  await client.expectNothing();
});

test('[MQTT-3.1.2-25] a message too large for the client is dropped as if it had been delivered', async () => {
  await using broker = await startBroker();
  const small = await broker.connect({ properties: { maximumPacketSize: 40, receiveMaximum: 1 } });
  const large = await broker.connect();
  for (const client of [small, large]) await client.subscribe('a', { qos: 1 });
  const publisher = await broker.connect();
  await publisher.publish('a', 'x'.repeat(100), { qos: 1 });
  await publisher.publish('a', 'fits', { qos: 1 });
  // The dropped one takes no place in a window of one.
  assert.deepEqual(await small.receivePayloads(1), ['fits']);
  await small.expectNothing();
  assert.deepEqual(await large.receivePayloads(2), ['x'.repeat(100), 'fits']);
});

test('[MQTT-3.1.2-26] the server uses no topic alias above the maximum of the client', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({ properties: { topicAliasMaximum: 2 } });
  await client.subscribe('topic/#');
  for (let round = 0; round < 3; round++) {
    for (const name of ['one', 'two', 'three', 'four']) await client.publish(`topic/${name}`, name);
  }
  const known = new Map<number, string>();
  for (let i = 0; i < 12; i++) {
    const { topic, properties: sent, payload } = await client.receive();
    const alias = sent.topicAlias;
    if (alias !== undefined) assert.ok(alias >= 1 && alias <= 2, `alias ${alias}`);
    if (alias !== undefined && topic !== '') known.set(alias, topic);
    const meant = topic === '' ? known.get(alias ?? 0) : topic;
    assert.equal(meant, `topic/${payload.toString()}`);
  }
});

test('[MQTT-3.1.2-27] the server uses no topic alias when the client allows none', async () => {
  await using broker = await startBroker();
  for (const allowed of [{}, { topicAliasMaximum: 0 }]) {
    const client = await broker.connect({ properties: allowed });
    await client.subscribe('a');
    for (let i = 0; i < 3; i++) {
      await client.publish('a', `${i}`);
      const received = await client.receive();
      assert.equal(received.properties.topicAlias, undefined);
      assert.equal(received.topic, 'a');
    }
  }
});

test('[MQTT-3.1.2-28] response information is sent only to a client that asked for it', async () => {
  await using broker = await startBroker({ zone: { responseInformation: 'responses/%c' } });
  const asks = await broker.connect({ clientId: 'c', properties: { requestResponseInfo: true } });
  assert.equal(asks.connack?.properties.responseInfo, 'responses/c');
  for (const silent of [{}, { requestResponseInfo: false }]) {
    const client = await broker.connect({ properties: silent });
    assert.equal(client.connack?.properties.responseInfo, undefined);
  }
});

test('[MQTT-3.1.2-29] a client that wants no problem information gets none on acknowledgements', async () => {
  await using broker = await startBroker({ zone: { sharedSubscription: false } });
  const client = await broker.connect({ properties: { requestProblemInfo: false } });
  const suback = await client.subscribe('$share/g/a');
  assert.deepEqual(suback.reasonCodes, [0x9e]);
  const unsuback = await client.unsubscribe('never subscribed');
  const puback = await client.publish('nobody', '', { qos: 1 });
  client.ack('pubrel', 999);
  const pubcomp = await client.next('pubcomp');
  for (const answer of [suback, unsuback, puback, pubcomp]) {
    assert.equal(answer?.properties.reasonString, undefined);
    assert.equal(answer?.properties.userProperties, undefined);
  }
  // User properties of messages are no problem information.
  await client.subscribe('b');
  await client.publish('b', '', { properties: { userProperties: [['k', 'v']] } });
  assert.deepEqual((await client.receive()).properties.userProperties, [['k', 'v']]);
});

/** Nothing, or CONNACK: 5.0 with 0x84, older with code 1. */
function assertVersionRefused(answer: Buffer): void {
  const allowed = [
    Buffer.alloc(0),
    Buffer.from([0x20, 2, 0, 1]),
    Buffer.from([0x20, 3, 0, unsupportedVersion, 0]),
  ];
  assert.ok(
    allowed.some((bytes) => bytes.equals(answer)) ||
      // 5.0, with a reason string
      (answer[0] === 0x20 && answer[2] === 0 && answer[3] === unsupportedVersion),
    `Cannot accept the answer ${answer.toString('hex')}`,
  );
}
