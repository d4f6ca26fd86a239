// Nothing stays behind when a client cannot be answered, asks again and again, or goes too far.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import { until } from './event-turns.ts';
import { publishFrame } from './publish-frame.ts';

test('a client that accepts no CONNACK leaves no session', async () => {
  await using broker = await startBroker();
  const client = await broker.open();
  client.send({
    type: 'connect',
    version: 5,
    clientId: 'tiny',
    cleanStart: false,
    keepaliveSeconds: 0,
    isBridge: false,
    properties: { maximumPacketSize: 4, sessionExpirySeconds: 60 },
  });
  await client.expectClosed();
  await until('the connection gone', () => broker.connectionCount === 0);
  broker.advance(61_000);
  assert.equal(broker.sessionCount, 0);
  assert.equal(broker.stat('connections'), 0);
});

test('a topic that is too long under its mountpoint is refused, retained for nobody', async () => {
  await using broker = await startBroker({ zone: { mountpoint: `${'m'.repeat(100)}/` } });
  const client = await broker.connect();
  client.send(publishFrame('t'.repeat(65_500), 'x', { retain: true }));
  await client.expectDisconnected(0x90);
  assert.equal(broker.broker.core.retained.size, 0);
  await broker.expectService();
});

test('subscribing again and again keeps one replay, however long it has to wait', async () => {
  await using broker = await startBroker();
  const writer = await broker.connect();
  for (const i of [1, 2, 3]) await writer.publish(`r/${i}`, 'kept', { qos: 1, retain: true });
  const client = await broker.connect({ properties: { receiveMaximum: 1 } });
  for (let i = 0; i < 20; i++) await client.subscribe('r/#', { qos: 1 });
  const { packetId } = await client.next('publish');
  client.ack('puback', packetId);
  const payloads = await client.receivePayloads(3);
  assert.deepEqual(payloads, ['kept', 'kept', 'kept']);
  await client.expectNothing();
});

test('a retained QoS 0 message does not wait for the window', async () => {
  await using broker = await startBroker();
  const writer = await broker.connect();
  await writer.publish('r', 'retained', { retain: true });
  const client = await broker.connect({ properties: { receiveMaximum: 1 } });
  await client.subscribe('x', { qos: 1 });
  await writer.publish('x', 'unacknowledged', { qos: 1 });
  await client.next('publish');
  await client.subscribe('r', { qos: 0 });
  assert.equal((await client.next('publish')).payload.toString(), 'retained');
});

test('aliases for very long topics are bounded in bytes', async () => {
  await using broker = await startBroker({ zone: { maxTopicAlias: 65_535 } });
  const client = await broker.connect();
  for (let alias = 1; alias <= 20; alias++) {
    const topic = `${alias}/`.padEnd(60_000, 't');
    client.send(publishFrame(topic, 'x', { properties: { topicAlias: alias } }));
  }
  await client.expectDisconnected(0x97);
});

test('an AUTH challenge over the bound of the outbox is answered all the same', async () => {
  await using broker = await startBroker({ zone: { maxOutboxBytes: 1024 } });
  let steps = 0;
  broker.hook('client.enhanced_auth', () =>
    steps++ === 0 ? { continue: true, data: Buffer.alloc(3000, 1) } : { allow: true },
  );
  const client = await broker.open();
  client.send({
    type: 'connect',
    version: 5,
    clientId: 'c',
    cleanStart: true,
    keepaliveSeconds: 0,
    isBridge: false,
    properties: { authMethod: 'm' },
  });
  await client.next('auth');
  client.send({ type: 'auth', reasonCode: 0x18, properties: { authMethod: 'm' } });
  assert.equal((await client.next('connack')).reasonCode, 0);
});
