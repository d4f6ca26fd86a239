// MQTT 5.0 sections 3.8 and 3.9: SUBSCRIBE and SUBACK.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import { badStrings, field, packet, properties, u16 } from '#test/raw-bytes';

const malformed = 0x81;
const protocolError = 0x82;
const badFilter = 0x8f;

/** Table 3-8 of the specification. */
const subscribeReasonCodes = [0, 1, 2, 0x80, 0x83, 0x87, 0x8f, 0x91, 0x97, 0x9e, 0xa1, 0xa2];

test('[MQTT-3.8.1-1] a SUBSCRIBE whose flags are not 0010 is malformed', async () => {
  await using broker = await startBroker();
  for (const header of [0x80, 0x81, 0x83, 0x8a]) {
    const client = await broker.connect();
    client.send(packet(header, u16(1), properties(), field('a'), 0));
    await client.expectDisconnected(malformed);
  }
});

test('[MQTT-3.8.3-1] a filter that is no UTF-8 string ends the connection', async () => {
  await using broker = await startBroker();
  for (const bytes of Object.values(badStrings)) {
    const client = await broker.connect();
    client.send(packet(0x82, u16(1), properties(), field(bytes), 0));
    await client.expectDisconnected(malformed);
  }
});

test('[MQTT-3.8.3-2] a SUBSCRIBE without a filter, or with one but no options, ends the connection', async () => {
  await using broker = await startBroker();
  for (const payload of [[], [field('a')], [field('a'), 0, field('b')]]) {
    const client = await broker.connect();
    client.send(packet(0x82, u16(1), properties(), ...payload));
    await client.expectDisconnected(malformed, protocolError, badFilter);
  }
});

test('[MQTT-3.8.3-3] with no-local a client does not get its own messages', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  const other = await broker.connect();
  await client.subscribe('a', { qos: 1, noLocal: true });
  await client.publish('a', 'own', { qos: 1 });
  await client.expectNothing();
  await other.publish('a', 'of another', { qos: 1 });
  assert.deepEqual(await client.receivePayloads(1), ['of another']);
  await client.subscribe('a', { qos: 1, noLocal: false });
  await client.publish('a', 'own', { qos: 1 });
  assert.deepEqual(await client.receivePayloads(1), ['own']);
});

test('[MQTT-3.8.3-4] no-local on a shared subscription is a protocol error', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  client.send(packet(0x82, u16(1), properties(), field('$share/g/a'), 0x04));
  await client.expectDisconnected(protocolError);
});

test('[MQTT-3.8.3-5] reserved bits in the subscription options make the SUBSCRIBE malformed', async () => {
  await using broker = await startBroker();
  for (const options of [0x40, 0x80, 0xc1]) {
    const client = await broker.connect();
    client.send(packet(0x82, u16(1), properties(), field('a'), options));
    await client.expectDisconnected(malformed);
  }
  // QoS 3 and retain handling 3 are protocol errors.
  for (const options of [0x03, 0x30]) {
    const client = await broker.connect();
    client.send(packet(0x82, u16(1), properties(), field('a'), options));
    await client.expectDisconnected(protocolError, malformed);
  }
});

test('[MQTT-3.8.4-1] [MQTT-3.8.4-2] a SUBSCRIBE is answered by SUBACK with its packet id', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  for (const packetId of [1, 256, 65_535]) {
    client.send(packet(0x82, u16(packetId), properties(), field('a'), 0));
    assert.equal((await client.next('suback')).packetId, packetId);
  }
});

test('[MQTT-3.8.4-3] a subscription with the same filter replaces the one before it', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe('a', { qos: 2, properties: { subscriptionIds: [1] } });
  await client.subscribe('a', { qos: 0, properties: { subscriptionIds: [2] } });
  await client.publish('a', '', { qos: 2 });
  const received = await client.receive();
  assert.equal(received.qos, 0);
  assert.deepEqual(received.properties.subscriptionIds, [2]);
  await client.subscribe('a', { qos: 1 });
  await client.publish('a', '', { qos: 2 });
  assert.equal((await client.receive()).properties.subscriptionIds, undefined);
  await client.expectNothing();
});

