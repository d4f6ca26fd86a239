// MQTT 5.0 section 3.1.3 and 3.1.4: the payload of CONNECT (client id first) and what the server
// does when it has it: check, take over, acknowledge or refuse.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import { badStrings, connectPacket, field, packet, properties, u16 } from '#test/raw-bytes';

const malformed = 0x81;
const badClientId = 0x85;

test('[MQTT-3.1.3-1] the payload is read as client id, will properties, will topic, will payload, username, password', async () => {
  await using broker = await startBroker();
  const watcher = await broker.connect();
  await watcher.subscribe('will');
  const client = await broker.open();
  const payload = ['c', 'name', 'secret'].map(field) as [Buffer, Buffer, Buffer];
  client.send(
    connectPacket({
      flags: 0xc6,
      payload: [
        payload[0],
        properties(0x01, 0x01),
        field('will'),
        field('gone'),
        payload[1],
        payload[2],
      ],
    }),
  );
  assert.equal((await client.next('connack')).reasonCode, 0);
  client.destroy();
  const will = await watcher.receive();
  assert.equal(will.payload.toString(), 'gone');
  assert.equal(will.properties.payloadFormat, 1);
});

test('[MQTT-3.1.3-2] the client id alone decides which session a connection gets', async () => {
  await using broker = await startBroker();
  const expiry = { cleanStart: false, properties: { sessionExpirySeconds: 1000 } };
  const first = await broker.connect({ ...expiry, clientId: 'one', username: 'name' });
  await first.subscribe('a', { qos: 1 });
  await first.disconnect();
  const other = await broker.connect({ ...expiry, clientId: 'One', username: 'name' });
  assert.equal(other.connack?.sessionPresent, false);
  const same = await broker.connect({ ...expiry, clientId: 'one', username: 'other name' });
  assert.equal(same.connack?.sessionPresent, true);
});

test('[MQTT-3.1.3-3] a CONNECT without a client id field is malformed', async () => {
  await using broker = await startBroker();
  const client = await broker.open();
  client.send(connectPacket({ payload: [] }));
  await client.expectRefused(malformed);
});

test('[MQTT-3.1.3-4] a client id that is no UTF-8 string makes the CONNECT malformed', async () => {
  await using broker = await startBroker();
  for (const bytes of Object.values(badStrings)) {
    const client = await broker.open();
    client.send(connectPacket({ payload: [field(bytes)] }));
    await client.expectRefused(malformed, badClientId);
  }
});

test('[MQTT-3.1.3-5] client ids of 1 to 23 letters and digits are accepted', async () => {
  await using broker = await startBroker();
  const alphabet = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
  const ids = ['0', 'z', alphabet.slice(0, 23), alphabet.slice(23, 46), alphabet.slice(-23)];
  for (const clientId of ids) {
    const client = await broker.connect({ clientId });
    assert.equal(client.connack?.properties.assignedClientId, undefined);
  }
});

test('[MQTT-3.1.3-6] a client without an id is given one that no other has', async () => {
  await using broker = await startBroker();
  const ids = new Set<string | undefined>();
  for (let i = 0; i < 5; i++) {
    const client = await broker.connect({ clientId: '' });
    ids.add(client.connack?.properties.assignedClientId);
    await client.expectNothing();
  }
  assert.equal(ids.size, 5);
  assert.ok(!ids.has(undefined) && !ids.has(''));
});

test('[MQTT-3.1.3-7] an assigned client id is told in CONNACK and works as if the client had sent it', async () => {
  await using broker = await startBroker();
  const expiry = { properties: { sessionExpirySeconds: 1000 } };
  const first = await broker.connect({ ...expiry, clientId: '' });
  const clientId = first.connack?.properties.assignedClientId ?? '';
  await first.subscribe('a', { qos: 1 });
  await first.disconnect();
  const second = await broker.connect({ ...expiry, clientId, cleanStart: false });
  assert.equal(second.connack?.sessionPresent, true);
  assert.equal(second.connack?.properties.assignedClientId, undefined);
});

test('[MQTT-3.1.3-8] a client id that is too long is refused with 0x85 and the connection closed', async () => {
  await using broker = await startBroker({ zone: { maxClientIdBytes: 30 } });
  const client = await broker.open();
  const connack = await client.connect({ clientId: 'x'.repeat(31) });
  assert.equal(connack.reasonCode, badClientId);
  assert.deepEqual(await client.expectClosed(), []);
  await broker.connect({ clientId: 'x'.repeat(30) });
});

test('[MQTT-3.1.3-12] a username that is no UTF-8 string makes the CONNECT malformed', async () => {
  await using broker = await startBroker();
  for (const bytes of Object.values(badStrings)) {
    const client = await broker.open();
    client.send(connectPacket({ flags: 0x82, payload: [field('c'), field(bytes)] }));
    await client.expectRefused(malformed, 0x86);
  }
});

