// MQTT 5.0 chapters 1 and 2: strings, variable byte integers, flags, packet ids, property lengths.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import { badStrings, connectPacket, field, packet, properties, u16 } from '#test/raw-bytes';

const malformed = 0x81;
const protocolError = 0x82;
const userProperty = 0x26;

test('[MQTT-1.5.4-1] ill-formed UTF-8 and encoded surrogates in a topic end the connection', async () => {
  await using broker = await startBroker();
  for (const [what, bytes] of Object.entries(badStrings)) {
    if (what === 'the null character') continue;
    const client = await broker.connect();
    client.send(packet(0x30, field(bytes), properties()));
    await client.expectDisconnected(malformed);
  }
  await broker.expectService();
});

test('[MQTT-1.5.4-2] the null character in a string ends the connection', async () => {
  await using broker = await startBroker();
  const inTopic = await broker.connect();
  inTopic.send(packet(0x30, field('a\0b'), properties()));
  await inTopic.expectDisconnected(malformed);
  const inFilter = await broker.connect();
  inFilter.send(packet(0x82, u16(1), properties(), field('a\0b'), 0));
  await inFilter.expectDisconnected(malformed);
});

test('[MQTT-1.5.4-3] a byte order mark is a character like others and reaches the subscriber', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe(['\ufeffbom', 'bom']);
  await client.publish('\ufeffbom', 'marked', { properties: { contentType: '\ufefftext' } });
  const received = await client.receive();
  assert.equal(received.topic, '\ufeffbom');
  assert.equal(received.properties.contentType, '\ufefftext');
  await client.expectNothing();
});

test('[MQTT-1.5.5-1] a variable byte integer in more bytes than needed ends the connection', async () => {
  await using broker = await startBroker();
  const length = await broker.connect();
  length.send(Buffer.from([0xc0, 0x80, 0x00]));
  await length.expectDisconnected(malformed);
  const propertyLength = await broker.connect();
  propertyLength.send(packet(0x30, field('a'), 0x80, 0x00));
  await propertyLength.expectDisconnected(malformed);
  const subscriptionId = await broker.connect();
  subscriptionId.send(packet(0x82, u16(1), properties(0x0b, 0x81, 0x00), field('a'), 0));
  await subscriptionId.expectDisconnected(malformed);
});

test('[MQTT-1.5.5-1] the server itself writes lengths in as few bytes as they need', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe('a');
  // Remaining length 127 and 128: topic field 3 bytes, property length 1 byte.
  await client.publish('a', 'x'.repeat(123));
  assert.deepEqual([...(await client.nextBytes()).subarray(0, 3)], [0x30, 127, 0]);
  await client.publish('a', 'x'.repeat(124));
  assert.deepEqual([...(await client.nextBytes()).subarray(0, 3)], [0x30, 0x80, 0x01]);
});

test('[MQTT-1.5.7-1] both strings of a user property are checked as UTF-8', async () => {
  await using broker = await startBroker();
  for (const bytes of Object.values(badStrings)) {
    for (const pair of [
      [field(bytes), field('value')],
      [field('name'), field(bytes)],
    ]) {
      const client = await broker.connect();
      client.send(packet(0x30, field('a'), properties(userProperty, ...pair)));
      await client.expectDisconnected(malformed);
    }
  }
});

test('[MQTT-2.1.3-1] a reserved flag that is not as listed ends the connection', async () => {
  await using broker = await startBroker();
  const wrongFlags: Record<string, Buffer> = {
    puback: packet(0x41, u16(1)),
    pubrec: packet(0x51, u16(1)),
    pubrel: packet(0x60, u16(1)),
    pubcomp: packet(0x71, u16(1)),
    subscribe: packet(0x80, u16(1), properties(), field('a'), 0),
    unsubscribe: packet(0xa0, u16(1), properties(), field('a')),
    pingreq: packet(0xc1),
    disconnect: packet(0xe1),
  };
  for (const bytes of Object.values(wrongFlags)) {
    const client = await broker.connect();
    client.send(bytes);
    await client.expectDisconnected(malformed);
  }
  const unknown = await broker.open();
  const connect = connectPacket();
  connect[0] = 0x11;
  unknown.send(connect);
  await unknown.expectRefused(malformed);
});

