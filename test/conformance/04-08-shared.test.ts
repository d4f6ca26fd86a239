// MQTT 5.0 section 4.8: subscriptions, and the shared ones among them.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker, type TestBroker } from '#test/broker';
import { field, packet, properties, u16 } from '#test/raw-bytes';
import type { RawClient } from '#test/raw-client';

const expiry = { cleanStart: false, properties: { sessionExpirySeconds: 1000 } };

async function member(broker: TestBroker, clientId: string, qos: 0 | 1 | 2): Promise<RawClient> {
  const client = await broker.connect({ ...expiry, clientId });
  await client.subscribe('$share/g/a', { qos });
  return client;
}

async function expectFiltersRefused(filters: readonly string[]): Promise<void> {
  await using broker = await startBroker();
  for (const filter of filters) {
    const client = await broker.connect();
    client.send(packet(0x82, u16(1), properties(), field(filter), 0));
    const answer = await client.next();
    if (answer.type === 'suback') {
      assert.deepEqual(answer.reasonCodes, [0x8f], `filter "${filter}"`);
    } else {
      assert.equal(answer.type, 'disconnect', `filter "${filter}"`);
      await client.expectClosed();
    }
  }
}

test('[MQTT-4.8.2-1] a shared subscription has a name of at least one character', async () => {
  await expectFiltersRefused(['$share/', '$share//', '$share//a']);
  await using broker = await startBroker();
  const client = await broker.connect();
  assert.deepEqual((await client.subscribe('$share/g/a/+/#')).reasonCodes, [0]);
  await client.publish('a/b/c', 'matched without the prefix');
  assert.equal((await client.receive()).topic, 'a/b/c');
  await client.publish('$share/g/a/b/c', 'no such topic');
  await client.expectNothing();
});

test('[MQTT-4.8.2-2] the name has no wildcard and is followed by "/" and a filter', async () => {
  await expectFiltersRefused([
    '$share/g',
    '$share/g/',
    '$share/g+/a',
    '$share/+/a',
    '$share/#',
    '$share/g#/a',
    '$share/g/a#',
  ]);
});

test('[MQTT-4.8.2-3] each member gets messages at the QoS that it was granted', async () => {
  await using broker = await startBroker();
  const members = [
    await member(broker, 'zero', 0),
    await member(broker, 'one', 1),
    await member(broker, 'two', 2),
  ];
  const publisher = await broker.connect();
  for (let i = 0; i < 6; i++) await publisher.publish('a', `${i}`, { qos: 2 });
  for (const [granted, client] of members.entries()) {
    for (let i = 0; i < 2; i++) assert.equal((await client.receive()).qos, granted);
    await client.expectNothing();
  }
});

test('[MQTT-4.8.2-4] a QoS 2 delivery that was begun is finished with the same member when it comes back', async () => {
  await using broker = await startBroker();
  const first = await member(broker, 'one', 2);
  const publisher = await broker.connect();
  await publisher.publish('a', 'begun', { qos: 2 });
  const { packetId } = await first.next('publish');
  const other = await member(broker, 'other', 2);
  await broker.lose(first, 'one');
  await other.expectNothing();
  const back = await broker.connect({ ...expiry, clientId: 'one' });
  const again = await back.next('publish');
  assert.deepEqual(
    [again.packetId, again.dup, again.payload.toString()],
    [packetId, true, 'begun'],
  );
  await other.expectNothing();
});

test('[MQTT-4.8.2-5] a QoS 2 delivery that was begun dies with the session: no other member gets it', async () => {
  await using broker = await startBroker();
  const first = await member(broker, 'one', 2);
  const publisher = await broker.connect();
  await publisher.publish('a', 'begun', { qos: 2 });
  await first.next('publish');
  const other = await member(broker, 'other', 2);
  await broker.lose(first, 'one');
  broker.advance(2_000_000);
  await other.expectNothing();
});

test('[MQTT-4.8.2-6] a message that a member refuses is discarded, not offered to another', async () => {
  await using broker = await startBroker();
  const first = await member(broker, 'one', 2);
  const publisher = await broker.connect();
  await publisher.publish('a', 'refused', { qos: 1 });
  await publisher.publish('a', 'refused', { qos: 2 });
  const [one, two] = [await first.next('publish'), await first.next('publish')];
  const other = await member(broker, 'other', 2);
  first.ack('puback', one.packetId, 0x83);
  first.ack('pubrec', two.packetId, 0x83);
  await first.expectNothing();
  await other.expectNothing();
  await broker.lose(first, 'one');
  const back = await broker.connect({ ...expiry, clientId: 'one' });
  await back.expectNothing();
  await other.expectNothing();
});

test('a message goes to one member of each group and to every plain subscriber', async () => {
  await using broker = await startBroker();
  const clients: RawClient[] = [];
  for (const filter of ['$share/g/a', '$share/g/a', '$share/h/a', '$queue/a', 'a', '#']) {
    const client = await broker.connect();
    await client.subscribe(filter);
    clients.push(client);
  }
  const publisher = await broker.connect();
  for (const payload of ['1', '2']) await publisher.publish('a', payload);
  const counts = [1, 1, 2, 2, 2, 2];
  for (const [i, client] of clients.entries()) {
    await client.receivePayloads(counts[i] ?? 0);
    await client.expectNothing();
  }
});

test('one client may hold a plain and a shared subscription to the same filter', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe('a');
  await client.subscribe('$share/g/a');
  await client.publish('a', 'x');
  assert.deepEqual(await client.receivePayloads(2), ['x', 'x']);
  assert.deepEqual((await client.unsubscribe('a')).reasonCodes, [0]);
  await client.publish('a', 'y');
  assert.deepEqual(await client.receivePayloads(1), ['y']);
  await client.expectNothing();
});

test('messages for a group whose members are all away wait with one of them', async () => {
  await using broker = await startBroker();
  for (const clientId of ['one', 'two'])
    await broker.lose(await member(broker, clientId, 1), clientId);
  const publisher = await broker.connect();
  for (const payload of ['1', '2', '3']) await publisher.publish('a', payload, { qos: 1 });
  const received: string[] = [];
  for (const clientId of ['one', 'two']) {
    const client = await broker.connect({ ...expiry, clientId });
    client.send({ type: 'pingreq' });
    for (let next = await client.next(); next.type === 'publish'; next = await client.next()) {
      received.push(next.payload.toString());
    }
  }
  assert.deepEqual(received.toSorted(), ['1', '2', '3']);
});

test('QoS 1 messages that a member never finished go to the others when its session ends', async () => {
  await using broker = await startBroker();
  const first = await broker.connect({ clientId: 'one' });
  await first.subscribe('$share/g/a', { qos: 1 });
  const publisher = await broker.connect();
  for (const payload of ['1', '2']) await publisher.publish('a', payload, { qos: 1 });
  for (let i = 0; i < 2; i++) await first.next('publish');
  const other = await member(broker, 'other', 1);
  await broker.lose(first, 'one');
  assert.deepEqual(await other.receivePayloads(2), ['1', '2']);
  await other.expectNothing();
});
