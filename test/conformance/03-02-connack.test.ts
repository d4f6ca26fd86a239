// MQTT 5.0 section 3.2: CONNACK, its session-present flag, its reason codes and properties.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import { connectPacket, field, packet, properties, u16, u32 } from '#test/raw-bytes';

const session = { clientId: 'c', cleanStart: false, properties: { sessionExpirySeconds: 1000 } };

/** Table 3-1 of the specification. */
const connectReasonCodes = [
  0x00, 0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8c, 0x90, 0x95, 0x97,
  0x99, 0x9a, 0x9b, 0x9c, 0x9d, 0x9f,
];

test('[MQTT-3.2.0-1] nothing stands before the CONNACK, not even what the session has waiting', async () => {
  await using broker = await startBroker();
  const first = await broker.connect(session);
  await first.subscribe('a', { qos: 1 });
  await first.disconnect();
  const publisher = await broker.connect();
  await publisher.publish('a', 'waiting', { qos: 1 });

  const second = await broker.open();
  second.send(
    Buffer.concat([
      connectPacket({ flags: 0, properties: properties(0x11, u32(1000)), payload: [field('c')] }),
      packet(0xc0),
    ]),
  );
  assert.equal((await second.next()).type, 'connack');
  await second.find('publish');
  await second.find('pingresp');
});

test('[MQTT-3.2.0-2] a connection gets one CONNACK', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  client.send(connectPacket());
  const told = await client.expectClosed();
  assert.ok(told.every((packetAfter) => packetAfter.type !== 'connack'));
});

test('[MQTT-3.2.2-1] the reserved flags of CONNACK are zero', async () => {
  await using broker = await startBroker();
  for (const flags of [0x02, 0x00, 0x00]) {
    const client = await broker.open();
    client.send(
      connectPacket({ flags, properties: properties(0x11, u32(1000)), payload: [field('c')] }),
    );
    const bytes = await client.nextBytes();
    assert.equal((bytes[2] ?? 0xff) & 0xfe, 0);
  }
});

test('[MQTT-3.2.2-2] session present is 0 after a clean start', async () => {
  await using broker = await startBroker();
  await (await broker.connect(session)).disconnect();
  const client = await broker.connect({ ...session, cleanStart: true });
  assert.equal(client.connack?.sessionPresent, false);
});

test('[MQTT-3.2.2-3] session present tells whether the server had a session', async () => {
  await using broker = await startBroker();
  const first = await broker.connect(session);
  assert.equal(first.connack?.sessionPresent, false);
  await first.disconnect();
  const second = await broker.connect(session);
  assert.equal(second.connack?.sessionPresent, true);
});

test('[MQTT-3.2.2-6] session present is 0 in a CONNACK that refuses', async () => {
  await using broker = await startBroker({ zone: { retainAvailable: false } });
  await (await broker.connect(session)).disconnect();
  const client = await broker.open();
  const connack = await client.connect({ ...session, will: { topic: 'w', retain: true } });
  assert.ok(connack.reasonCode >= 0x80);
  assert.equal(connack.sessionPresent, false);
});

test('[MQTT-3.2.2-7] [MQTT-3.2.2-8] a refusal uses a reason code of CONNACK and closes the connection', async () => {
  await using broker = await startBroker({
    zone: { retainAvailable: false, maxQosAllowed: 1, maxClientIdBytes: 5 },
  });
  const refusals = [
    { clientId: 'too long' },
    { clientId: 'c', will: { topic: 'w', retain: true } },
    { clientId: 'c', will: { topic: 'w', qos: 2 as const } },
    { clientId: 'c', will: { topic: 'w/+' } },
    { clientId: 'c', properties: { authMethod: 'unheard of' } },
  ];
  for (const options of refusals) {
    const client = await broker.open();
    const { reasonCode } = await client.connect(options);
    assert.ok(reasonCode >= 0x80 && connectReasonCodes.includes(reasonCode), `code ${reasonCode}`);
    assert.deepEqual(await client.expectClosed(), []);
  }
});

test('[MQTT-3.2.2-9] a server without QoS 1 or 2 says so in Maximum QoS', async () => {
  for (const maxQosAllowed of [0, 1] as const) {
    await using broker = await startBroker({ zone: { maxQosAllowed } });
    const client = await broker.connect();
    assert.equal(client.connack?.properties.maximumQos, maxQosAllowed);
  }
  await using full = await startBroker();
  // "It is a Protocol Error to have a value other than 0 or 1": absent means 2.
  assert.equal((await full.connect()).connack?.properties.maximumQos, undefined);
});

test('[MQTT-3.2.2-10] a server without QoS 1 or 2 accepts subscriptions of any QoS and grants what it has', async () => {
  await using broker = await startBroker({ zone: { maxQosAllowed: 0 } });
  const client = await broker.connect();
  for (const qos of [0, 1, 2] as const) {
    const suback = await client.subscribe(`a/${qos}`, { qos });
    assert.deepEqual(suback.reasonCodes, [0]);
  }
});

test('[MQTT-3.2.2-11] a PUBLISH above the maximum QoS ends the connection with 0x9B', async () => {
  await using broker = await startBroker({ zone: { maxQosAllowed: 1 } });
  const client = await broker.connect();
  await client.publish('a', '', { qos: 1 });
  client.sendPublish('a', '', { qos: 2 });
  await client.expectDisconnected(0x9b);
});

