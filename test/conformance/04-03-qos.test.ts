// MQTT 5.0 section 4.3: the three delivery protocols, with the server as sender and as receiver.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker, type TestBroker } from '#test/broker';
import type { RawClient } from '#test/raw-client';

const session = { clientId: 'c', cleanStart: false, properties: { sessionExpirySeconds: 1000 } };
const idNotFound = 0x92;

/** A subscriber with a session and somebody who publishes to it. */
async function pair(broker: TestBroker): Promise<{ subscriber: RawClient; publisher: RawClient }> {
  const subscriber = await broker.connect(session);
  await subscriber.subscribe('a', { qos: 2 });
  return { subscriber, publisher: await broker.connect() };
}

async function comeBack(broker: TestBroker, client: RawClient): Promise<RawClient> {
  await broker.lose(client, 'c');
  const back = await broker.connect(session);
  assert.equal(back.connack?.sessionPresent, true);
  return back;
}

test('[MQTT-4.3.1-1] QoS 0 is sent with QoS 0 and DUP 0, once', async () => {
  await using broker = await startBroker();
  const { subscriber, publisher } = await pair(broker);
  await publisher.publish('a', 'once');
  const received = await subscriber.next('publish');
  assert.deepEqual([received.qos, received.dup, received.packetId], [0, false, 0]);
  const back = await comeBack(broker, subscriber);
  await back.expectNothing();
});

for (const [qos, assigns, sends] of [
  [1, 'MQTT-4.3.2-1', 'MQTT-4.3.2-2'],
  [2, 'MQTT-4.3.3-1', 'MQTT-4.3.3-2'],
] as const) {
  test(`[${assigns}] [${sends}] QoS ${qos} is sent with an unused packet id, its QoS and DUP 0`, async () => {
    await using broker = await startBroker();
    const { subscriber, publisher } = await pair(broker);
    const inUse = new Set<number>();
    for (let i = 0; i < 5; i++) {
      await publisher.publish('a', `${i}`, { qos });
      const received = await subscriber.next('publish');
      assert.deepEqual([received.qos, received.dup], [qos, false]);
      assert.ok(received.packetId > 0 && !inUse.has(received.packetId));
      inUse.add(received.packetId);
    }
  });
}

test('[MQTT-4.3.2-3] a QoS 1 message is unacknowledged until its PUBACK', async () => {
  await using broker = await startBroker();
  const { subscriber, publisher } = await pair(broker);
  await publisher.publish('a', 'x', { qos: 1 });
  const first = await subscriber.next('publish');
  const back = await comeBack(broker, subscriber);
  const again = await back.next('publish');
  assert.deepEqual([again.packetId, again.dup], [first.packetId, true]);
  back.ack('puback', again.packetId);
  await back.expectNothing();
  const third = await comeBack(broker, back);
  await third.expectNothing();
});

test('[MQTT-4.3.2-4] a QoS 1 message is answered by PUBACK once its subscribers have it in their sessions', async () => {
  await using broker = await startBroker();
  const { subscriber, publisher } = await pair(broker);
  await broker.lose(subscriber, 'c');
  publisher.sendPublish('a', 'owned', { qos: 1, packetId: 9 });
  assert.equal((await publisher.next('puback')).packetId, 9);
  const back = await broker.connect(session);
  assert.deepEqual(await back.receivePayloads(1), ['owned']);
});

test('[MQTT-4.3.2-5] after its PUBACK the same packet id is a new message, whatever DUP says', async () => {
  await using broker = await startBroker();
  const { subscriber, publisher } = await pair(broker);
  for (const dup of [false, true]) {
    publisher.sendPublish('a', `${dup}`, { qos: 1, packetId: 9, dup });
    await publisher.next('puback');
  }
  assert.deepEqual(await subscriber.receivePayloads(2), ['false', 'true']);
});

test('[MQTT-4.3.3-3] a QoS 2 message is unacknowledged until its PUBREC', async () => {
  await using broker = await startBroker();
  const { subscriber, publisher } = await pair(broker);
  await publisher.publish('a', 'x', { qos: 2 });
  const first = await subscriber.next('publish');
  const back = await comeBack(broker, subscriber);
  const again = await back.next('publish');
  assert.deepEqual([again.packetId, again.dup, again.qos], [first.packetId, true, 2]);
});

test('[MQTT-4.3.3-4] PUBREC is answered by PUBREL with the same packet id', async () => {
  await using broker = await startBroker();
  const { subscriber, publisher } = await pair(broker);
  await publisher.publish('a', 'x', { qos: 2 });
  const { packetId } = await subscriber.next('publish');
  for (const reasonCode of [0, 0x10]) {
    // The second PUBREC repeats the first: the answer is the same.
    subscriber.ack('pubrec', packetId, reasonCode);
    const pubrel = await subscriber.next('pubrel');
    assert.deepEqual([pubrel.packetId, pubrel.reasonCode], [packetId, 0]);
  }
});

