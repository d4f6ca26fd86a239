// MQTT 5.0 section 3.3: PUBLISH flags, topic, properties, and what the server does with them.
// Retained messages are in 03-03-retain.test.ts.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import { badStrings, field, packet, properties, u16 } from '#test/raw-bytes';
import type { Properties } from '#wire/packet';

const malformed = 0x81;
const protocolError = 0x82;
const badTopicName = 0x90;
const session = { clientId: 'c', cleanStart: false, properties: { sessionExpirySeconds: 1000 } };

test('[MQTT-3.3.1-1] a PUBLISH sent again has DUP set', async () => {
  await using broker = await startBroker();
  const first = await broker.connect(session);
  await first.subscribe('a', { qos: 2 });
  const publisher = await broker.connect();
  for (const qos of [1, 2] as const) await publisher.publish('a', `${qos}`, { qos });
  for (let i = 0; i < 2; i++) assert.equal((await first.next('publish')).dup, false);
  await broker.lose(first, 'c');
  const second = await broker.connect(session);
  for (let i = 0; i < 2; i++) assert.equal((await second.next('publish')).dup, true);
});

test('[MQTT-3.3.1-2] a QoS 0 PUBLISH with DUP is malformed, and the server never sends one', async () => {
  await using broker = await startBroker();
  const bad = await broker.connect();
  bad.send(packet(0x38, field('a'), properties()));
  await bad.expectDisconnected(malformed, protocolError);

  const client = await broker.connect();
  await client.subscribe('a', { qos: 0 });
  await client.publish('a', '', { qos: 1, dup: true });
  const received = await client.receive();
  assert.deepEqual([received.qos, received.dup], [0, false]);
});

test('[MQTT-3.3.1-3] DUP of an incoming PUBLISH says nothing about the outgoing one', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe('a', { qos: 2 });
  for (const qos of [1, 2] as const) {
    await client.publish('a', '', { qos, dup: true });
    assert.equal((await client.receive()).dup, false);
  }
});

test('[MQTT-3.3.1-4] a PUBLISH with both QoS bits set is malformed', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  client.send(packet(0x36, field('a'), u16(1), properties()));
  await client.expectDisconnected(malformed);
});

test('[MQTT-3.3.2-1] a PUBLISH that does not begin with a topic in UTF-8 is malformed', async () => {
  await using broker = await startBroker();
  const bad = [...Object.values(badStrings).map((bytes) => field(bytes)), u16(10), Buffer.alloc(0)];
  for (const topic of bad) {
    const client = await broker.connect();
    client.send(packet(0x30, topic, ...(topic.length > 2 ? [properties()] : [])));
    await client.expectDisconnected(malformed);
  }
});

test('[MQTT-3.3.2-2] wildcards in the topic of a PUBLISH end the connection', async () => {
  await using broker = await startBroker();
  for (const topic of ['#', '+', 'a/+', 'a/#', 'a+b', 'a#']) {
    const client = await broker.connect();
    client.send(packet(0x30, field(topic), properties()));
    await client.expectDisconnected(badTopicName, malformed, protocolError);
  }
});

test('[MQTT-3.3.2-3] the topic that a subscriber gets matches its filter', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe(['sport/+/player1', 'finance/#', '+/tennis', '/+']);
  const matching = [
    'sport/tennis/player1',
    'finance',
    'finance/a/b',
    'x/tennis',
    '/tennis',
    '/x',
    'sport//player1',
  ];
  const others = [
    'sport/tennis/player2',
    'sport/a/b/player1',
    'financ',
    'x/y/tennis',
    'x',
    'x/Tennis',
  ];
  for (const topic of [...others, ...matching]) await client.publish(topic, topic);
  for (const topic of matching) assert.equal((await client.receive()).topic, topic);
  await client.expectNothing();
});