test('[MQTT-3.1.4-1] a CONNECT that is not as section 3.1 says ends the connection', async () => {
  await using broker = await startBroker();
  const bad: Record<string, Buffer> = {
    'bytes after the payload': connectPacket({ payload: [field('c'), Buffer.from([0])] }),
    'a client id longer than the packet': connectPacket({ payload: [u16(10), Buffer.from('c')] }),
    'an unknown property': connectPacket({ properties: properties(0x7f, 0) }),
    'a property of another packet': connectPacket({ properties: properties(0x23, u16(1)) }),
    'a property twice': connectPacket({ properties: properties(0x21, u16(1), 0x21, u16(1)) }),
    'receive maximum 0': connectPacket({ properties: properties(0x21, u16(0)) }),
    'maximum packet size 0': connectPacket({ properties: properties(0x27, u16(0), u16(0)) }),
    'request problem information 2': connectPacket({ properties: properties(0x17, 2) }),
    'request response information 2': connectPacket({ properties: properties(0x19, 2) }),
    'authentication data without a method': connectPacket({
      properties: properties(0x16, field('x')),
    }),
    'a property length beyond the packet': connectPacket({ properties: Buffer.from([100]) }),
    'nothing after the protocol name': packet(0x10, field('MQTT')),
    'an empty packet': packet(0x10),
  };
  for (const bytes of Object.values(bad)) {
    const client = await broker.open();
    client.send(bytes);
    await client.expectRefused(malformed, 0x82);
  }
  await broker.expectService();
});

test('[MQTT-3.1.4-2] a client that fails authentication is refused and the connection closed', async () => {
  await using broker = await startBroker({ zone: { allowAnonymous: false } });
  const client = await broker.open();
  const connack = await client.connect();
  assert.ok([0x86, 0x87].includes(connack.reasonCode));
  assert.deepEqual(await client.expectClosed(), []);
});

test('[MQTT-3.1.4-3] a second connection with the same client id ends the first with 0x8E', async () => {
  await using broker = await startBroker();
  for (const cleanStart of [true, false]) {
    const first = await broker.connect({ clientId: 'c', cleanStart });
    const second = await broker.connect({ clientId: 'c', cleanStart });
    await first.expectDisconnected(0x8e);
    await second.expectNothing();
  }
});

test('[MQTT-3.1.4-3] a take-over keeps the session and publishes the will of the old connection', async () => {
  await using broker = await startBroker();
  const watcher = await broker.connect();
  await watcher.subscribe('will');
  const session = { clientId: 'c', cleanStart: false, properties: { sessionExpirySeconds: 1000 } };
  const first = await broker.connect({
    ...session,
    will: { topic: 'will', payload: 'taken over' },
  });
  await first.subscribe('a', { qos: 1 });
  const second = await broker.connect(session);
  await first.expectDisconnected(0x8e);
  assert.equal(second.connack?.sessionPresent, true);
  assert.deepEqual(await watcher.receivePayloads(1), ['taken over']);
  await second.publish('a', 'still subscribed', { qos: 1 });
  assert.deepEqual(await second.receivePayloads(1), ['still subscribed']);
});

test('[MQTT-3.1.4-4] clean start is obeyed also when the client is still connected', async () => {
  await using broker = await startBroker();
  const session = { clientId: 'c', properties: { sessionExpirySeconds: 1000 } };
  const first = await broker.connect(session);
  await first.subscribe('a', { qos: 1 });
  const second = await broker.connect({ ...session, cleanStart: true });
  assert.equal(second.connack?.sessionPresent, false);
  const ack = await second.publish('a', 'nobody', { qos: 1 });
  assert.equal(ack?.reasonCode, 0x10);
});

test('[MQTT-3.1.4-5] a good CONNECT is acknowledged by CONNACK with 0x00', async () => {
  await using broker = await startBroker();
  const client = await broker.open();
  client.send(connectPacket());
  const bytes = await client.nextBytes();
  assert.deepEqual([bytes[0], bytes[2], bytes[3]], [0x20, 0, 0]);
});

test('[MQTT-3.1.4-6] what a refused client sends after its CONNECT is not processed', async () => {
  await using broker = await startBroker({ zone: { maxClientIdBytes: 5 } });
  const watcher = await broker.connect({ clientId: 'watch' });
  await watcher.subscribe('#');
  const refused = await broker.open();
  refused.send(
    Buffer.concat([
      connectPacket({ payload: [field('too long')] }),
      packet(0x31, field('a'), properties(), Buffer.from('sneaked in')),
      packet(0x82, u16(1), properties(), field('#'), 0),
    ]),
  );
  await refused.expectRefused(badClientId);
  await watcher.expectNothing();
});
