// MQTT 5.0 sections 3.10 and 3.11: UNSUBSCRIBE and UNSUBACK.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import { badStrings, field, packet, properties, u16 } from '#test/raw-bytes';

const malformed = 0x81;
const notSubscribed = 0x11;

test('[MQTT-3.10.1-1] an UNSUBSCRIBE whose flags are not 0010 is malformed', async () => {
  await using broker = await startBroker();
  for (const header of [0xa0, 0xa1, 0xa3, 0xaa]) {
    const client = await broker.connect();
    client.send(packet(header, u16(1), properties(), field('a')));
    await client.expectDisconnected(malformed);
  }
});

test('[MQTT-3.10.3-1] a filter that is no UTF-8 string ends the connection', async () => {
  await using broker = await startBroker();
  for (const bytes of Object.values(badStrings)) {
    const client = await broker.connect();
    client.send(packet(0xa2, u16(1), properties(), field(bytes)));
    await client.expectDisconnected(malformed);
  }
});

test('[MQTT-3.10.3-2] an UNSUBSCRIBE without a filter is a protocol error', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  client.send(packet(0xa2, u16(1), properties()));
  await client.expectDisconnected(0x82, malformed, 0x8f);
});

test('[MQTT-3.10.4-1] only the subscription with exactly that filter is removed', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe(['a/b', 'A/B', 'c/+', 'c/d']);
  assert.deepEqual((await client.unsubscribe('a/+')).reasonCodes, [notSubscribed]);
  assert.deepEqual((await client.unsubscribe('a/b', 'c/d')).reasonCodes, [0, 0]);
  for (const topic of ['a/b', 'A/B', 'c/d']) await client.publish(topic, topic);
  assert.deepEqual(await client.receivePayloads(2), ['A/B', 'c/d']);
  await client.expectNothing();
});

test('[MQTT-3.10.4-1] a subscription is removed from its own client only', async () => {
  await using broker = await startBroker();
  const [one, two] = [await broker.connect(), await broker.connect()];
  await one.subscribe('a');
  await two.subscribe('a');
  await one.unsubscribe('a');
  await two.publish('a', 'for two');
  assert.deepEqual(await two.receivePayloads(1), ['for two']);
  await one.expectNothing();
});

test('[MQTT-3.10.4-2] after UNSUBSCRIBE no new message is added for the client', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe('a', { qos: 1 });
  await client.unsubscribe('a');
  const puback = await client.publish('a', '', { qos: 1 });
  assert.equal(puback?.reasonCode, 0x10);
  await client.expectNothing();
});

test('[MQTT-3.10.4-3] deliveries that have begun are completed after UNSUBSCRIBE', async () => {
  await using broker = await startBroker();
  const session = { clientId: 'c', cleanStart: false, properties: { sessionExpirySeconds: 1000 } };
  const client = await broker.connect(session);
  const publisher = await broker.connect();
  await client.subscribe('a', { qos: 2 });
  await publisher.publish('a', 'begun', { qos: 2 });
  await publisher.publish('a', 'not acknowledged', { qos: 1 });
  const { packetId } = await client.next('publish');
  await client.next('publish');
  await client.unsubscribe('a');
  client.ack('pubrec', packetId);
  assert.equal((await client.next('pubrel')).packetId, packetId);
  client.ack('pubcomp', packetId);
  await client.expectNothing();
  await broker.lose(client, 'c');
  const back = await broker.connect(session);
  assert.deepEqual(await back.receivePayloads(1), ['not acknowledged']);
  await back.expectNothing();
});

test('[MQTT-3.10.4-4] [MQTT-3.10.4-5] an UNSUBSCRIBE is answered by UNSUBACK with its packet id, also when nothing was removed', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe('a');
  for (const [packetId, code] of [
    [300, 0],
    [65_535, notSubscribed],
  ] as const) {
    client.send(packet(0xa2, u16(packetId), properties(), field('a')));
    const unsuback = await client.next('unsuback');
    assert.equal(unsuback.packetId, packetId);
    assert.deepEqual(unsuback.reasonCodes, [code]);
  }
});

test('[MQTT-3.10.4-6] several filters do what several UNSUBSCRIBEs do, with one UNSUBACK', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe(['a', 'b']);
  // The second 'a' finds the subscription gone already.
  const unsuback = await client.unsubscribe('a', 'a', 'b');
  assert.deepEqual(unsuback.reasonCodes, [0, notSubscribed, 0]);
  await client.expectNothing();
});

test('[MQTT-3.11.2-1] [MQTT-3.11.2-2] an UNSUBACK drops its explanations rather than grow too large', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({ properties: { maximumPacketSize: 24 } });
  client.send(packet(0xa2, u16(1), properties(), field('a')));
  const bytes = await client.nextBytes();
  assert.ok(bytes.length <= 24, `${bytes.length} bytes`);
  assert.equal(bytes.at(-1), notSubscribed);
});

test('[MQTT-3.11.3-1] [MQTT-3.11.3-2] UNSUBACK has a reason code of UNSUBACK for each filter, in their order', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe(['a', 'c', '$share/g/s']);
  const unsuback = await client.unsubscribe('c', 'b', 'a', '$share/g/s', '$share/other/s');
  assert.deepEqual(unsuback.reasonCodes, [0, notSubscribed, 0, 0, notSubscribed]);
});
