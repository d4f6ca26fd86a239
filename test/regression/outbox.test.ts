// The bound of an outbox: what waits because of it is sent later and never lost or stuck, and a
// client that does not read makes neither its outbox nor anybody's memory grow.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Channel } from '#core/channel';
import { startBroker, type TestBroker } from '#test/broker';
import { settled, until } from './event-turns.ts';
import { HeldTransport } from './held-transport.ts';
import { frames, publishFrame } from './publish-frame.ts';

const bound = 4096;
const durable = { clientId: 's', properties: { sessionExpirySeconds: 100 } };

function channelOf(broker: TestBroker, clientId: string): Channel {
  const channel = [...broker.channels()].find(({ client }) => client?.clientId === clientId);
  assert.ok(channel !== undefined, `Cannot find "${clientId}": it is not connected`);
  return channel;
}

for (const [what, topic, payloadBytes] of [
  ['payloads', 't', 500],
  ['topics', 't'.repeat(400), 4],
] as const) {
  test(`a queue of QoS 0 messages far over the bound of the outbox arrives whole, long ${what}`, async () => {
    await using broker = await startBroker({ zone: { maxOutboxBytes: bound } });
    const absent = await broker.connect(durable);
    await absent.subscribe(topic);
    await broker.lose(absent, 's');
    const writer = await broker.connect();
    const sent = Array.from({ length: 50 }, (_, i) => `${i}`.padEnd(payloadBytes));
    for (const payload of sent) writer.sendPublish(topic, payload);
    await writer.publish('behind them');
    const droppedBefore = broker.metric('messages/dropped');
    const back = await broker.connect({ ...durable, cleanStart: false });
    assert.deepEqual(await back.receivePayloads(sent.length), sent);
    assert.equal(broker.metric('messages/dropped'), droppedBefore);
    await writer.publish(topic, 'live');
    assert.deepEqual(await back.receivePayloads(1), ['live']);
  });
}

test('a QoS 1 message behind QoS 0 messages that fill the outbox is sent, and so are later ones', async () => {
  await using broker = await startBroker({ zone: { maxOutboxBytes: bound } });
  const client = await broker.connect();
  await client.subscribe('t', { qos: 1 });
  const writer = await broker.connect();
  const payload = Buffer.alloc(1000, 'x');
  const filling = frames(4, () => publishFrame('t', payload));
  const last = publishFrame('t', 'acknowledged', { qos: 1, packetId: 9 });
  writer.send(Buffer.concat([filling, last]));
  await writer.find('puback');
  await client.find('publish', (publish) => publish.payload.toString() === 'acknowledged');
  await writer.publish('t', 'later', { qos: 1 });
  await client.find('publish', (publish) => publish.payload.toString() === 'later');
});

test('a client that does not read its answers is not read either, and served when it reads again', async () => {
  await using broker = await startBroker({ zone: { maxOutboxBytes: bound } });
  const client = new HeldTransport(broker.broker);
  client.connect('deaf');
  await settled();
  const { outbox } = channelOf(broker, 'deaf');
  const before = client.counters.sentBytes;
  client.isHolding = true;
  const pings = Buffer.alloc(1000, Buffer.from([0xc0, 0x00]));
  let reads = 0;
  for (; reads < 100 && !client.isPaused; reads++) {
    client.send(pings);
    await settled();
  }
  assert.ok(client.isPaused, 'the broker goes on reading');
  assert.ok(outbox.bytes <= bound + pings.length, `the outbox holds ${outbox.bytes} bytes`);
  client.release();
  await until('reading go on', () => !client.isPaused);
  await until('every answer', () => client.counters.sentBytes - before === reads * pings.length);
});

test('retries do not fill the outbox of a client that does not read', async () => {
  await using broker = await startBroker({ zone: { retryIntervalMs: 20_000 } });
  const client = new HeldTransport(broker.broker, 4);
  client.connect('deaf');
  client.send({
    type: 'subscribe',
    packetId: 1,
    filters: [{ filter: 't', qos: 1, noLocal: false, retainAsPublished: false, retainHandling: 0 }],
    properties: {},
  });
  await settled();
  client.isHolding = true;
  const writer = await broker.connect();
  for (let i = 0; i < 8; i++) await writer.publish('t', Buffer.alloc(20_000), { qos: 1 });
  const { outbox } = channelOf(broker, 'deaf');
  const before = outbox.bytes;
  assert.ok(before > 8 * 20_000, 'nothing was read');
  for (let i = 0; i < 3; i++) {
    broker.advance(21_000);
    await settled();
    assert.equal(outbox.bytes, before);
  }
  const sentBefore = client.counters.sentBytes;
  client.release();
  await until('the messages', () => outbox.bytes === 0);
  broker.advance(21_000);
  await until('a retry', () => client.counters.sentBytes - sentBefore > 8 * 20_000);
});