test('[MQTT-2.2.1-2] a QoS 0 PUBLISH of the server carries no packet id', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe('a', { qos: 2 });
  await client.publish('a', 'hi');
  assert.deepEqual(
    await client.nextBytes(),
    packet(0x30, field('a'), properties(), Buffer.from('hi')),
  );
});

test('[MQTT-2.2.1-3] packet id 0 in SUBSCRIBE, UNSUBSCRIBE or PUBLISH ends the connection', async () => {
  await using broker = await startBroker();
  for (const bytes of [
    packet(0x82, u16(0), properties(), field('a'), 0),
    packet(0xa2, u16(0), properties(), field('a')),
    packet(0x32, field('a'), u16(0), properties()),
    packet(0x34, field('a'), u16(0), properties()),
  ]) {
    const client = await broker.connect();
    client.send(bytes);
    await client.expectDisconnected(malformed, protocolError);
  }
});

test('[MQTT-2.2.1-4] every unacknowledged PUBLISH of the server has a packet id of its own, never 0', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe('a', { qos: 2 });
  const publisher = await broker.connect();
  const ids = new Set<number>();
  for (let i = 0; i < 40; i++) {
    await publisher.publish('a', `${i}`, { qos: i % 2 === 0 ? 1 : 2 });
    const { packetId } = await client.next('publish');
    assert.notEqual(packetId, 0);
    ids.add(packetId);
  }
  assert.equal(ids.size, 40);
});

test('[MQTT-2.2.1-5] PUBACK, PUBREC, PUBREL and PUBCOMP carry the packet id of their PUBLISH', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  client.sendPublish('a', '', { qos: 1, packetId: 4711 });
  assert.equal((await client.next('puback')).packetId, 4711);
  client.sendPublish('a', '', { qos: 2, packetId: 65_535 });
  assert.equal((await client.next('pubrec')).packetId, 65_535);
  client.ack('pubrel', 65_535);
  assert.equal((await client.next('pubcomp')).packetId, 65_535);

  await client.subscribe('b', { qos: 2 });
  const publisher = await broker.connect();
  await publisher.publish('b', '', { qos: 2 });
  const { packetId } = await client.next('publish');
  client.ack('pubrec', packetId);
  assert.equal((await client.next('pubrel')).packetId, packetId);
});

test('[MQTT-2.2.1-6] SUBACK and UNSUBACK carry the packet id of their request', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  client.send(packet(0x82, u16(65_535), properties(), field('a'), 0));
  assert.equal((await client.next('suback')).packetId, 65_535);
  client.send(packet(0xa2, u16(258), properties(), field('a')));
  assert.equal((await client.next('unsuback')).packetId, 258);
});

test('[MQTT-2.2.2-1] packets of the server without properties have a property length of zero', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  client.send(packet(0x82, u16(1), properties(), field('a'), 0));
  assert.deepEqual(await client.nextBytes(), packet(0x90, u16(1), properties(), 0));
  client.send(packet(0x30, field('a'), properties()));
  assert.deepEqual(await client.nextBytes(), packet(0x30, field('a'), properties()));
  client.send(packet(0xa2, u16(2), properties(), field('a')));
  assert.deepEqual(await client.nextBytes(), packet(0xb0, u16(2), properties(), 0));
});

test('[MQTT-2.2.2-1] a packet that should have a property length and has none ends the connection', async () => {
  await using broker = await startBroker();
  for (const bytes of [
    packet(0x30, field('a')),
    packet(0x32, field('a'), u16(1)),
    packet(0x82, u16(1)),
  ]) {
    const client = await broker.connect();
    client.send(bytes);
    await client.expectDisconnected(malformed);
  }
});
