// Several workers are one broker: whoever publishes where, a message reaches those who want it, crosses
// to a worker once and only if somebody there wants it, and nothing of it is lost on the way.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker, type TestBroker } from '#test/broker';
import type { RawClient } from '#test/raw-client';
import type { PublishPacket, QoS } from '#wire/packet';
import { pairs, turns, workerIndexes } from './worker-company.ts';

/** How often messages on the topic cross from worker `from`, by the worker they go to. */
function countCrossings(broker: TestBroker, from: number, topic: string): Map<number, number> {
  const counts = new Map<number, number>();
  const { core } = broker.brokers[from] ?? broker.broker;
  for (const { peer } of core.router.routeTo(topic).peers) {
    const count = (by: number): void =>
      void counts.set(peer.index, (counts.get(peer.index) ?? 0) + by);
    const forward = peer.forward.bind(peer);
    const forwardRun = peer.forwardRun.bind(peer);
    peer.forward = (message, isAwaited) => {
      if (message.topic === topic) count(1);
      return forward(message, isAwaited);
    };
    peer.forwardRun = (run, bytes, isV5, publisher) => {
      if (bytes.toString() === topic) count(run.count);
      forwardRun(run, bytes, isV5, publisher);
    };
  }
  return counts;
}

async function inEach(broker: TestBroker, version: 4 | 5 = 5): Promise<RawClient[]> {
  const clients: RawClient[] = [];
  for (const worker of workerIndexes) clients.push(await broker.connect({ version, worker }));
  return clients;
}

test('a message crosses to a worker once, however many want it there, and not where nobody does', async () => {
  await using broker = await startBroker({ workers: 3 });
  const readers: RawClient[] = [];
  for (let i = 0; i < 4; i++) {
    const reader = await broker.connect({ worker: 1 });
    await reader.subscribe(['t', 't/#', '+'], { qos: 1 });
    readers.push(reader);
  }
  const counts = countCrossings(broker, 0, 't');
  const writer = await broker.connect({ worker: 0 });
  for (const qos of [0, 1, 2] as const) await writer.publish('t', `QoS ${qos}`, { qos });
  for (const reader of readers) {
    assert.deepEqual(await reader.receivePayloads(3), ['QoS 0', 'QoS 1', 'QoS 2']);
    await reader.expectNothing();
  }
  assert.deepEqual([...counts], [[1, 3]]);
  for (const reader of readers) await reader.unsubscribe('t', 't/#', '+');
  await turns();
  const { core } = broker.broker;
  assert.deepEqual(core.router.routeTo('t').peers, [], 'nobody wants it any more');
  assert.equal((await writer.publish('t', 'for nobody', { qos: 1 }))?.reasonCode, 0x10);
});

test('what is published after a SUBACK arrives, through whichever worker', async () => {
  await using broker = await startBroker({ workers: 3 });
  const writers = await inEach(broker);
  const readers = await inEach(broker);
  for (let i = 0; i < 111; i++) {
    for (const [from, to] of pairs) {
      const topic = `t/${i}/${from}/${to}`;
      const qos = (i % 3) as QoS;
      const filter = i % 2 === 0 ? topic : `t/${i}/${from}/+`;
      const reader = readers[to] as RawClient;
      await reader.subscribe(filter, { qos });
      const writer = writers[from] as RawClient;
      const { packetId } = writer.sendPublish(topic, topic, { qos });
      assert.equal((await reader.receive()).payload.toString(), topic);
      if (qos === 2) writer.ack('pubrel', packetId);
      if (i % 2 === 1) await reader.unsubscribe(filter);
    }
  }
});

test('[MQTT-4.6.0-5] messages of one publisher keep their order from worker to worker', async () => {
  await using broker = await startBroker({
    workers: 3,
    zone: { maxMqueueLen: 0, maxInflight: 1000 },
  });
  for (const [from, to] of pairs) {
    const reader = await broker.connect({ worker: to });
    await reader.subscribe('t', { qos: 2 });
    const writer = await broker.connect({ worker: from });
    const sizes = [0, 10, 100_000, 3, 70_000];
    const wanted: string[] = [];
    for (let i = 0; i < 60; i++) {
      const qos = (i % 3) as QoS;
      writer.sendPublish('t', `QoS ${qos} ${i} `.padEnd(sizes[i % 5] as number, '.'), { qos });
      if (qos === 2) writer.ack('pubrel', (await writer.find('pubrec')).packetId);
      wanted.push(`QoS ${qos} ${i}`);
    }
    const got: string[] = [];
    while (got.length < 60) {
      const publish = await reader.find('publish');
      if (publish.qos === 1) reader.ack('puback', publish.packetId);
      if (publish.qos === 2) reader.ack('pubrec', publish.packetId);
      got.push(publish.payload.toString().split(' ').slice(0, 3).join(' '));
    }
    for (const qos of ['QoS 0', 'QoS 1', 'QoS 2']) {
      const isOf = (text: string): boolean => text.startsWith(qos);
      assert.deepEqual(got.filter(isOf), wanted.filter(isOf), `${from} to ${to}`);
    }
    await writer.disconnect();
    await reader.disconnect();
  }
});