test('[MQTT-3.8.4-4] replacing a subscription sends retained messages again and loses nothing', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({ properties: { receiveMaximum: 1 } });
  const publisher = await broker.connect();
  await publisher.publish('a', 'kept', { qos: 1, retain: true });
  await client.subscribe('a', { qos: 1, retainHandling: 2 });
  for (const payload of ['1', '2', '3']) await publisher.publish('a', payload, { qos: 1 });
  await client.subscribe('a', { qos: 1, retainHandling: 0 });
  const received = await client.receivePayloads(4);
  assert.deepEqual(received.toSorted(), ['1', '2', '3', 'kept']);
  assert.deepEqual(
    received.filter((payload) => payload !== 'kept'),
    ['1', '2', '3'],
  );
});

test('[MQTT-3.8.4-5] several filters in one SUBSCRIBE do what several SUBSCRIBEs do, with one SUBACK', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.publish('b', 'kept', { retain: true });
  // The same filter twice: the second replaces the first.
  client.send(packet(0x82, u16(1), properties(), field('a'), 0, field('b'), 1, field('a'), 2));
  assert.deepEqual((await client.find('suback')).reasonCodes, [0, 1, 2]);
  assert.deepEqual(await client.receivePayloads(1), ['kept']);
  await client.publish('a', '', { qos: 2 });
  assert.equal((await client.receive()).qos, 2);
  await client.expectNothing();
});

test('[MQTT-3.8.4-6] [MQTT-3.9.3-1] SUBACK has one reason code for each filter, in their order', async () => {
  await using broker = await startBroker({ zone: { sharedSubscription: false } });
  const client = await broker.connect();
  const filters = [field('a'), 2, field('$share/g/a'), 0, field('b'), 0, field('c'), 1];
  client.send(packet(0x82, u16(1), properties(), ...filters));
  assert.deepEqual((await client.next('suback')).reasonCodes, [2, 0x9e, 0, 1]);
});

test('[MQTT-3.8.4-7] a reason code of SUBACK is the granted QoS or a failure', async () => {
  await using broker = await startBroker({ zone: { maxSubscriptions: 3 } });
  const client = await broker.connect();
  for (const qos of [0, 1, 2] as const) {
    assert.deepEqual((await client.subscribe(`a/${qos}`, { qos })).reasonCodes, [qos]);
  }
  assert.deepEqual((await client.subscribe('one/too/many')).reasonCodes, [0x97]);
  // Changing one that exists takes no place.
  assert.deepEqual((await client.subscribe('a/0', { qos: 1 })).reasonCodes, [1]);
});

test('[MQTT-3.8.4-8] messages come with the lower of the published and the granted QoS', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  for (const granted of [0, 1, 2] as const) {
    await client.subscribe('a', { qos: granted });
    for (const published of [0, 1, 2] as const) {
      await client.publish('a', '', { qos: published });
      assert.equal((await client.receive()).qos, Math.min(granted, published));
    }
  }
});

test('[MQTT-3.9.2-1] [MQTT-3.9.2-2] a SUBACK drops its explanations rather than grow too large', async () => {
  await using broker = await startBroker({ zone: { sharedSubscription: false } });
  const client = await broker.connect({ properties: { maximumPacketSize: 24 } });
  client.send(packet(0x82, u16(1), properties(), field('$share/g/a'), 0));
  const bytes = await client.nextBytes();
  assert.ok(bytes.length <= 24, `${bytes.length} bytes`);
  assert.equal(bytes.at(-1), 0x9e);
});

test('[MQTT-3.9.3-2] SUBACK uses reason codes of SUBACK only', async () => {
  await using broker = await startBroker({
    zone: {
      sharedSubscription: false,
      wildcardSubscription: false,
      maxTopicLevels: 3,
      maxQosAllowed: 1,
    },
  });
  const client = await broker.connect();
  const suback = await client.subscribe(['a', '$share/g/a', 'a/#', '+', 'a/b/c/d'], { qos: 2 });
  assert.deepEqual(suback.reasonCodes, [1, 0x9e, 0xa2, 0xa2, 0x8f]);
  assert.ok(suback.reasonCodes.every((code) => subscribeReasonCodes.includes(code)));
});

test('a subscription identifier of 0, or two of them, is a protocol error', async () => {
  await using broker = await startBroker();
  for (const ids of [properties(0x0b, 0), properties(0x0b, 1, 0x0b, 2)]) {
    const client = await broker.connect();
    client.send(packet(0x82, u16(1), ids, field('a'), 0));
    await client.expectDisconnected(protocolError, 0xa1);
  }
});