const carried: [id: string, what: string, sent: Properties][] = [
  ['MQTT-3.3.2-4', 'the payload format indicator', { payloadFormat: 1 }],
  ['MQTT-3.3.2-4', 'a payload format indicator of 0', { payloadFormat: 0 }],
  ['MQTT-3.3.2-15', 'the response topic', { responseTopic: 'answers/to/me' }],
  ['MQTT-3.3.2-16', 'the correlation data', { correlationData: Buffer.from([0, 1, 254, 255]) }],
  [
    'MQTT-3.3.2-17',
    'every user property, repeated ones too',
    {
      userProperties: [
        ['a', '1'],
        ['a', '1'],
        ['', ''],
      ],
    },
  ],
  [
    'MQTT-3.3.2-18',
    'the order of user properties',
    {
      userProperties: [
        ['b', '1'],
        ['a', '2'],
        ['b', '0'],
      ],
    },
  ],
  ['MQTT-3.3.2-20', 'the content type', { contentType: 'application/ünicode' }],
];
for (const [id, what, sent] of carried) {
  test(`[${id}] ${what} reaches every subscriber unaltered, live, queued and retained`, async () => {
    await using broker = await startBroker();
    const live = await broker.connect();
    await live.subscribe('a', { qos: 2 });
    const away = await broker.connect(session);
    await away.subscribe('a', { qos: 1 });
    await away.disconnect();
    await live.publish('a', 'text', { qos: 1, retain: true, properties: sent });
    const back = await broker.connect(session);
    const late = await broker.connect();
    await late.subscribe('a');
    for (const client of [live, back, late]) {
      assert.deepEqual({ ...(await client.receive()).properties }, sent);
    }
  });
}

test('[MQTT-3.3.2-5] a message whose expiry passed before delivery began is not delivered', async () => {
  await using broker = await startBroker();
  const first = await broker.connect(session);
  await first.subscribe('a', { qos: 1 });
  await first.disconnect();
  const publisher = await broker.connect();
  await publisher.publish('a', 'short', { qos: 1, properties: { messageExpirySeconds: 5 } });
  await publisher.publish('a', 'long', { qos: 1, properties: { messageExpirySeconds: 500 } });
  broker.advance(10_000);
  const second = await broker.connect(session);
  assert.deepEqual(await second.receivePayloads(1), ['long']);
  await second.expectNothing();
});

test('[MQTT-3.3.2-5] a retained message whose expiry passed is not delivered', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.publish('a', 'x', { retain: true, properties: { messageExpirySeconds: 5 } });
  broker.advance(10_000);
  await client.subscribe('a');
  await client.expectNothing();
});

test('[MQTT-3.3.2-6] the expiry that a subscriber gets is what is left of it', async () => {
  await using broker = await startBroker();
  const first = await broker.connect(session);
  await first.subscribe('a', { qos: 1 });
  await first.disconnect();
  const publisher = await broker.connect();
  await publisher.publish('a', 'x', {
    qos: 1,
    retain: true,
    properties: { messageExpirySeconds: 100 },
  });
  broker.advance(30_000);
  const second = await broker.connect(session);
  const late = await broker.connect();
  await late.subscribe('a');
  for (const client of [second, late]) {
    const left = (await client.receive()).properties.messageExpirySeconds ?? 0;
    // Timers are exact to a second.
    assert.ok(left >= 69 && left <= 71, `${left} s are left`);
  }
});

test('[MQTT-3.3.2-7] topic aliases do not outlive the connection', async () => {
  await using broker = await startBroker({ zone: { maxTopicAlias: 5 } });
  const first = await broker.connect(session);
  await first.publish('a', '', { properties: { topicAlias: 1 } });
  await first.disconnect();
  const second = await broker.connect(session);
  assert.equal(second.connack?.sessionPresent, true);
  second.sendPublish('', '', { properties: { topicAlias: 1 } });
  await second.expectDisconnected(protocolError, 0x94);
});

test('[MQTT-3.3.2-8] topic alias 0 ends the connection with 0x94', async () => {
  await using broker = await startBroker({ zone: { maxTopicAlias: 5 } });
  const client = await broker.connect();
  client.send(packet(0x30, field('a'), properties(0x23, u16(0))));
  await client.expectDisconnected(0x94);
});

test('[MQTT-3.3.2-9] [MQTT-3.3.2-12] the server accepts every topic alias up to its maximum and none above', async () => {
  await using broker = await startBroker({ zone: { maxTopicAlias: 10 } });
  const client = await broker.connect();
  await client.subscribe('#');
  for (let alias = 1; alias <= 10; alias++) {
    await client.publish(`topic/${alias}`, 'named', { properties: { topicAlias: alias } });
    await client.publish('', 'by alias', { properties: { topicAlias: alias } });
    for (let i = 0; i < 2; i++) {
      const received = await client.receive();
      assert.equal(received.topic, `topic/${alias}`);
      assert.equal(received.properties.topicAlias, undefined);
    }
  }
  await client.publish('renamed', '', { properties: { topicAlias: 1 } });
  await client.publish('', '', { properties: { topicAlias: 1 } });
  for (let i = 0; i < 2; i++) assert.equal((await client.receive()).topic, 'renamed');
  client.sendPublish('a', '', { properties: { topicAlias: 11 } });
  await client.expectDisconnected(0x94);
});