test('[MQTT-4.3.3-5] [MQTT-4.3.3-6] after PUBREC the PUBREL is repeated until PUBCOMP, the PUBLISH never', async () => {
  await using broker = await startBroker();
  const { subscriber, publisher } = await pair(broker);
  await publisher.publish('a', 'x', { qos: 2 });
  const { packetId } = await subscriber.next('publish');
  subscriber.ack('pubrec', packetId);
  await subscriber.next('pubrel');
  const back = await comeBack(broker, subscriber);
  assert.equal((await back.next('pubrel')).packetId, packetId);
  await back.expectNothing();
  back.ack('pubcomp', packetId);
  await back.expectNothing();
  const third = await comeBack(broker, back);
  await third.expectNothing();
});

test('[MQTT-4.3.3-7] a QoS 2 message that was sent does not expire', async () => {
  await using broker = await startBroker();
  const { subscriber, publisher } = await pair(broker);
  await publisher.publish('a', 'x', { qos: 2, properties: { messageExpirySeconds: 5 } });
  const { packetId } = await subscriber.next('publish');
  await broker.lose(subscriber, 'c');
  broker.advance(20_000);
  const back = await broker.connect(session);
  const again = await back.next('publish');
  assert.deepEqual([again.packetId, again.payload.toString()], [packetId, 'x']);
});

test('[MQTT-4.3.3-8] a QoS 2 message is answered by PUBREC once its subscribers have it in their sessions', async () => {
  await using broker = await startBroker();
  const { subscriber, publisher } = await pair(broker);
  await broker.lose(subscriber, 'c');
  publisher.sendPublish('a', 'owned', { qos: 2, packetId: 9 });
  assert.equal((await publisher.next('pubrec')).packetId, 9);
  const back = await broker.connect(session);
  assert.deepEqual(await back.receivePayloads(1), ['owned']);
});

test('[MQTT-4.3.3-9] after a PUBREC that refused, the same packet id is a new message', async () => {
  await using broker = await startBroker();
  const { subscriber, publisher } = await pair(broker);
  const bad = { qos: 2, packetId: 9, properties: { payloadFormat: 1 } } as const;
  publisher.sendPublish('a', Buffer.from([0xff]), bad);
  assert.equal((await publisher.next('pubrec')).reasonCode, 0x99);
  publisher.sendPublish('a', 'good', { ...bad });
  assert.equal((await publisher.next('pubrec')).reasonCode, 0);
  assert.deepEqual(await subscriber.receivePayloads(1), ['good']);
});

test('[MQTT-4.3.3-10] until PUBREL the same packet id gets PUBREC again and is not delivered again', async () => {
  await using broker = await startBroker();
  const { subscriber, publisher } = await pair(broker);
  for (const dup of [false, true, false, true]) {
    publisher.sendPublish('a', 'once', { qos: 2, packetId: 9, dup });
    const pubrec = await publisher.next('pubrec');
    assert.equal(pubrec.packetId, 9);
    assert.ok(pubrec.reasonCode < 0x80);
  }
  assert.deepEqual(await subscriber.receivePayloads(1), ['once']);
  await subscriber.expectNothing();
});

test('[MQTT-4.3.3-10] the packet id is remembered over a reconnect', async () => {
  await using broker = await startBroker();
  const watcher = await broker.connect();
  await watcher.subscribe('a', { qos: 2 });
  const first = await broker.connect(session);
  first.sendPublish('a', 'once', { qos: 2, packetId: 9 });
  await first.next('pubrec');
  const back = await comeBack(broker, first);
  back.sendPublish('a', 'once', { qos: 2, packetId: 9, dup: true });
  await back.next('pubrec');
  back.ack('pubrel', 9);
  assert.equal((await back.next('pubcomp')).reasonCode, 0);
  assert.deepEqual(await watcher.receivePayloads(1), ['once']);
  await watcher.expectNothing();
});

test('[MQTT-4.3.3-11] PUBREL is answered by PUBCOMP with the same packet id', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  client.sendPublish('a', '', { qos: 2, packetId: 9 });
  await client.next('pubrec');
  client.ack('pubrel', 9);
  const pubcomp = await client.next('pubcomp');
  assert.deepEqual([pubcomp.packetId, pubcomp.reasonCode], [9, 0]);
  client.ack('pubrel', 9);
  assert.equal((await client.next('pubcomp')).reasonCode, idNotFound);
});

test('[MQTT-4.3.3-12] after PUBCOMP the same packet id is a new message', async () => {
  await using broker = await startBroker();
  const { subscriber, publisher } = await pair(broker);
  for (const payload of ['1', '2']) {
    publisher.sendPublish('a', payload, { qos: 2, packetId: 9, dup: true });
    await publisher.next('pubrec');
    publisher.ack('pubrel', 9);
    await publisher.next('pubcomp');
  }
  assert.deepEqual(await subscriber.receivePayloads(2), ['1', '2']);
});

test('[MQTT-4.3.3-13] a QoS 2 handshake goes on after the message has expired', async () => {
  await using broker = await startBroker();
  const { subscriber, publisher } = await pair(broker);
  publisher.sendPublish('a', 'x', { qos: 2, packetId: 9, properties: { messageExpirySeconds: 5 } });
  await publisher.next('pubrec');
  const { packetId } = await subscriber.next('publish');
  broker.advance(20_000);
  publisher.ack('pubrel', 9);
  assert.equal((await publisher.next('pubcomp')).reasonCode, 0);
  subscriber.ack('pubrec', packetId);
  assert.equal((await subscriber.next('pubrel')).reasonCode, 0);
});
