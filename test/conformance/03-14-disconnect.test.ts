// MQTT 5.0 section 3.14: DISCONNECT in both directions.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import { connectPacket, field, packet, properties, u16, u32 } from '#test/raw-bytes';
import { exchange } from '#test/exchange';
import type { RawClient } from '#test/raw-client';

const malformed = 0x81;
const protocolError = 0x82;

/** Table 3-10 of the specification: those that a server may send. */
const serverDisconnectCodes = [
  0x00, 0x80, 0x81, 0x82, 0x83, 0x87, 0x89, 0x8b, 0x8d, 0x8e, 0x8f, 0x90, 0x93, 0x94, 0x95, 0x96,
  0x97, 0x98, 0x99, 0x9a, 0x9b, 0x9c, 0x9d, 0x9e, 0x9f, 0xa0, 0xa1, 0xa2,
];

/** Ways to make the server end a connection of a broker with the limits of `limited`. */
const provocations: Record<string, (client: RawClient) => void> = {
  'malformed packet': (client) => client.send(packet(0xc1)),
  'second CONNECT': (client) => client.send(connectPacket()),
  'packet too large': (client) => client.sendPublish('a', Buffer.alloc(2000)),
  'QoS not supported': (client) => client.sendPublish('a', '', { qos: 2 }),
  'retain not supported': (client) => client.sendPublish('a', 'x', { retain: true }),
  'topic alias': (client) => client.sendPublish('a', '', { properties: { topicAlias: 9 } }),
  'bad topic': (client) => client.send(packet(0x30, field('a/+'), properties())),
  'AUTH without a method': (client) =>
    client.send(packet(0xf0, 0x19, properties(0x15, field('m')))),
};
const limited = {
  zone: { maxPacketBytes: 1000, maxQosAllowed: 1, retainAvailable: false, maxTopicAlias: 3 },
} as const;

test('[MQTT-3.14.0-1] a client that was not let in gets no DISCONNECT', async () => {
  await using broker = await startBroker({ zone: { maxClientIdBytes: 5 } });
  for (const bytes of [
    connectPacket({ payload: [field('too long')] }),
    connectPacket({ flags: 0x03 }),
    packet(0xc0),
    packet(0x82, u16(1), properties(), field('a'), 0),
  ]) {
    const answer = await exchange(broker.port, bytes);
    assert.ok(answer.length === 0 || answer[0] === 0x20, answer.toString('hex'));
  }
});

test('[MQTT-3.14.1-1] a DISCONNECT with a reserved bit set is malformed', async () => {
  await using broker = await startBroker();
  const watcher = await broker.connect();
  await watcher.subscribe('will');
  for (const header of [0xe1, 0xe2, 0xe8]) {
    const client = await broker.connect({ will: { topic: 'will', payload: 'not a good end' } });
    client.send(packet(header));
    await client.expectDisconnected(malformed);
    assert.deepEqual(await watcher.receivePayloads(1), ['not a good end']);
  }
});

test('[MQTT-3.14.2-1] a DISCONNECT of the server has a reason code that a server may use', async () => {
  await using broker = await startBroker(limited);
  for (const provoke of Object.values(provocations)) {
    const client = await broker.connect();
    provoke(client);
    await client.expectDisconnected(...serverDisconnectCodes.filter((code) => code >= 0x80));
  }
});

test('[MQTT-3.14.2-2] a DISCONNECT of the server has no session expiry interval', async () => {
  await using broker = await startBroker(limited);
  for (const provoke of Object.values(provocations)) {
    const client = await broker.connect({ properties: { sessionExpirySeconds: 1000 } });
    provoke(client);
    assert.equal((await client.next('disconnect')).properties.sessionExpirySeconds, undefined);
  }
});

test('[MQTT-3.14.2-3] [MQTT-3.14.2-4] a DISCONNECT drops its explanations rather than grow too large', async () => {
  await using broker = await startBroker(limited);
  for (const provoke of Object.values(provocations)) {
    const client = await broker.connect({ properties: { maximumPacketSize: 24 } });
    provoke(client);
    const bytes = await client.nextBytes();
    assert.equal(bytes[0], 0xe0);
    assert.ok(bytes.length <= 24, `${bytes.length} bytes`);
  }
});

test('[MQTT-3.14.4-1] [MQTT-3.14.4-2] after its DISCONNECT the server sends nothing more and closes', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe('a');
  const ping = packet(0xc0);
  const publish = packet(0x30, field('a'), properties());
  client.send(Buffer.concat([packet(0xc1), ping, publish, ping]));
  await client.expectDisconnected(malformed);
});

test('[MQTT-3.14.4-2] after the DISCONNECT of the client the server closes without an answer', async () => {
  await using broker = await startBroker();
  for (const version of [3, 4, 5] as const) {
    const client = await broker.connect({ version });
    client.send(Buffer.concat([packet(0xe0), packet(0xc0)]));
    assert.deepEqual(await client.expectClosed(), []);
  }
});

test('[MQTT-3.14.4-3] DISCONNECT with 0x00 discards the will', async () => {
  await using broker = await startBroker();
  const watcher = await broker.connect();
  await watcher.subscribe('will');
  const will = { topic: 'will', payload: 'never' };
  const delayed = { ...will, properties: { willDelaySeconds: 5 } };
  for (const each of [will, delayed]) {
    const client = await broker.connect({ will: each, properties: { sessionExpirySeconds: 10 } });
    await client.disconnect(0);
    broker.advance(20_000);
    await watcher.expectNothing();
  }
});

test('DISCONNECT may change the session expiry', async () => {
  await using broker = await startBroker();
  const session = { clientId: 'c', cleanStart: false, properties: { sessionExpirySeconds: 10 } };
  const first = await broker.connect(session);
  await first.disconnect(0, { sessionExpirySeconds: 1000 });
  broker.advance(900_000);
  const second = await broker.connect(session);
  assert.equal(second.connack?.sessionPresent, true);
  await second.disconnect(0, { sessionExpirySeconds: 0 });
  const third = await broker.connect(session);
  assert.equal(third.connack?.sessionPresent, false);
});

test('DISCONNECT cannot give a session expiry to a session that had none', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({ clientId: 'c' });
  client.send(packet(0xe0, 0, properties(0x11, u32(100))));
  await client.expectDisconnected(protocolError);
  const again = await broker.connect({ clientId: 'c', cleanStart: false });
  assert.equal(again.connack?.sessionPresent, false);
});

test('a DISCONNECT with a code that only a server may use, or with a server reference, is refused', async () => {
  await using broker = await startBroker();
  for (const bytes of [
    packet(0xe0, 0x8b),
    packet(0xe0, 0x07),
    packet(0xe0, 0, properties(0x1c, field('x'))),
  ]) {
    const client = await broker.connect();
    client.send(bytes);
    await client.expectDisconnected(protocolError, malformed);
  }
});
