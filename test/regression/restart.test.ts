// What a broker that dies leaves to the next one: subscriptions, queues, and both directions of QoS 1
// and 2. A crash loses what was not flushed.

import assert from 'node:assert/strict';
import test from 'node:test';
import { join, Lives, nextSeen, publishAll } from './lives.ts';

test('subscriptions are there with all their options', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  const before = await join(first, 's', false);
  await before.subscribe('qos/0', { qos: 0 });
  await before.subscribe('qos/1', { qos: 1 });
  await before.subscribe('local/#', { qos: 1, noLocal: true });
  await before.subscribe('kept/+', { qos: 1, retainAsPublished: true });
  await before.subscribe('numbered', { qos: 2, properties: { subscriptionIds: [4711] } });
  await before.subscribe('handled', { qos: 1, retainHandling: 1 });
  await before.subscribe('gone', { qos: 1 });
  await before.unsubscribe('gone');
  await before.subscribe('changed', { qos: 2 });
  await before.subscribe('changed', { qos: 1 });
  const broker = await lives.crashAndStart();
  const client = await join(broker, 's', true);
  const writer = await broker.connect();
  const seen = async (topic: string, retain = false): Promise<object> => {
    await writer.publish(topic, 'x', { qos: 2, retain });
    const { qos, retain: flag, properties } = await client.receive();
    return { qos, retain: flag, ...properties };
  };
  assert.deepEqual(await seen('qos/0'), { qos: 0, retain: false });
  assert.deepEqual(await seen('qos/1'), { qos: 1, retain: false });
  assert.deepEqual(await seen('qos/1', true), { qos: 1, retain: false });
  assert.deepEqual(await seen('kept/a', true), { qos: 1, retain: true });
  assert.deepEqual(await seen('numbered'), { qos: 2, retain: false, subscriptionIds: [4711] });
  assert.deepEqual(await seen('changed'), { qos: 1, retain: false });
  assert.deepEqual(await seen('local/a'), { qos: 1, retain: false });
  await client.publish('local/a', 'own', { qos: 1 });
  await writer.publish('gone', 'x', { qos: 1 });
  await writer.publish('handled', 'x', { qos: 1, retain: true });
  await client.receive();
  await client.subscribe('handled', { qos: 1, retainHandling: 1 });
  await client.expectNothing();
  assert.equal(broker.stat('subscriptions'), 7);
});

test('an UNSUBSCRIBE that was acknowledged holds', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  const before = await join(first, 's', false, { version: 4 });
  await before.subscribe(['a', 'b'], { qos: 1 });
  const second = await lives.crashAndStart();
  const between = await join(second, 's', true, { version: 4 });
  await between.unsubscribe('a');
  await lives.crash();
  const broker = await lives.start();
  await publishAll(broker, 'a', ['no'], 1);
  await publishAll(broker, 'b', ['yes'], 1);
  const client = await join(broker, 's', true, { version: 4 });
  assert.deepEqual(await client.receivePayloads(1), ['yes']);
  await client.expectNothing();
});

test('messages for an absent client are there in order, and are no duplicates', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  const before = await join(first, 's', false);
  await before.subscribe('#', { qos: 2 });
  await before.disconnect();
  const texts = Array.from({ length: 250 }, (_, i) => `${i}`);
  for (const [i, text] of texts.slice(0, 120).entries()) {
    await publishAll(first, `t/${i % 3}`, [text], i % 2 === 0 ? 1 : 2);
  }
  const broker = await lives.crashAndStart();
  await publishAll(broker, 't/0', texts.slice(120), 1);
  const client = await join(broker, 's', true);
  for (const text of texts) {
    const { payload, dup, qos } = await client.receive();
    assert.equal(payload.toString(), text);
    assert.equal(dup, false);
    assert.equal(qos, Number(text) < 120 && Number(text) % 2 === 1 ? 2 : 1);
  }
  await client.expectNothing();
});

