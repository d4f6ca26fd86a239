// The cache of routes: whoever keeps a route that the cache has forgotten still learns of every
// subscription, and topics that are long enough to fill the memory are not remembered.

import assert from 'node:assert/strict';
import test from 'node:test';
import { bareRouter } from '#core/session-fixture';
import { startBroker, type TestBroker } from '#test/broker';

/** More topics than are remembered. */
const manyTopics = 131_072 + 1;

function fillRoutes({ brokers }: TestBroker): void {
  for (const { core } of brokers) {
    for (let i = 0; i < manyTopics; i++) core.router.routeTo(`fill/${i}`);
  }
}

test('publishers that keep a forgotten route reach those who subscribe later, each of them', async () => {
  await using broker = await startBroker();
  const first = await broker.connect();
  const second = await broker.connect();
  await first.publish('x', 'nobody listens');
  fillRoutes(broker);
  await second.publish('x', 'nobody listens');
  await first.publish('x', 'nobody listens');
  const subscriber = await broker.connect();
  await subscriber.subscribe('x');
  await second.publish('x', 'from the second');
  await first.publish('x', 'from the first');
  assert.deepEqual(await subscriber.receivePayloads(2), ['from the second', 'from the first']);
});

test('publishers by alias reach those who subscribe after the route was forgotten', async () => {
  await using broker = await startBroker({ zone: { maxTopicAlias: 5 } });
  const writer = await broker.connect();
  await writer.publish('x', 'nobody listens', { properties: { topicAlias: 1 } });
  fillRoutes(broker);
  const other = await broker.connect();
  await other.publish('x', 'nobody listens');
  const subscriber = await broker.connect();
  await subscriber.subscribe('x');
  await writer.publish('', 'by alias', { properties: { topicAlias: 1 } });
  assert.deepEqual(await subscriber.receivePayloads(1), ['by alias']);
});

test('a topic of many bytes is not remembered, so that topics cannot fill the memory', () => {
  const router = bareRouter();
  const long = 'x'.repeat(60_000);
  assert.notEqual(router.routeTo(long), router.routeTo(long));
  // Characters are not bytes.
  const wide = 'ü'.repeat(400);
  assert.notEqual(router.routeTo(wide), router.routeTo(wide));
  const short = 'x'.repeat(100);
  assert.equal(router.routeTo(short), router.routeTo(short));
});

test('messages on a long topic reach those who subscribe later, exactly and by wildcard', async () => {
  await using broker = await startBroker();
  const long = `deep/${'x'.repeat(60_000)}`;
  const writer = await broker.connect();
  await writer.publish(long, 'nobody listens');
  const subscriber = await broker.connect();
  await subscriber.subscribe(long);
  await writer.publish(long, 'one');
  await writer.publish(long, 'two', { qos: 1 });
  assert.deepEqual(await subscriber.receivePayloads(2), ['one', 'two']);
  await subscriber.unsubscribe(long);
  await writer.publish(long, 'nobody listens');
  await subscriber.expectNothing();
  await subscriber.subscribe('deep/#');
  await writer.publish(long, 'three');
  assert.deepEqual(await subscriber.receivePayloads(1), ['three']);
});