test('[MQTT-3.2.2-12] a will above the maximum QoS is refused with 0x9B', async () => {
  await using broker = await startBroker({ zone: { maxQosAllowed: 1 } });
  const client = await broker.open();
  assert.equal((await client.connect({ will: { topic: 'w', qos: 2 } })).reasonCode, 0x9b);
  await client.expectClosed();
});

test('[MQTT-3.2.2-13] a retained will is refused with 0x9A where retaining is off', async () => {
  await using broker = await startBroker({ zone: { retainAvailable: false } });
  const client = await broker.open();
  assert.equal((await client.connect({ will: { topic: 'w', retain: true } })).reasonCode, 0x9a);
  await client.expectClosed();
});

test('[MQTT-3.2.2-14] a retained PUBLISH ends the connection with 0x9A where retaining is off', async () => {
  await using broker = await startBroker({ zone: { retainAvailable: false } });
  const client = await broker.connect();
  assert.equal(client.connack?.properties.retainAvailable, false);
  client.sendPublish('a', 'x', { retain: true });
  await client.expectDisconnected(0x9a);
});

test('[MQTT-3.2.2-15] a packet above the announced maximum size ends the connection with 0x95', async () => {
  await using broker = await startBroker({ zone: { maxPacketBytes: 200 } });
  const client = await broker.connect();
  assert.equal(client.connack?.properties.maximumPacketSize, 200);
  // Fixed header 3, topic 3, properties 1.
  await client.publish('a', Buffer.alloc(193));
  client.sendPublish('a', Buffer.alloc(194));
  await client.expectDisconnected(0x95);
});

test('[MQTT-3.2.2-16] an assigned client id is one that no session of the server has', async () => {
  await using broker = await startBroker();
  const first = await broker.connect({ clientId: '', properties: { sessionExpirySeconds: 1000 } });
  const second = await broker.connect({ clientId: '', cleanStart: true });
  const [one, two] = [first, second].map((client) => client.connack?.properties.assignedClientId);
  assert.ok(one && two && one !== two);
  assert.equal(second.connack?.sessionPresent, false);
  await first.expectNothing();
});

test('[MQTT-3.2.2-17] a topic alias above the announced maximum ends the connection with 0x94', async () => {
  await using broker = await startBroker({ zone: { maxTopicAlias: 5 } });
  const client = await broker.connect();
  assert.equal(client.connack?.properties.topicAliasMaximum, 5);
  client.sendPublish('a', '', { properties: { topicAlias: 6 } });
  await client.expectDisconnected(0x94);
});

test('[MQTT-3.2.2-18] any topic alias ends the connection with 0x94 where none is allowed', async () => {
  await using broker = await startBroker({ zone: { maxTopicAlias: 0 } });
  const client = await broker.connect();
  assert.ok((client.connack?.properties.topicAliasMaximum ?? 0) === 0);
  client.sendPublish('a', '', { properties: { topicAlias: 1 } });
  await client.expectDisconnected(0x94);
});

test('[MQTT-3.2.2-19] [MQTT-3.2.2-20] a refusing CONNACK stays within the maximum packet size of the client', async () => {
  await using broker = await startBroker({ zone: { maxClientIdBytes: 5 } });
  const client = await broker.open();
  // Room for header, flags, code and an empty property section: no reason string, no user property.
  client.send(
    connectPacket({ properties: properties(0x27, u32(5)), payload: [field('too long')] }),
  );
  assert.deepEqual(await client.nextBytes(), packet(0x20, 0, 0x85, properties()));
  assert.deepEqual(await client.expectClosed(), []);
});

test('[MQTT-3.2.2-21] a client is held to the keepalive that the server gave it', async () => {
  await using broker = await startBroker({ zone: { serverKeepaliveSeconds: 10 } });
  const client = await broker.connect({ keepaliveSeconds: 1000 });
  assert.equal(client.connack?.properties.serverKeepaliveSeconds, 10);
  broker.advance(17_000);
  await client.expectDisconnected(0x8d);
});

test('[MQTT-3.2.2-22] without a keepalive of the server the one of the client counts', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({ keepaliveSeconds: 100 });
  assert.equal(client.connack?.properties.serverKeepaliveSeconds, undefined);
  broker.advance(140_000);
  await client.expectNothing();
  broker.advance(152_000);
  await client.expectDisconnected(0x8d);
});

test('CONNACK tells every limit that a 5.0 client has to know', async () => {
  await using broker = await startBroker({
    zone: {
      receiveMaximum: 7,
      maxTopicAlias: 3,
      wildcardSubscription: false,
      sharedSubscription: false,
      maxPacketBytes: 5000,
    },
  });
  const client = await broker.connect();
  const told = client.connack?.properties ?? {};
  assert.equal(told.receiveMaximum, 7);
  assert.equal(told.topicAliasMaximum, 3);
  assert.equal(told.wildcardAvailable, false);
  assert.equal(told.sharedAvailable, false);
  assert.equal(told.maximumPacketSize, 5000);
  assert.ok(told.subscriptionIdAvailable !== false);
  client.send(
    packet(0x82, u16(1), properties(), field('a/+'), 0, field('$share/g/a'), 0, field('a'), 0),
  );
  assert.deepEqual((await client.next('suback')).reasonCodes, [0xa2, 0x9e, 0]);
});
