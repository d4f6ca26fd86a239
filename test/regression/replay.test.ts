// Retained messages for a new subscription: all of them as fast as the client takes them, none after
// UNSUBACK, and never so many at once that others wait.

import assert from 'node:assert/strict';
import test from 'node:test';
import { encodePacket } from '#wire/encode';
import type { PublishPacket, QoS, SubscribeFilter } from '#wire/packet';
import { startBroker, type TestBroker } from '#test/broker';
import { settled, until } from './event-turns.ts';
import { HeldTransport } from './held-transport.ts';
import { frames, publishFrame } from './publish-frame.ts';

async function retain(broker: TestBroker, count: number, payloadBytes: number): Promise<void> {
  const writer = await broker.connect();
  const payload = Buffer.alloc(payloadBytes, 'x');
  writer.send(frames(count, (i) => publishFrame(`r/${i}`, payload, { retain: true })));
  await writer.publish('behind them');
}

function wanted(filter: string, qos: QoS = 0): SubscribeFilter {
  return { filter, qos, noLocal: false, retainAsPublished: false, retainHandling: 0 };
}

test('retained messages far over the bound of the outbox all arrive', async () => {
  await using broker = await startBroker({ zone: { maxOutboxBytes: 4096 } });
  await retain(broker, 300, 1000);
  const before = broker.metric('messages/dropped');
  const client = await broker.connect();
  await client.subscribe('r/#');
  const topics = new Set<string>();
  for (let i = 0; i < 300; i++) topics.add((await client.receive()).topic);
  assert.equal(topics.size, 300);
  await client.expectNothing();
  assert.equal(broker.metric('messages/dropped'), before);
});

test('retained messages wait where they are for a client that does not read', async () => {
  await using broker = await startBroker({ zone: { maxOutboxBytes: 4096 } });
  await retain(broker, 300, 1000);
  const client = new HeldTransport(broker.broker);
  client.connect('deaf');
  await settled();
  client.isHolding = true;
  client.send({ type: 'subscribe', packetId: 1, filters: [wanted('r/#')], properties: {} });
  await settled();
  const channel = [...broker.channels()].find((one) => one.client?.clientId === 'deaf');
  const bytes = channel?.outbox.bytes ?? 0;
  assert.ok(bytes > 1000 && bytes < 4096 + 2000, `the outbox holds ${bytes} bytes`);
  client.release();
  await until('all of them', () => client.counters.sentBytes > 300 * 1000);
});

for (const version of [4, 5] as const) {
  test(`retained messages of QoS 1 far over window and queue all arrive, level ${version}`, async () => {
    await using broker = await startBroker({ zone: { maxMqueueLen: 10, maxInflight: 5 } });
    const writer = await broker.connect();
    for (let i = 0; i < 60; i++) await writer.publish(`r/${i}`, 'x', { qos: 1, retain: true });
    const client = await broker.connect({
      version,
      ...(version === 5 && { properties: { receiveMaximum: 5 } }),
    });
    await client.subscribe('r/#', { qos: 1 });
    const topics = new Set<string>();
    for (let i = 0; i < 60; i += 5) {
      const sent: PublishPacket[] = [];
      for (let k = 0; k < 5; k++) sent.push(await client.next('publish'));
      await client.expectNothing(); // [MQTT-3.3.4-9]
      for (const { topic, packetId } of sent) {
        topics.add(topic);
        client.ack('puback', packetId);
      }
    }
    assert.equal(topics.size, 60);
    await client.expectNothing();
  });
}

test('[MQTT-3.10.4-2] UNSUBSCRIBE ends a replay: no retained message comes after UNSUBACK', async () => {
  await using broker = await startBroker();
  await retain(broker, 3000, 1);
  const client = await broker.connect();
  const filters = [wanted('r/#'), wanted('r/+')];
  client.send(
    Buffer.concat([
      encodePacket({ type: 'subscribe', packetId: 1, filters, properties: {} }, 5),
      encodePacket(
        { type: 'unsubscribe', packetId: 2, filters: ['r/#', 'r/+'], properties: {} },
        5,
      ),
    ]),
  );
  let seen = 0;
  for (let next = await client.next(); next.type !== 'unsuback'; next = await client.next()) {
    if (next.type === 'publish') seen += 1;
  }
  assert.ok(seen < 3000, 'the replay was cut short');
  await client.expectNothing();
});

test('UNSUBSCRIBE of one filter lets the replays of others go on', async () => {
  await using broker = await startBroker();
  await retain(broker, 600, 1);
  const client = await broker.connect();
  const subscribe = (packetId: number, filter: string): Buffer => {
    const properties = { subscriptionIds: [packetId] };
    return encodePacket({ type: 'subscribe', packetId, filters: [wanted(filter)], properties }, 5);
  };
  client.send(
    Buffer.concat([
      subscribe(1, 'r/#'),
      subscribe(2, 'r/+'),
      encodePacket({ type: 'unsubscribe', packetId: 3, filters: ['r/#'], properties: {} }, 5),
    ]),
  );
  await client.find('unsuback');
  const topics = new Set<string>();
  for (let i = 0; i < 600; i++) {
    const isSecond = (ids: readonly number[] = []): boolean => ids.includes(2);
    const publish = await client.find('publish', ({ properties }) =>
      isSecond(properties.subscriptionIds),
    );
    topics.add(publish.topic);
  }
  assert.equal(topics.size, 600);
});

test('the replays of one SUBSCRIBE of many filters take one slice per turn of the loop', async () => {
  await using broker = await startBroker();
  await retain(broker, 2000, 1);
  let turn = 0;
  const turns: number[] = [];
  for (const { core } of broker.brokers) {
    const slice = core.retained.slice.bind(core.retained);
    core.retained.slice = (...args) => {
      turns.push(turn);
      // Whatever runs before this immediate runs in the same turn.
      setImmediate(() => {
        turn += 1;
      });
      return slice(...args);
    };
  }
  const client = await broker.connect();
  const barren = Array.from({ length: 100 }, (_, i) => wanted(`${'+/'.repeat(i + 1)}nothing`));
  const filters = [wanted('r/#'), ...barren, wanted('+/1')];
  client.send({ type: 'subscribe', packetId: 1, filters, properties: {} });
  await client.find('suback');
  for (let i = 0; i < 2001; i++) await client.find('publish');
  assert.ok(turns.length >= filters.length);
  assert.equal(new Set(turns).size, turns.length, 'two slices in one turn');
});

test('an expired retained message is sent to nobody, also under $', async () => {
  await using broker = await startBroker();
  const writer = await broker.connect();
  for (const topic of ['$x/y', 'x/y']) {
    const properties = { messageExpirySeconds: 2 };
    await writer.publish(topic, 'expires', { retain: true, properties });
  }
  broker.advance(10_000);
  const client = await broker.connect();
  await client.subscribe(['$x/y', 'x/y', '$x/#']);
  await client.expectNothing();
});
