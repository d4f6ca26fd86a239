// MQTT 5.0 section 4.6: what keeps its order.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';

const session = { clientId: 'c', cleanStart: false, properties: { sessionExpirySeconds: 1000 } };
const numbers = (count: number): string[] => Array.from({ length: count }, (_, i) => `${i}`);

test('[MQTT-4.6.0-1] messages that are sent again come in the order of their first sending', async () => {
  await using broker = await startBroker();
  const first = await broker.connect(session);
  await first.subscribe('a', { qos: 2 });
  const publisher = await broker.connect();
  for (const payload of numbers(20)) {
    await publisher.publish('a', payload, { qos: Number(payload) % 2 === 0 ? 1 : 2 });
  }
  for (let i = 0; i < 20; i++) await first.next('publish');
  await broker.lose(first, 'c');
  const second = await broker.connect(session);
  const again: string[] = [];
  for (let i = 0; i < 20; i++) again.push((await second.next('publish')).payload.toString());
  assert.deepEqual(again, numbers(20));
});

test('[MQTT-4.6.0-2] PUBACKs come in the order of the QoS 1 messages', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  const ids = [7, 3, 65_535, 1, 500];
  for (const packetId of ids) client.sendPublish('a', '', { qos: 1, packetId });
  for (const packetId of ids) assert.equal((await client.next('puback')).packetId, packetId);
});

test('[MQTT-4.6.0-3] PUBRECs come in the order of the QoS 2 messages', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  const ids = [7, 3, 65_535, 1, 500];
  for (const packetId of ids) client.sendPublish('a', '', { qos: 2, packetId });
  for (const packetId of ids) assert.equal((await client.next('pubrec')).packetId, packetId);
});

test('[MQTT-4.6.0-4] PUBRELs come in the order of the PUBRECs', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe('a', { qos: 2 });
  const publisher = await broker.connect();
  const ids: number[] = [];
  for (let i = 0; i < 5; i++) {
    await publisher.publish('a', '', { qos: 2 });
    ids.push((await client.next('publish')).packetId);
  }
  const shuffled = [3, 0, 4, 1, 2].map((i) => ids[i] ?? 0);
  for (const packetId of shuffled) client.ack('pubrec', packetId);
  for (const packetId of shuffled) assert.equal((await client.next('pubrel')).packetId, packetId);
});

test('[MQTT-4.6.0-5] messages of one client to one topic at one QoS keep their order, live and through a full window', async () => {
  await using broker = await startBroker();
  for (const qos of [0, 1, 2] as const) {
    const wide = await broker.connect();
    const narrow = await broker.connect({ properties: { receiveMaximum: 2 } });
    for (const client of [wide, narrow]) await client.subscribe('a', { qos: 2 });
    const publisher = await broker.connect();
    for (const payload of numbers(50)) await publisher.publish('a', payload, { qos });
    for (const client of [wide, narrow]) {
      assert.deepEqual(await client.receivePayloads(50), numbers(50));
      await client.disconnect();
    }
  }
});

test('[MQTT-4.6.0-6] every topic is ordered for a subscription that is not shared, also over a time away', async () => {
  await using broker = await startBroker();
  const first = await broker.connect({
    ...session,
    properties: { ...session.properties, receiveMaximum: 3 },
  });
  await first.subscribe('#', { qos: 1 });
  const publisher = await broker.connect();
  const publish = async (from: number, to: number): Promise<void> => {
    for (const payload of numbers(to).slice(from))
      await publisher.publish('x/y', payload, { qos: 1 });
  };
  await publish(0, 10);
  for (let i = 0; i < 3; i++) await first.next('publish');
  await broker.lose(first, 'c');
  await publish(10, 20);
  const second = await broker.connect({
    ...session,
    properties: { ...session.properties, receiveMaximum: 3 },
  });
  await publish(20, 30);
  assert.deepEqual(await second.receivePayloads(30), numbers(30));
});

test('[MQTT-4.6.0-6] QoS 0 messages do not overtake older ones that wait behind a full window', async () => {
  await using broker = await startBroker();
  const narrow = { ...session, properties: { ...session.properties, receiveMaximum: 1 } };
  const first = await broker.connect(narrow);
  await first.subscribe('a', { qos: 1 });
  await first.disconnect();
  const publisher = await broker.connect();
  for (const payload of ['first', 'second']) await publisher.publish('a', payload, { qos: 1 });
  await publisher.publish('a', 'older', { qos: 0 });
  const second = await broker.connect(narrow);
  const { packetId } = await second.next('publish');
  await publisher.publish('a', 'newer', { qos: 0 });
  second.ack('puback', packetId);
  const received = await second.receivePayloads(3);
  assert.deepEqual(
    received.filter((payload) => payload !== 'second'),
    ['older', 'newer'],
  );
});
