// MQTT 3.1 (protocol name MQIsdp, level 3) where it differs from 3.1.1.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import { connectPacket, field, packet, u16 } from '#test/raw-bytes';
import { exchange } from '#test/exchange';

const version = 3;

test('3.1: MQIsdp with level 3 is served in all three QoS, beside newer clients', async () => {
  await using broker = await startBroker();
  const old = await broker.connect({ version });
  const modern = await broker.connect();
  for (const client of [old, modern]) await client.subscribe('a', { qos: 2 });
  for (const qos of [0, 1, 2] as const) {
    await old.publish('a', `old ${qos}`, { qos });
    await modern.publish('a', `modern ${qos}`, { qos });
    for (const client of [old, modern]) {
      assert.deepEqual(await client.receivePayloads(2), [`old ${qos}`, `modern ${qos}`]);
    }
  }
});

test('3.1: the protocol name goes with its level only', async () => {
  await using broker = await startBroker();
  for (const [protocol, level] of [
    ['MQTT', 3],
    ['MQIsdp', 4],
    ['MQIsdp', 5],
    ['MQIsdP', 3],
  ] as const) {
    const answer = await exchange(broker.port, connectPacket({ protocol, level }));
    assert.ok(
      answer.length === 0 || (answer[0] === 0x20 && answer[3] !== 0),
      answer.toString('hex'),
    );
  }
});

test('3.1: an empty client id is refused by return code 2', async () => {
  await using broker = await startBroker();
  for (const cleanStart of [true, false]) {
    const client = await broker.open(version);
    assert.equal((await client.connect({ clientId: '', cleanStart })).reasonCode, 2);
    assert.deepEqual(await client.expectClosed(), []);
  }
});

test('3.1: the first byte of CONNACK is reserved, also when a session is resumed', async () => {
  await using broker = await startBroker();
  const connect = connectPacket({
    protocol: 'MQIsdp',
    level: 3,
    flags: 0x00,
    payload: [field('c')],
  });
  for (let i = 0; i < 2; i++) {
    const client = await broker.open(version);
    client.send(connect);
    assert.deepEqual(await client.nextBytes(), Buffer.from([0x20, 2, 0, 0]));
    await client.disconnect();
  }
});

test('3.1: PUBREL, SUBSCRIBE and UNSUBSCRIBE may be repeated with DUP', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({ version });
  client.send(packet(0x8a, u16(1), field('a'), 1));
  assert.deepEqual((await client.next('suback')).reasonCodes, [1]);
  client.sendPublish('b', '', { qos: 2, packetId: 7 });
  await client.next('pubrec');
  client.send(packet(0x6a, u16(7)));
  assert.equal((await client.next('pubcomp')).packetId, 7);
  client.send(packet(0xaa, u16(2), field('a')));
  assert.equal((await client.next('unsuback')).packetId, 2);
});

test('3.1: sessions, wills and repeated sending work as in 3.1.1', async () => {
  await using broker = await startBroker({ zone: { retryIntervalMs: 10_000 } });
  const watcher = await broker.connect({ version });
  await watcher.subscribe('will');
  const session = {
    version,
    clientId: 'c',
    cleanStart: false,
    will: { topic: 'will', payload: 'gone' },
  } as const;
  const first = await broker.connect(session);
  await first.subscribe('a', { qos: 1 });
  await broker.lose(first, 'c');
  assert.deepEqual(await watcher.receivePayloads(1), ['gone']);
  await watcher.publish('a', 'kept', { qos: 1 });
  const second = await broker.connect(session);
  const { packetId } = await second.next('publish');
  broker.advance(12_000);
  const again = await second.next('publish');
  assert.deepEqual([again.packetId, again.dup], [packetId, true]);
});

test('3.1: bridges that set the high bit of the level are clients like others', async () => {
  await using broker = await startBroker();
  for (const [protocol, level] of [
    ['MQIsdp', 0x83],
    ['MQTT', 0x84],
  ] as const) {
    const client = await broker.open(version);
    client.send(connectPacket({ protocol, level, payload: [field(`bridge-${level}`)] }));
    assert.deepEqual(await client.nextBytes(), Buffer.from([0x20, 2, 0, 0]));
    await client.expectNothing();
  }
});