test('a message comes back whole', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  const before = await join(first, 's', false);
  await before.subscribe('t/ä', { qos: 1 });
  await before.disconnect();
  const properties = {
    payloadFormat: 1,
    messageExpirySeconds: 100,
    contentType: 'text',
    responseTopic: 'answer',
    correlationData: Buffer.from([0, 1, 255]),
    userProperties: [
      ['a', 'b'],
      ['a', 'ü'],
    ] as [string, string][],
  } as const;
  await (await first.connect()).publish('t/ä', 'größe', { qos: 2, properties });
  lives.clock.advance(30_000);
  const broker = await lives.crashAndStart();
  const client = await join(broker, 's', true);
  const { payload, topic, properties: got } = await client.receive();
  assert.deepEqual([topic, payload.toString()], ['t/ä', 'größe']);
  assert.deepEqual(got, { ...properties, messageExpirySeconds: 70 });
});

test('a message that expires while no broker runs is not sent', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  const before = await join(first, 's', false);
  await before.subscribe('t', { qos: 1 });
  await before.disconnect();
  const writer = await first.connect();
  await writer.publish('t', 'old', { qos: 1, properties: { messageExpirySeconds: 10 } });
  await writer.publish('t', 'lasts', { qos: 1 });
  await lives.crashFlushed();
  lives.clock.advance(11_000);
  const client = await join(await lives.start(), 's', true);
  assert.deepEqual(await client.receivePayloads(1), ['lasts']);
  await client.expectNothing();
});

for (const version of [4, 5] as const) {
  test(`[MQTT-4.4.0-1] what was in flight is sent again first, with its packet ids and DUP, level ${version}`, async () => {
    await using lives = new Lives();
    const first = await lives.start();
    const before = await join(first, 's', false, { version });
    await before.subscribe('t', { qos: 2 });
    for (const [text, qos] of [
      ['one', 1],
      ['two', 2],
      ['three', 1],
    ] as const) {
      await publishAll(first, 't', [text], qos);
    }
    const seen = [await nextSeen(before), await nextSeen(before), await nextSeen(before)];
    const broker = await lives.crashAndStart();
    await publishAll(broker, 't', ['four'], 1);
    const client = await join(broker, 's', true, { version });
    for (const one of seen) assert.equal(await nextSeen(client), `${one} dup`);
    const four = await client.next('publish');
    assert.deepEqual([four.payload.toString(), four.dup], ['four', false]);
    assert.ok(!seen.some((one) => one.split(' ')[1] === `${four.packetId}`), 'its id is its own');
    await client.expectNothing();
  });
}

test('what the client acknowledged before the crash is not sent again', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  const before = await join(first, 's', false);
  await before.subscribe('t', { qos: 2 });
  await publishAll(first, 't', ['one', 'two'], 1);
  await publishAll(first, 't', ['three', 'four'], 2);
  assert.equal((await before.receive()).payload.toString(), 'one');
  const two = await before.next('publish');
  assert.equal((await before.receive()).payload.toString(), 'three');
  const four = await before.next('publish');
  const client = await join(await lives.crashAndStart(), 's', true);
  assert.equal(await nextSeen(client), `two ${two.packetId} dup`);
  assert.equal(await nextSeen(client), `four ${four.packetId} dup`);
  await client.expectNothing();
});

test('what comes to a session after a crash is no duplicate after the next restart', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  const before = await join(first, 's', false);
  await before.subscribe('t', { qos: 1 });
  const second = await lives.crashAndStart();
  const between = await join(second, 's', true);
  await between.disconnect();
  await publishAll(second, 't', ['new'], 1);
  await lives.stop();
  const client = await join(await lives.start(), 's', true);
  const { payload, dup } = await client.next('publish');
  assert.deepEqual([payload.toString(), dup], ['new', false]);
});

test('packet ids stay apart although the clock stands still from one life to the next', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  await (await join(first, 's', false)).subscribe('t', { qos: 1 });
  const wanted: string[] = [];
  for (let life = 0; life < 4; life++) {
    const broker = await lives.crashAndStart();
    const client = await join(broker, 's', true);
    for (const seen of wanted) assert.equal(await nextSeen(client), `${seen} dup`);
    for (const text of [`${life}a`, `${life}b`]) {
      await publishAll(broker, 't', [text], 1);
      wanted.push(await nextSeen(client));
    }
  }
  const ids = wanted.map((seen) => seen.split(' ')[1]);
  assert.equal(new Set(ids).size, 8, ids.join());
});

