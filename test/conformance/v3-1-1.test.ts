// MQTT 3.1.1 where it differs from 5.0: no reason codes to explain an end, sessions by clean session,
// return codes of CONNACK, the retain flag, and repeated sending on an open connection.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import { connectPacket, field, packet, u16 } from '#test/raw-bytes';
import { exchange } from '#test/exchange';

const version = 4;
const session = { version, clientId: 'c', cleanStart: false } as const;

function v4Connect(flags: number, ...payload: Buffer[]): Buffer {
  return connectPacket({ level: 4, flags, payload });
}

test('[v3 MQTT-3.1.2-2] an unknown protocol level is answered by return code 1', async () => {
  await using broker = await startBroker();
  const answer = await exchange(
    broker.port,
    connectPacket({ level: 9, properties: Buffer.alloc(0) }),
  );
  // Return code 1 in the form of 3.1.1; 0x84 in the form of 5.0 is as good for a level above 5.
  assert.ok(
    answer.equals(Buffer.from([0x20, 2, 0, 1])) || (answer[0] === 0x20 && answer[3] === 0x84),
  );
});

test('[v3 MQTT-3.1.2-3] a CONNECT with its reserved flag set ends the connection', async () => {
  await using broker = await startBroker();
  const answer = await exchange(broker.port, v4Connect(0x03, field('c')));
  assert.equal(answer.length, 0);
});

test('[v3 MQTT-3.1.2-4] [v3 MQTT-3.1.2-5] without clean session the session and its QoS 1 and 2 messages are kept', async () => {
  await using broker = await startBroker();
  const first = await broker.connect(session);
  await first.subscribe('a', { qos: 2 });
  await first.disconnect();
  const publisher = await broker.connect({ version });
  for (const qos of [1, 2] as const) await publisher.publish('a', `${qos}`, { qos });
  const second = await broker.connect(session);
  assert.equal(second.connack?.sessionPresent, true);
  assert.deepEqual(await second.receivePayloads(2), ['1', '2']);
});

test('[v3 MQTT-3.1.2-6] clean session discards the old session and lasts as long as the connection', async () => {
  await using broker = await startBroker();
  const first = await broker.connect(session);
  await first.subscribe('old', { qos: 1 });
  await first.disconnect();
  const clean = await broker.connect({ ...session, cleanStart: true });
  assert.equal(clean.connack?.sessionPresent, false);
  await clean.subscribe('new', { qos: 1 });
  await clean.publish('old', '', { qos: 1 });
  await clean.expectNothing();
  await clean.disconnect();
  const third = await broker.connect(session);
  assert.equal(third.connack?.sessionPresent, false);
  await third.publish('new', '', { qos: 1 });
  await third.expectNothing();
});

test('a session without clean session lives for session_expiry_interval', async () => {
  await using broker = await startBroker({ zone: { sessionExpirySeconds: 100 } });
  await (await broker.connect(session)).disconnect();
  broker.advance(98_000);
  const second = await broker.connect(session);
  assert.equal(second.connack?.sessionPresent, true);
  await second.disconnect();
  broker.advance(102_000);
  assert.equal((await broker.connect(session)).connack?.sessionPresent, false);
});

test('[v3 MQTT-3.1.2-8] [v3 MQTT-3.1.2-10] the will is published unless DISCONNECT came', async () => {
  await using broker = await startBroker();
  const watcher = await broker.connect({ version });
  await watcher.subscribe('will', { qos: 1 });
  const options = {
    version,
    clientId: 'c',
    keepaliveSeconds: 10,
    will: { topic: 'will', payload: 'gone', qos: 1 },
  } as const;
  await broker.lose(await broker.connect(options), 'c');
  assert.deepEqual(await watcher.receivePayloads(1), ['gone']);
  await broker.connect(options);
  broker.advance(16_000);
  assert.deepEqual(await watcher.receivePayloads(1), ['gone']);
  await (await broker.connect(options)).disconnect();
  await watcher.expectNothing();
});

test('[v3 MQTT-3.1.2-22] a password flag without a username flag ends the connection', async () => {
  await using broker = await startBroker();
  const answer = await exchange(broker.port, v4Connect(0x42, field('c'), field('secret')));
  assert.equal(answer.length, 0);
});

for (const keepaliveSeconds of [1, 2, 10]) {
  test(`[v3 MQTT-3.1.2-24] a client silent for one and a half times its keepalive of ${keepaliveSeconds} s is disconnected`, async () => {
    await using broker = await startBroker({ zone: { serverKeepaliveSeconds: 1 } });
    // server_keepalive is for 5.0 clients, which are told about it.
    const client = await broker.connect({ version, keepaliveSeconds });
    const limitMs = keepaliveSeconds * 1500;
    broker.advance(limitMs - 250);
    await client.expectNothing();
    broker.advance(limitMs + 250);
    assert.deepEqual(await client.expectClosed(), []);
  });
}