test('properties, retain as published and the id of the subscription come along', async () => {
  await using broker = await startBroker({ workers: 3, zone: { maxTopicAlias: 5 } });
  for (const [from, to] of pairs) {
    const reader = await broker.connect({ worker: to });
    await reader.subscribe('p/+', {
      qos: 2,
      retainAsPublished: true,
      properties: { subscriptionIds: [7] },
    });
    await reader.subscribe('p/#', { qos: 1, properties: { subscriptionIds: [268_435_455] } });
    const writer = await broker.connect({ worker: from });
    const properties = {
      messageExpirySeconds: 60,
      contentType: 'text/ü',
      responseTopic: 'answer',
      correlationData: Buffer.from([0, 1, 255]),
      userProperties: [
        ['a', '1'],
        ['a', '2'],
        ['ü', ''],
      ] as [string, string][],
    };
    for (const qos of [0, 1, 2] as const) {
      await writer.publish('p/x', 'x', {
        qos,
        retain: true,
        properties: { ...properties, topicAlias: 3 },
      });
      await writer.publish('', 'y', { qos, properties: { topicAlias: 3 } });
      const [x, y] = [await reader.receive(), await reader.receive()];
      const { subscriptionIds, ...rest } = x.properties;
      assert.deepEqual(new Set(subscriptionIds), new Set([7, 268_435_455]));
      assert.deepEqual(rest, properties, `${from} to ${to}`);
      assert.deepEqual([x.retain, x.qos, x.topic], [true, qos, 'p/x']);
      assert.deepEqual([y.retain, y.qos, y.topic, y.payload.toString()], [false, qos, 'p/x', 'y']);
    }
    await writer.publish('p/x', '', { qos: 1, retain: true });
    await reader.receive();
    await reader.disconnect();
    await writer.disconnect();
  }
});

test('a message that waited loses the time it waited, and one that has expired is not sent', async () => {
  await using broker = await startBroker({ workers: 3 });
  const properties = { sessionExpirySeconds: 1000 };
  for (const [from, to] of pairs) {
    const clientId = `c-${from}-${to}`;
    const reader = await broker.connect({ clientId, properties, worker: to });
    await reader.subscribe('e', { qos: 1 });
    await broker.lose(reader, clientId);
  }
  for (const worker of workerIndexes) {
    const writer = await broker.connect({ worker });
    await writer.publish('e', `long ${worker}`, {
      qos: 1,
      properties: { messageExpirySeconds: 100 },
    });
    await writer.publish('e', `short ${worker}`, {
      qos: 1,
      properties: { messageExpirySeconds: 5 },
    });
  }
  broker.advance(40_000);
  for (const [from, to] of pairs) {
    const clientId = `c-${from}-${to}`;
    const reader = await broker.connect({ clientId, cleanStart: false, properties, worker: from });
    const got: PublishPacket[] = [];
    for (const _ of workerIndexes) got.push(await reader.receive());
    assert.deepEqual(got.map(({ payload }) => payload.toString()).sort(), [
      'long 0',
      'long 1',
      'long 2',
    ]);
    for (const publish of got) assert.equal(publish.properties.messageExpirySeconds, 60);
    await reader.expectNothing();
  }
});

test('no local holds for the client wherever its session is', async () => {
  await using broker = await startBroker({ workers: 3 });
  for (const [from, to] of pairs) {
    const properties = { sessionExpirySeconds: 100 };
    const clientId = `c-${from}-${to}`;
    const before = await broker.connect({ clientId, properties, worker: from });
    await before.subscribe('n/+', { qos: 1, noLocal: true });
    await before.publish('n/1', 'own', { qos: 1 });
    await before.expectNothing();
    const after = await broker.connect({ clientId, cleanStart: false, properties, worker: to });
    await after.publish('n/1', 'own', { qos: 1 });
    await after.expectNothing();
    await (await broker.connect({ worker: from })).publish('n/1', 'of another', { qos: 1 });
    assert.deepEqual(await after.receivePayloads(1), ['of another']);
    await after.disconnect(0, { sessionExpirySeconds: 0 });
  }
});

test('clients of MQTT 3.1.1 and 5 reach each other across workers', async () => {
  await using broker = await startBroker({ workers: 3 });
  const [old, young] = [await inEach(broker, 4), await inEach(broker, 5)];
  for (const client of [...old, ...young]) await client.subscribe('v', { qos: 2 });
  for (const writer of [...old, ...young]) {
    for (const qos of [0, 1, 2] as const) {
      const properties =
        writer.version === 5 ? { userProperties: [['k', 'v']] as [string, string][] } : {};
      writer.sendPublish('v', `QoS ${qos}`, { qos, properties });
      for (const reader of [...old, ...young]) {
        const publish = await reader.find('publish');
        assert.deepEqual([publish.payload.toString(), publish.qos], [`QoS ${qos}`, qos]);
        if (reader.version === 5) assert.deepEqual(publish.properties, properties);
        if (qos === 1) reader.ack('puback', publish.packetId);
        if (qos === 2) reader.ack('pubrec', publish.packetId);
      }
    }
  }
});

test('what is retained in one worker is there for who subscribes in another', async () => {
  await using broker = await startBroker({ workers: 3 });
  const clients = await inEach(broker);
  for (const [from, to] of pairs) {
    for (const qos of [0, 1, 2] as const) {
      const topic = `r/${from}/${to}/${qos}`;
      const [writer, reader] = [clients[from] as RawClient, clients[to] as RawClient];
      await writer.publish(topic, 'kept', { qos, retain: true });
      await reader.subscribe(topic, { qos: 2 });
      const { payload, retain } = await reader.receive();
      assert.deepEqual([payload.toString(), retain], ['kept', true], topic);
      await reader.subscribe(topic, { qos: 2, retainHandling: 1 });
      await reader.expectNothing();
      await writer.publish(topic, '', { qos, retain: true });
      await reader.receive();
      await reader.unsubscribe(topic);
      await reader.subscribe(topic, { qos: 2 });
      await reader.expectNothing();
      await reader.unsubscribe(topic);
    }
  }
  assert.equal(broker.stat('retained'), 0);
});