test('[MQTT-3.3.2-11] with aliases allowed the server stays within the number that the client gave', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({ properties: { topicAliasMaximum: 1 } });
  await client.subscribe('#');
  for (const topic of ['a', 'b', 'a', 'b', 'a', 'a']) await client.publish(topic, topic);
  let known = '';
  for (let i = 0; i < 6; i++) {
    const { topic, payload, properties: sent } = await client.receive();
    assert.ok(sent.topicAlias === undefined || sent.topicAlias === 1);
    if (sent.topicAlias === 1 && topic !== '') known = topic;
    assert.equal(topic === '' ? known : topic, payload.toString());
  }
});

test('[MQTT-3.3.2-13] a response topic that is no UTF-8 string ends the connection', async () => {
  await using broker = await startBroker();
  for (const bytes of Object.values(badStrings)) {
    const client = await broker.connect();
    client.send(packet(0x30, field('a'), properties(0x08, field(bytes))));
    await client.expectDisconnected(malformed);
  }
});

test('[MQTT-3.3.2-14] wildcards in a response topic end the connection', async () => {
  await using broker = await startBroker();
  for (const responseTopic of ['a/+', '#']) {
    const client = await broker.connect();
    client.sendPublish('a', '', { properties: { responseTopic } });
    await client.expectDisconnected(protocolError, malformed, badTopicName);
  }
});

test('[MQTT-3.3.2-19] a content type that is no UTF-8 string ends the connection', async () => {
  await using broker = await startBroker();
  for (const bytes of Object.values(badStrings)) {
    const client = await broker.connect();
    client.send(packet(0x30, field('a'), properties(0x03, field(bytes))));
    await client.expectDisconnected(malformed);
  }
});

test('[MQTT-3.3.4-1] a PUBLISH is answered as its QoS says', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  client.sendPublish('a', '', { qos: 0 });
  await client.expectNothing();
  client.sendPublish('a', '', { qos: 1, packetId: 1 });
  assert.equal((await client.next('puback')).packetId, 1);
  client.sendPublish('a', '', { qos: 2, packetId: 2 });
  assert.equal((await client.next('pubrec')).packetId, 2);
});

test('[MQTT-3.3.4-2] overlapping subscriptions get one copy at the highest QoS of them', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe('a/#', { qos: 0 });
  await client.subscribe('a/+', { qos: 2 });
  await client.subscribe('a/b', { qos: 1 });
  for (const qos of [2, 1, 0] as const) {
    await client.publish('a/b', '', { qos });
    assert.equal((await client.receive()).qos, qos);
  }
  await client.expectNothing();
});

test('[MQTT-3.3.4-3] [MQTT-3.3.4-4] the one copy carries the subscription identifiers of all that match', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  const identified = (id: number) => ({ properties: { subscriptionIds: [id] } });
  await client.subscribe('a/#', identified(1));
  await client.subscribe('a/+', identified(268_435_455));
  await client.subscribe('a/b');
  await client.subscribe('b/#', identified(3));
  await client.publish('a/b');
  const ids = (await client.receive()).properties.subscriptionIds ?? [];
  assert.deepEqual(
    ids.toSorted((a, b) => a - b),
    [1, 268_435_455],
  );
  await client.publish('b');
  assert.deepEqual((await client.receive()).properties.subscriptionIds, [3]);
  await client.expectNothing();
});

test('[MQTT-3.3.4-6] a subscription identifier in a PUBLISH of a client ends the connection', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  client.send(packet(0x30, field('a'), properties(0x0b, 1)));
  await client.expectDisconnected(protocolError, malformed);
});

test('a payload that is not the UTF-8 it claims to be is refused with 0x99', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  const payload = Buffer.from([0xc0, 0xaf]);
  const puback = await client.publish('a', payload, { qos: 1, properties: { payloadFormat: 1 } });
  assert.equal(puback?.reasonCode, 0x99);
  const pubrec = await client.publish('a', payload, { qos: 2, properties: { payloadFormat: 1 } });
  assert.equal(pubrec?.reasonCode, 0x99);
  client.sendPublish('a', payload, { properties: { payloadFormat: 1 } });
  await client.expectDisconnected(0x99);
});
