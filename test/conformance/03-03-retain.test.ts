// MQTT 5.0 section 3.3.1.3: what is retained, what replaces it, and who gets it with which flag.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';

const retain = true;

test('[MQTT-3.3.1-5] a retained message replaces the one before it', async () => {
  await using broker = await startBroker();
  const publisher = await broker.connect();
  await publisher.publish('a', 'first', { retain, qos: 1 });
  await publisher.publish('a', 'second', { retain, qos: 0 });
  await publisher.publish('b', 'other topic', { retain });
  const client = await broker.connect();
  await client.subscribe('a', { qos: 2 });
  const received = await client.receive();
  assert.deepEqual(
    [received.payload.toString(), received.qos, received.retain],
    ['second', 0, true],
  );
  await client.expectNothing();
});

test('[MQTT-3.3.1-6] an empty retained message goes to subscribers and removes what was retained', async () => {
  await using broker = await startBroker();
  const live = await broker.connect();
  await live.subscribe('a');
  await live.publish('a', 'kept', { retain });
  await live.publish('a', '', { retain });
  assert.deepEqual(await live.receivePayloads(2), ['kept', '']);
  const late = await broker.connect();
  await late.subscribe(['a', '#']);
  await late.expectNothing();
});

test('[MQTT-3.3.1-7] an empty retained message is not stored itself', async () => {
  await using broker = await startBroker();
  const publisher = await broker.connect();
  await publisher.publish('never/kept', '', { retain, qos: 2 });
  const client = await broker.connect();
  await client.subscribe('#');
  await client.expectNothing();
});

test('[MQTT-3.3.1-8] a message without RETAIN neither stores, nor replaces, nor removes', async () => {
  await using broker = await startBroker();
  const publisher = await broker.connect();
  await publisher.publish('a', 'kept', { retain });
  await publisher.publish('a', 'passes by');
  await publisher.publish('a', '');
  await publisher.publish('b', 'passes by');
  const client = await broker.connect();
  await client.subscribe(['a', 'b']);
  assert.deepEqual(await client.receivePayloads(1), ['kept']);
  await client.expectNothing();
});

test('[MQTT-3.3.1-9] retain handling 0 sends the retained messages that match, each time', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  for (const topic of ['a/1', 'a/2', 'b/1']) await client.publish(topic, topic, { retain, qos: 1 });
  for (let round = 0; round < 2; round++) {
    await client.subscribe('a/+', { qos: 1, retainHandling: 0 });
    assert.deepEqual((await client.receivePayloads(2)).sort(), ['a/1', 'a/2']);
    await client.expectNothing();
  }
});

test('[MQTT-3.3.1-10] retain handling 1 sends retained messages only to a new subscription', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.publish('a', 'kept', { retain });
  await client.subscribe('a', { retainHandling: 1 });
  assert.deepEqual(await client.receivePayloads(1), ['kept']);
  await client.subscribe('a', { retainHandling: 1, qos: 1 });
  await client.expectNothing();
  await client.unsubscribe('a');
  await client.subscribe('a', { retainHandling: 1 });
  assert.deepEqual(await client.receivePayloads(1), ['kept']);
});

test('[MQTT-3.3.1-11] retain handling 2 sends no retained message', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.publish('a', 'kept', { retain });
  await client.subscribe('a', { retainHandling: 2 });
  await client.expectNothing();
  await client.publish('a', 'live');
  assert.deepEqual(await client.receivePayloads(1), ['live']);
});

test('[MQTT-3.3.1-12] without retain-as-published live messages have RETAIN 0', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe('a', { qos: 1, retainAsPublished: false });
  for (const flag of [true, false]) {
    await client.publish('a', 'x', { retain: flag, qos: 1 });
    assert.equal((await client.receive()).retain, false);
  }
});

test('[MQTT-3.3.1-13] with retain-as-published live messages keep the RETAIN they came with', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe('a', { qos: 1, retainAsPublished: true });
  for (const flag of [true, false]) {
    await client.publish('a', 'x', { retain: flag, qos: 1 });
    assert.equal((await client.receive()).retain, flag);
  }
});

test('a retained message sent because of a subscription has RETAIN 1 and its subscription identifier', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.publish('a', 'kept', { retain, qos: 2 });
  await client.subscribe('a', { qos: 1, properties: { subscriptionIds: [9] } });
  const received = await client.receive();
  assert.deepEqual([received.retain, received.qos, received.dup], [true, 1, false]);
  assert.deepEqual(received.properties.subscriptionIds, [9]);
});

test('a shared subscription gets no retained messages', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.publish('a', 'kept', { retain });
  await client.subscribe('$share/g/a');
  await client.expectNothing();
  await client.publish('a', 'live');
  assert.deepEqual(await client.receivePayloads(1), ['live']);
});

test('a retained message over the size or count limit is delivered but not kept', async () => {
  await using broker = await startBroker({
    retainer: { maxRetainedMessages: 2, maxPayloadBytes: 10 },
  });
  const client = await broker.connect();
  await client.subscribe('#');
  await client.publish('a', 'eleven byte', { retain });
  for (const topic of ['b', 'c', 'd']) await client.publish(topic, topic, { retain });
  await client.publish('b', 'b again', { retain });
  assert.equal((await client.receivePayloads(5)).length, 5);
  const late = await broker.connect();
  await late.subscribe('#');
  assert.deepEqual((await late.receivePayloads(2)).sort(), ['b again', 'c']);
  await late.expectNothing();
});