test('[v3 MQTT-3.1.3-6] [v3 MQTT-3.1.3-7] an empty client id with clean session is served', async () => {
  await using broker = await startBroker();
  const [one, two] = [
    await broker.connect({ version, clientId: '' }),
    await broker.connect({ version, clientId: '' }),
  ];
  await one.expectNothing();
  await two.expectNothing();
});

test('[v3 MQTT-3.1.3-8] [v3 MQTT-3.1.3-9] an empty client id without clean session is refused by return code 2', async () => {
  await using broker = await startBroker();
  const client = await broker.open(version);
  const connack = await client.connect({ clientId: '', cleanStart: false });
  assert.deepEqual([connack.reasonCode, connack.sessionPresent], [2, false]);
  assert.deepEqual(await client.expectClosed(), []);
});

test('[v3 MQTT-3.1.4-2] a second connection with the same client id ends the first', async () => {
  await using broker = await startBroker();
  const first = await broker.connect(session);
  const second = await broker.connect(session);
  assert.deepEqual(await first.expectClosed(), []);
  await second.expectNothing();
});

test('[v3 MQTT-3.1.4-2] a 5.0 client takes over the session of a 3.1.1 client', async () => {
  await using broker = await startBroker();
  const first = await broker.connect(session);
  await first.subscribe('a', { qos: 1 });
  const second = await broker.connect({
    clientId: 'c',
    cleanStart: false,
    properties: { sessionExpirySeconds: 100 },
  });
  assert.deepEqual(await first.expectClosed(), []);
  assert.equal(second.connack?.sessionPresent, true);
  await second.publish('a', 'x', { qos: 1 });
  assert.deepEqual(await second.receivePayloads(1), ['x']);
});

test('[v3 MQTT-3.2.2-4] [v3 MQTT-3.2.2-5] a refusal has session present 0, a return code of 3.1.1, and the end after it', async () => {
  await using broker = await startBroker({ zone: { maxClientIdBytes: 5, allowAnonymous: true } });
  await using closed = await startBroker({ zone: { allowAnonymous: false } });
  for (const [port, clientId, codes] of [
    [broker.port, 'too long', [2]],
    [closed.port, 'c', [4, 5]],
  ] as const) {
    const answer = await exchange(port, v4Connect(0x02, field(clientId)));
    assert.deepEqual([...answer.subarray(0, 3)], [0x20, 2, 0]);
    assert.ok((codes as readonly number[]).includes(answer[3] ?? 0), `return code ${answer[3]}`);
  }
});

test('[v3 MQTT-3.3.1-8] [v3 MQTT-3.3.1-9] RETAIN is 1 for a new subscription and 0 for a live message', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({ version });
  await client.publish('a', 'kept', { retain: true });
  await client.subscribe('a');
  assert.equal((await client.receive()).retain, true);
  await client.publish('a', 'live', { retain: true });
  assert.equal((await client.receive()).retain, false);
});

test('[v3 MQTT-3.3.4-1] messages of 5.0 publishers arrive without properties, and those of 3.1.1 as they are', async () => {
  await using broker = await startBroker({ zone: { maxTopicAlias: 5 } });
  const [old, modern] = [await broker.connect({ version }), await broker.connect()];
  for (const client of [old, modern]) await client.subscribe('a', { qos: 1 });
  const sent = {
    contentType: 'x',
    userProperties: [['k', 'v']] as [string, string][],
    topicAlias: 2,
  };
  await modern.publish('a', 'from 5.0', { qos: 1, properties: sent });
  await old.publish('a', 'from 3.1.1', { qos: 1 });
  for (const client of [old, modern]) {
    const [first, second] = [await client.receive(), await client.receive()];
    assert.deepEqual(
      [first.payload.toString(), second.payload.toString()],
      ['from 5.0', 'from 3.1.1'],
    );
    assert.equal(first.properties.contentType, client === old ? undefined : 'x');
    assert.equal(first.topic, 'a');
  }
});

test('[v3 MQTT-3.3.5-1] overlapping subscriptions get one copy at the highest QoS of them', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({ version });
  await client.subscribe('a/#', { qos: 0 });
  await client.subscribe('a/+', { qos: 2 });
  await client.publish('a/b', '', { qos: 2 });
  assert.equal((await client.receive()).qos, 2);
  await client.expectNothing();
});

test('[v3 MQTT-3.3.5-2] a publish that is not allowed is acknowledged and not delivered', async () => {
  await using broker = await startBroker({ zone: { enableAcl: true } });
  broker.hook('client.check_acl', (_, action) => (action === 'publish' ? 'deny' : 'allow'));
  const client = await broker.connect({ version });
  await client.subscribe('a', { qos: 2 });
  for (const qos of [0, 1, 2] as const) await client.publish('a', 'forbidden', { qos });
  await client.expectNothing();
});