test('[MQTT-4.3.3-8] PUBREL is sent again, and the message is not, once the client has said PUBREC', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  const before = await join(first, 's', false);
  await before.subscribe('t', { qos: 2 });
  await publishAll(first, 't', ['one', 'two'], 2);
  const one = await before.next('publish');
  const two = await before.next('publish');
  before.ack('pubrec', one.packetId);
  assert.equal((await before.next('pubrel')).packetId, one.packetId);
  const second = await lives.crashAndStart();
  const between = await join(second, 's', true);
  assert.equal((await between.next('pubrel')).packetId, one.packetId);
  assert.equal(await nextSeen(between), `two ${two.packetId} dup`);
  between.ack('pubcomp', one.packetId);
  between.ack('pubrec', two.packetId);
  assert.equal((await between.next('pubrel')).packetId, two.packetId);
  between.ack('pubcomp', two.packetId);
  await between.expectNothing();
  const client = await join(await lives.crashAndStart(), 's', true);
  await client.expectNothing();
});

test('a PUBREC that did not reach the disk is asked for again: the message is sent once more', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  const before = await join(first, 's', false);
  await before.subscribe('t', { qos: 2 });
  await publishAll(first, 't', ['one'], 2);
  const { packetId } = await before.next('publish');
  await first.flushed();
  lives.engine.hold();
  before.ack('pubrec', packetId);
  await before.expectNothing();
  await lives.crash();
  const client = await join(await lives.start(), 's', true);
  assert.equal(await nextSeen(client), `one ${packetId} dup`);
});

test('[MQTT-4.3.3-10] a QoS 2 publish that is repeated after the crash is confirmed and not routed again', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  const reader = await join(first, 's', false);
  await reader.subscribe('t', { qos: 2 });
  await reader.disconnect();
  const before = await join(first, 'p', false);
  before.sendPublish('t', 'once', { qos: 2, packetId: 7 });
  assert.equal((await before.next('pubrec')).packetId, 7);
  const second = await lives.crashAndStart();
  const after = await join(second, 'p', true);
  after.sendPublish('t', 'once', { qos: 2, packetId: 7, dup: true });
  assert.equal((await after.next('pubrec')).packetId, 7);
  after.ack('pubrel', 7);
  assert.equal((await after.next('pubcomp')).reasonCode, 0);
  const third = await lives.crashAndStart();
  const again = await join(third, 'p', true);
  assert.equal((await again.publish('t', 'new', { qos: 2, packetId: 7 }))?.reasonCode, 0);
  const client = await join(third, 's', true);
  assert.deepEqual(await client.receivePayloads(2), ['once', 'new']);
  await client.expectNothing();
});

test('a publish that was not acknowledged is taken when it comes again, and is there once', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  const reader = await join(first, 's', false);
  await reader.subscribe('t', { qos: 2 });
  await reader.disconnect();
  const before = await join(first, 'p', false);
  await first.flushed();
  lives.engine.hold();
  before.sendPublish('t', 'one', { qos: 1, packetId: 6 });
  before.sendPublish('t', 'two', { qos: 2, packetId: 7 });
  await before.expectNothing();
  await lives.crash();
  const broker = await lives.start();
  const after = await join(broker, 'p', true);
  await after.publish('t', 'one', { qos: 1, packetId: 6, dup: true });
  await after.publish('t', 'two', { qos: 2, packetId: 7, dup: true });
  const client = await join(broker, 's', true);
  assert.deepEqual(await client.receivePayloads(2), ['one', 'two']);
  await client.expectNothing();
});

test('[MQTT-3.3.1-1] what was sent while earlier acknowledgements were not on disk yet is sent again with DUP', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  const before = await join(first, 's', false, { properties: { receiveMaximum: 1 } });
  await before.subscribe('t', { qos: 1 });
  await publishAll(first, 't', ['one', 'two', 'three'], 1);
  await first.flushed();
  lives.engine.hold();
  const one = await before.receive();
  const two = await before.receive();
  const three = await before.next('publish');
  assert.equal(three.payload.toString(), 'three');
  await lives.crash();
  const client = await join(await lives.start(), 's', true);
  assert.equal(await nextSeen(client), `one ${one.packetId} dup`);
  assert.equal(await nextSeen(client), `two ${two.packetId} dup`);
  assert.equal(await nextSeen(client), `three ${three.packetId} dup`);
});
