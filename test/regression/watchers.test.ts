// Whoever watches topics without being subscribed: sees what is accepted there and nothing else, costs
// the other topics nothing, and is gone when he goes.

import assert from 'node:assert/strict';
import test from 'node:test';
import { Message } from '#core/message';
import { startBroker } from '#test/broker';

test('a watcher sees what is published where it watches, once, before it is delivered', async () => {
  await using broker = await startBroker({ workers: 0 });
  const { filters } = broker.broker.core;
  const seen: string[] = [];
  const watcher = ({ topic, payload }: Message): void => void seen.push(`${topic} ${payload}`);
  filters.watch('a/+', watcher);
  filters.watch('a/1', watcher);
  const reader = await broker.connect();
  await reader.subscribe('#');
  const writer = await broker.connect();
  for (const qos of [0, 1, 2] as const) await writer.publish('a/1', `q${qos}`, { qos });
  await writer.publish('b', 'not watched', { qos: 1 });
  assert.deepEqual(await reader.receivePayloads(4), ['q0', 'q1', 'q2', 'not watched']);
  assert.deepEqual(seen, ['a/1 q0', 'a/1 q1', 'a/1 q2']);
  filters.unwatch('a/+', watcher);
  await writer.publish('a/2', 'x', { qos: 1 });
  await writer.publish('a/1', 'still', { qos: 1 });
  filters.unwatch('a/1', watcher);
  await writer.publish('a/1', 'no longer', { qos: 1 });
  assert.deepEqual(seen.slice(3), ['a/1 still']);
});

test('a watcher of everything sees names that begin with $, and leaves no trace', async () => {
  await using broker = await startBroker({ workers: 0 });
  const { filters, router } = broker.broker.core;
  const topics: string[] = [];
  const watcher = ({ topic }: Message): void => void topics.push(topic);
  const writer = await broker.connect();
  await writer.publish('before', 'x', { qos: 1 });
  assert.equal(router.routeTo('before').isPlain, true);
  filters.watch(undefined, watcher);
  assert.equal(router.routeTo('before').isPlain, false);
  for (const topic of ['before', '$own/topic', 'a/b']) await writer.publish(topic, 'x', { qos: 1 });
  const from = { clientId: 'node', username: undefined, address: '', port: 0 };
  const inside = new Message('from/inside', Buffer.from('x'), 0, false, undefined, from, 0);
  await broker.broker.publish(inside);
  assert.deepEqual(topics, ['before', '$own/topic', 'a/b', 'from/inside']);
  filters.unwatch(undefined, watcher);
  assert.equal(router.routeTo('before').isPlain, true);
  assert.equal(broker.stat('topics'), 0);
});
