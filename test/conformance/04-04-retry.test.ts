// MQTT 5.0 section 4.4: what is sent again, and when.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';

const session = { clientId: 'c', cleanStart: false, properties: { sessionExpirySeconds: 1000 } };

test('[MQTT-4.4.0-1] on a resumed session unacknowledged PUBLISH and PUBREL come again with their packet ids', async () => {
  await using broker = await startBroker();
  const first = await broker.connect(session);
  await first.subscribe('a', { qos: 2 });
  const publisher = await broker.connect();
  const sent: number[] = [];
  for (const qos of [1, 2, 2, 1] as const) {
    await publisher.publish('a', `QoS ${qos}`, { qos });
    sent.push((await first.next('publish')).packetId);
  }
  const [one = 0, two = 0, three = 0, four = 0] = sent;
  first.ack('pubrec', three);
  await first.next('pubrel');
  first.ack('puback', four);
  await first.expectNothing();
  await broker.lose(first, 'c');

  const second = await broker.connect(session);
  for (const packetId of [one, two]) {
    const again = await second.find('publish');
    assert.deepEqual([again.packetId, again.dup], [packetId, true]);
  }
  // Nothing says where among the others.
  assert.equal((await second.find('pubrel')).packetId, three);
  await second.expectNothing();
});

test('[MQTT-4.4.0-1] on an open connection a 5.0 client is never sent anything again', async () => {
  await using broker = await startBroker({ zone: { retryIntervalMs: 5_000 } });
  const client = await broker.connect(session);
  await client.subscribe('a', { qos: 2 });
  const publisher = await broker.connect();
  for (const qos of [1, 2] as const) {
    await publisher.publish('a', '', { qos });
    await client.next('publish');
  }
  broker.advance(100_000);
  await client.expectNothing();
});

test('[MQTT-4.4.0-1] a clean start is sent nothing again', async () => {
  await using broker = await startBroker();
  const first = await broker.connect(session);
  await first.subscribe('a', { qos: 1 });
  await first.publish('a', '', { qos: 1 });
  await first.next('publish');
  await broker.lose(first, 'c');
  const second = await broker.connect({ ...session, cleanStart: true });
  await second.expectNothing();
});

test('[MQTT-4.4.0-2] a PUBLISH refused by PUBACK or PUBREC counts as acknowledged', async () => {
  await using broker = await startBroker();
  const first = await broker.connect(session);
  await first.subscribe('a', { qos: 2 });
  const publisher = await broker.connect();
  await publisher.publish('a', '', { qos: 1 });
  first.ack('puback', (await first.next('publish')).packetId, 0x83);
  await publisher.publish('a', '', { qos: 2 });
  first.ack('pubrec', (await first.next('publish')).packetId, 0x80);
  await first.expectNothing();
  await broker.lose(first, 'c');
  const second = await broker.connect(session);
  assert.equal(second.connack?.sessionPresent, true);
  await second.expectNothing();
});
