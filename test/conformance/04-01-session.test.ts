// MQTT 5.0 sections 4.1, 4.2 and 4.5: session state and its life, the byte stream under it, and whose
// session a message enters.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import { connectPacket, field, packet, properties, u16 } from '#test/raw-bytes';

const session = { clientId: 'c', cleanStart: false, properties: { sessionExpirySeconds: 60 } };

test('[MQTT-4.1.0-1] a session is not discarded while its connection is open', async () => {
  await using broker = await startBroker();
  for (const sessionExpirySeconds of [0, 1]) {
    const client = await broker.connect({ ...session, properties: { sessionExpirySeconds } });
    await client.subscribe('a', { qos: 1 });
    broker.advance(10_000_000);
    await client.publish('a', 'still there', { qos: 1 });
    assert.deepEqual(await client.receivePayloads(1), ['still there']);
    await client.disconnect();
    broker.advance(3_000);
  }
});

test('[MQTT-4.1.0-1] the expiry of an earlier connection does not end a session that is in use again', async () => {
  await using broker = await startBroker();
  await (await broker.connect(session)).disconnect();
  broker.advance(50_000);
  const client = await broker.connect(session);
  await client.subscribe('a', { qos: 1 });
  broker.advance(50_000);
  await client.publish('a', 'still there', { qos: 1 });
  assert.deepEqual(await client.receivePayloads(1), ['still there']);
});

test('[MQTT-4.1.0-2] a session is discarded when its expiry has passed after the connection', async () => {
  await using broker = await startBroker();
  const first = await broker.connect(session);
  await first.subscribe('a', { qos: 1 });
  await broker.lose(first, 'c');
  broker.advance(58_000);
  const second = await broker.connect(session);
  assert.equal(second.connack?.sessionPresent, true);
  await broker.lose(second, 'c');
  broker.advance(62_000);
  const publisher = await broker.connect();
  assert.equal((await publisher.publish('a', '', { qos: 1 }))?.reasonCode, 0x10);
  const third = await broker.connect(session);
  assert.equal(third.connack?.sessionPresent, false);
});

test('[MQTT-4.1.0-2] a session without an expiry interval ends with its connection', async () => {
  await using broker = await startBroker();
  const first = await broker.connect({ clientId: 'c', cleanStart: false });
  await first.subscribe('a', { qos: 1 });
  await broker.lose(first, 'c');
  const publisher = await broker.connect();
  assert.equal((await publisher.publish('a', '', { qos: 1 }))?.reasonCode, 0x10);
});

test('[MQTT-4.1.0-2] a session with the largest expiry interval never ends', async () => {
  await using broker = await startBroker();
  const forever = { ...session, properties: { sessionExpirySeconds: 0xffff_ffff } };
  await (await broker.connect(forever)).disconnect();
  broker.advance(100_000_000);
  const client = await broker.connect(forever);
  assert.equal(client.connack?.sessionPresent, true);
});

test('[MQTT-4.2-1] over TCP a stream means the same however it is cut into segments', async () => {
  await using broker = await startBroker();
  const stream = Buffer.concat([
    connectPacket(),
    packet(0x82, u16(1), properties(), field('a'), 1),
    packet(0x32, field('a'), u16(2), properties(), Buffer.from('x'.repeat(300))),
    packet(0xc0),
  ]);
  for (const step of [1, 2, 3, 7, stream.length]) {
    const client = await broker.open();
    for (let at = 0; at < stream.length; at += step) {
      const segment = stream.subarray(at, at + step);
      // Each segment is written only when the one before it has left this process.
      await new Promise<void>((resolve) => client.socket.write(segment, () => resolve()));
    }
    await client.next('connack');
    await client.next('suback');
    assert.equal((await client.find('publish')).payload.length, 300);
    await client.find('puback');
    await client.find('pingresp');
  }
});

test('[MQTT-4.5.0-1] a message enters the session of every client with a matching subscription', async () => {
  await using broker = await startBroker();
  const ids = ['one', 'two', 'three'];
  for (const clientId of ids) {
    const client = await broker.connect({ ...session, clientId });
    await client.subscribe(`+/${clientId === 'three' ? 'other' : 'b'}`, { qos: 2 });
    await client.disconnect();
  }
  const live = await broker.connect();
  await live.subscribe('a/#', { qos: 1 });
  for (const qos of [1, 2] as const) await live.publish('a/b', `${qos}`, { qos });
  assert.deepEqual(await live.receivePayloads(2), ['1', '2']);
  for (const clientId of ids) {
    const client = await broker.connect({ ...session, clientId });
    if (clientId !== 'three') assert.deepEqual(await client.receivePayloads(2), ['1', '2']);
    await client.expectNothing();
  }
});

test('a session away from its client queues at most max_mqueue_len messages, the newest ones', async () => {
  await using broker = await startBroker({ zone: { maxMqueueLen: 3 } });
  const first = await broker.connect(session);
  await first.subscribe('a', { qos: 1 });
  await first.disconnect();
  const publisher = await broker.connect();
  for (const payload of ['1', '2', '3', '4', '5'])
    await publisher.publish('a', payload, { qos: 1 });
  const second = await broker.connect(session);
  assert.deepEqual(await second.receivePayloads(3), ['3', '4', '5']);
  await second.expectNothing();
});