test('[v3 MQTT-3.8.3-4] a SUBSCRIBE with reserved bits or QoS 3 in its payload ends the connection', async () => {
  await using broker = await startBroker();
  for (const qos of [0x03, 0x04, 0x10, 0x80]) {
    const client = await broker.connect({ version });
    client.send(packet(0x82, u16(1), field('a'), qos));
    assert.deepEqual(await client.expectClosed(), []);
  }
});

test('[v3 MQTT-3.9.3-2] a filter that is refused gets 0x80, the others are granted', async () => {
  await using broker = await startBroker({ zone: { sharedSubscription: false } });
  const client = await broker.connect({ version });
  client.send(packet(0x82, u16(1), field('a'), 1, field('$share/g/a'), 0, field('b'), 2));
  assert.deepEqual((await client.next('suback')).reasonCodes, [1, 0x80, 2]);
});

test('[v3 MQTT-3.10.4-5] UNSUBACK has no payload and comes also when nothing was removed', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({ version });
  client.send(packet(0xa2, u16(5), field('never')));
  assert.deepEqual(await client.nextBytes(), packet(0xb0, u16(5)));
});

test('[v3 MQTT-3.14.1-1] a DISCONNECT with a reserved bit set is no good end: the will is published', async () => {
  await using broker = await startBroker();
  const watcher = await broker.connect({ version });
  await watcher.subscribe('will');
  const client = await broker.connect({ version, will: { topic: 'will', payload: 'gone' } });
  client.send(packet(0xe1));
  assert.deepEqual(await client.expectClosed(), []);
  assert.deepEqual(await watcher.receivePayloads(1), ['gone']);
});

test('[v3 MQTT-4.3.3-2] a repeated QoS 2 message is answered and not delivered twice', async () => {
  await using broker = await startBroker();
  const watcher = await broker.connect({ version });
  await watcher.subscribe('a', { qos: 2 });
  const client = await broker.connect({ version });
  for (const dup of [false, true]) {
    client.sendPublish('a', 'once', { qos: 2, packetId: 3, dup });
    assert.equal((await client.next('pubrec')).packetId, 3);
  }
  client.ack('pubrel', 3);
  await client.next('pubcomp');
  client.ack('pubrel', 3);
  await client.next('pubcomp');
  assert.deepEqual(await watcher.receivePayloads(1), ['once']);
  await watcher.expectNothing();
});

test('[v3 MQTT-4.4.0-1] what was not acknowledged is sent again when the session resumes', async () => {
  await using broker = await startBroker();
  const first = await broker.connect(session);
  await first.subscribe('a', { qos: 1 });
  await first.publish('a', 'x', { qos: 1 });
  const { packetId } = await first.next('publish');
  await broker.lose(first, 'c');
  const again = await (await broker.connect(session)).next('publish');
  assert.deepEqual([again.packetId, again.dup], [packetId, true]);
});

test('after retry_interval a 3.1.1 client is sent again what it did not acknowledge', async () => {
  await using broker = await startBroker({ zone: { retryIntervalMs: 10_000 } });
  const client = await broker.connect(session);
  await client.subscribe('a', { qos: 2 });
  await client.publish('a', 'x', { qos: 2 });
  const { packetId } = await client.next('publish');
  broker.advance(5_000);
  await client.expectNothing();
  broker.advance(7_000);
  const again = await client.next('publish');
  assert.deepEqual([again.packetId, again.dup], [packetId, true]);
  client.ack('pubrec', packetId);
  await client.next('pubrel');
  broker.advance(12_000);
  assert.equal((await client.next('pubrel')).packetId, packetId);
  client.ack('pubcomp', packetId);
  await client.expectNothing();
  broker.advance(50_000);
  await client.expectNothing();
});

test('the window of a 3.1.1 client is max_inflight', async () => {
  await using broker = await startBroker({ zone: { maxInflight: 2 } });
  const client = await broker.connect({ version });
  await client.subscribe('a', { qos: 1 });
  const publisher = await broker.connect({ version });
  for (let i = 0; i < 5; i++) await publisher.publish('a', `${i}`, { qos: 1 });
  const { packetId } = await client.next('publish');
  await client.next('publish');
  await client.expectNothing();
  client.ack('puback', packetId);
  assert.equal((await client.next('publish')).payload.toString(), '2');
});

test('[v3 MQTT-4.8.0-1] a protocol violation ends the connection without a word', async () => {
  await using broker = await startBroker();
  for (const bytes of [
    packet(0x36, field('a'), u16(1)),
    packet(0x30, field('a/#')),
    packet(0x82, u16(1)),
    packet(0x20, 0, 0),
    packet(0xf0, 0),
    v4Connect(0x02, field('c')),
  ]) {
    const client = await broker.connect({ version });
    client.send(bytes);
    assert.deepEqual(await client.expectClosed(), []);
  }
  await broker.expectService();
});
