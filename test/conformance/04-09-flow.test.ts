// MQTT 5.0 sections 3.3.4 and 4.9: receive maximum in both directions.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';

const exceeded = 0x93;

test('[MQTT-3.3.4-7] more QoS 2 publishes under way than the server announced end the connection with 0x93', async () => {
  await using broker = await startBroker({ zone: { receiveMaximum: 3 } });
  const client = await broker.connect();
  assert.equal(client.connack?.properties.receiveMaximum, 3);
  for (let packetId = 1; packetId <= 3; packetId++) {
    client.sendPublish('a', '', { qos: 2, packetId });
    await client.next('pubrec');
  }
  // One is finished, one more may come; the next is one too many.
  client.ack('pubrel', 1);
  await client.next('pubcomp');
  client.sendPublish('a', '', { qos: 2, packetId: 4 });
  await client.next('pubrec');
  client.sendPublish('a', '', { qos: 2, packetId: 5 });
  await client.expectDisconnected(exceeded);
});

test('[MQTT-3.3.4-7] acknowledged QoS 1 publishes and repeated ones do not count', async () => {
  await using broker = await startBroker({ zone: { receiveMaximum: 2 } });
  const client = await broker.connect();
  for (let i = 0; i < 10; i++) await client.publish('a', '', { qos: 1 });
  for (const packetId of [100, 101, 100, 101, 100]) {
    client.sendPublish('a', '', { qos: 2, packetId, dup: true });
    await client.next('pubrec');
  }
  await client.expectNothing();
});

test('[MQTT-3.3.4-9] the server has no more QoS 1 and 2 messages under way than the client takes', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({ properties: { receiveMaximum: 3 } });
  await client.subscribe('a', { qos: 2 });
  const publisher = await broker.connect();
  for (let i = 0; i < 10; i++) await publisher.publish('a', `${i}`, { qos: i % 2 === 0 ? 1 : 2 });
  const window: { packetId: number; qos: number }[] = [];
  for (let i = 0; i < 3; i++) window.push(await client.next('publish'));
  await client.expectNothing();
  for (let i = 3; i < 10; i++) {
    const { packetId = 0, qos } = window.shift() ?? {};
    if (qos === 2) {
      client.ack('pubrec', packetId);
      await client.next('pubrel');
      // Only PUBCOMP gives the place back.
      await client.expectNothing();
    }
    client.ack(qos === 2 ? 'pubcomp' : 'puback', packetId);
    window.push(await client.next('publish'));
    await client.expectNothing();
  }
});

test('[MQTT-3.3.4-10] a full window holds back nothing but QoS 1 and 2 messages', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({ properties: { receiveMaximum: 1 } });
  await client.subscribe('a', { qos: 2 });
  const publisher = await broker.connect();
  await publisher.publish('a', 'fills the window', { qos: 1 });
  await client.next('publish');
  await client.expectNothing();
  assert.deepEqual((await client.subscribe('b')).reasonCodes, [0]);
  assert.deepEqual((await client.unsubscribe('b')).reasonCodes, [0]);
  assert.equal((await client.publish('elsewhere', '', { qos: 1 }))?.reasonCode, 0x10);
  await publisher.publish('a', 'QoS 0 passes', { qos: 0 });
  assert.deepEqual(await client.receivePayloads(1), ['QoS 0 passes']);
});

test('[MQTT-4.9.0-1] the window of a client is its receive maximum, in full, from the first message on', async () => {
  await using broker = await startBroker();
  for (const receiveMaximum of [1, 2, 40]) {
    const client = await broker.connect({ properties: { receiveMaximum } });
    await client.subscribe('a', { qos: 1 });
    const publisher = await broker.connect();
    for (let i = 0; i < receiveMaximum + 1; i++) await publisher.publish('a', '', { qos: 1 });
    for (let i = 0; i < receiveMaximum; i++) await client.next('publish');
    await client.expectNothing();
    await client.disconnect();
  }
});

test('[MQTT-4.9.0-2] the quota is spent by each message and refilled by PUBACK, PUBCOMP and refusing PUBREC', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({ properties: { receiveMaximum: 1 } });
  await client.subscribe('a', { qos: 2 });
  const publisher = await broker.connect();
  const kinds = [1, 2, 2, 1] as const;
  for (const qos of kinds) await publisher.publish('a', `${qos}`, { qos });
  client.ack('puback', (await client.next('publish')).packetId);
  const refused = await client.next('publish');
  await client.expectNothing();
  client.ack('pubrec', refused.packetId, 0x80);
  const taken = await client.next('publish');
  client.ack('pubrec', taken.packetId);
  await client.next('pubrel');
  await client.expectNothing();
  client.ack('pubcomp', taken.packetId);
  assert.equal((await client.next('publish')).qos, 1);
});

test('[MQTT-4.9.0-2] acknowledgements that answer nothing do not widen the window', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({ properties: { receiveMaximum: 1 } });
  await client.subscribe('a', { qos: 1 });
  const publisher = await broker.connect();
  for (let i = 0; i < 3; i++) await publisher.publish('a', '', { qos: 1 });
  const { packetId } = await client.next('publish');
  for (let i = 1; i <= 5; i++) client.ack('puback', packetId + i);
  client.ack('pubcomp', packetId);
  await client.expectNothing();
});

test('[MQTT-4.9.0-3] with its quota at zero the server goes on answering every packet', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({ properties: { receiveMaximum: 1 } });
  await client.subscribe('a', { qos: 1 });
  const publisher = await broker.connect();
  for (let i = 0; i < 2; i++) await publisher.publish('a', '', { qos: 1 });
  await client.next('publish');
  await client.expectNothing();
  client.sendPublish('b', '', { qos: 2, packetId: 7 });
  await client.next('pubrec');
  client.ack('pubrel', 7);
  await client.next('pubcomp');
  await client.unsubscribe('a');
  await client.disconnect();
});

test('a resumed session is resent no more at once than the new receive maximum allows', async () => {
  await using broker = await startBroker();
  const session = { clientId: 'c', cleanStart: false };
  const first = await broker.connect({ ...session, properties: { sessionExpirySeconds: 100 } });
  await first.subscribe('a', { qos: 1 });
  const publisher = await broker.connect();
  for (let i = 0; i < 5; i++) await publisher.publish('a', `${i}`, { qos: 1 });
  for (let i = 0; i < 5; i++) await first.next('publish');
  await broker.lose(first, 'c');
  const narrow = { sessionExpirySeconds: 100, receiveMaximum: 2 };
  const second = await broker.connect({ ...session, properties: narrow });
  const window = [await second.next('publish'), await second.next('publish')];
  await second.expectNothing();
  for (const { packetId } of window) second.ack('puback', packetId);
  assert.deepEqual(await second.receivePayloads(3), ['2', '3', '4']);
});
