// A store that is slow or fails: what was not written is acknowledged to nobody, and a failure that
// nobody waits for ends neither a connection nor the process.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker, type TestBroker } from '#test/broker';
import { SlowEngine } from '#test/slow-engine';
import { settled, until } from './event-turns.ts';

const properties = { sessionExpirySeconds: 100 };
/** The store has tried again after so long, however often it failed before. */
const retryMs = 1100;

/** The disk takes everything again, and the store has found out. */
async function heal(broker: TestBroker, engine: SlowEngine): Promise<void> {
  engine.pass();
  broker.advance(retryMs);
  await broker.flushed();
}

test('a store that fails for a QoS 0 publish raised to QoS 1 costs nobody anything', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ engine, zone: { upgradeQos: true } });
  const client = await broker.connect({ properties });
  await client.subscribe('t', { qos: 1 });
  engine.fail();
  const writer = await broker.connect();
  for (const payload of ['one', 'two']) {
    await writer.publish('t', payload);
    const flushed = broker.flushed();
    broker.advance(retryMs);
    await assert.rejects(flushed);
  }
  assert.deepEqual(await client.receivePayloads(2), ['one', 'two']);
  await settled();
  await client.expectNothing();
  await writer.expectNothing();
});

test('a store that fails when a message goes to another member of its group costs nobody anything', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ engine });
  const leaving = await broker.connect({ clientId: 'leaving' });
  await leaving.subscribe('$share/g/t', { qos: 1 });
  const writer = await broker.connect();
  await writer.publish('t', 'handed on', { qos: 1 });
  const staying = await broker.connect({ properties });
  await staying.subscribe('$share/g/t', { qos: 1 });
  engine.fail();
  await broker.lose(leaving, 'leaving');
  assert.deepEqual(await staying.receivePayloads(1), ['handed on']);
  await until('the failure', () => engine.failed > 0);
  await settled();
  await staying.expectNothing();
  await writer.expectNothing();
});

test('a store that fails has no say in the replay of retained messages', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ engine });
  const writer = await broker.connect();
  await writer.publish('t', 'retained', { qos: 1, retain: true });
  const client = await broker.connect({ properties });
  await broker.flushed();
  engine.hold();
  const subscribing = client.subscribe('t', { qos: 1 });
  (await engine.next()).resolve();
  engine.fail();
  await subscribing;
  await until('the failure', () => engine.failed === 1);
  assert.deepEqual(await client.receivePayloads(1), ['retained']);
  await client.expectNothing();
});

for (const [version, code] of [
  [5, 0x83],
  [4, 0x80],
] as const) {
  test(`a SUBSCRIBE that cannot be stored is taken back and answered ${code.toString(16)}, level ${version}`, async () => {
    const engine = new SlowEngine();
    await using broker = await startBroker({ engine });
    const client = await broker.connect({
      version,
      clientId: 's',
      cleanStart: false,
      ...(version === 5 && { properties }),
    });
    await broker.flushed();
    engine.fail();
    const suback = await client.subscribe(['a', '$share/g/a', 'b/+'], { qos: 1 });
    assert.deepEqual(suback.reasonCodes, [code, code, code]);
    assert.equal(broker.troubles.length, 1);
    assert.equal(broker.session('s')?.subscriptions.size, 0);
    const writer = await broker.connect();
    await writer.publish('a', 'for nobody', { qos: 1 });
    await writer.publish('b/c', 'for nobody', { qos: 1 });
    await client.expectNothing();
    await heal(broker, engine);
    assert.deepEqual((await client.subscribe('a', { qos: 1 })).reasonCodes, [1]);
    await writer.publish('a', 'for somebody', { qos: 1 });
    assert.deepEqual(await client.receivePayloads(1), ['for somebody']);
  });
}

test('a QoS 2 publish repeated after a reconnect is not confirmed before it is written', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ engine });
  const subscriber = await broker.connect();
  await subscriber.subscribe('t');
  const worker = 0; // To move, the session would have to be flushed.
  const before = await broker.connect({ clientId: 'p', properties, worker });
  await broker.flushed();
  engine.hold();
  before.sendPublish('t', 'x', { qos: 2, retain: true, packetId: 7 });
  const write = await engine.next();
  await broker.lose(before, 'p');
  const after = await broker.connect({ clientId: 'p', cleanStart: false, properties, worker });
  after.sendPublish('t', 'x', { qos: 2, retain: true, packetId: 7, dup: true });
  await after.expectNothing();
  write.resolve();
  assert.equal((await after.next('pubrec')).packetId, 7);
  assert.deepEqual(await subscriber.receivePayloads(1), ['x']);
  await subscriber.expectNothing();
});

test('a QoS 2 publish that could not be written is not known: it is taken when it comes again', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ engine });
  const subscriber = await broker.connect();
  await subscriber.subscribe('t');
  const worker = 0; // To move, the session would have to be flushed.
  const before = await broker.connect({ clientId: 'p', properties, worker });
  await broker.flushed();
  engine.hold();
  before.sendPublish('t', 'x', { qos: 2, retain: true, packetId: 7 });
  const write = await engine.next();
  await broker.lose(before, 'p');
  write.reject();
  await settled();
  assert.equal(broker.troubles.length, 1);
  assert.equal(broker.session('p')?.awaitingRel.has(7), false);
  const after = await broker.connect({ clientId: 'p', cleanStart: false, properties, worker });
  after.sendPublish('t', 'x', { qos: 2, retain: true, packetId: 7, dup: true });
  await after.expectNothing();
  broker.advance(retryMs);
  await engine.next();
  engine.pass();
  assert.equal((await after.next('pubrec')).reasonCode, 0);
  assert.deepEqual(await subscriber.receivePayloads(2), ['x', 'x']);
});

test('[MQTT-4.6.0-2] a refusal does not overtake an acknowledgement that waits for the store', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ engine });
  engine.hold();
  const writer = await broker.connect();
  writer.sendPublish('t', 'x', { qos: 1, retain: true, packetId: 1 });
  const properties = { payloadFormat: 1 } as const;
  writer.sendPublish('t', Buffer.from([0xff]), { qos: 1, packetId: 2, properties });
  await writer.expectNothing();
  (await engine.next()).resolve();
  assert.equal((await writer.next('puback')).packetId, 1);
  const refused = await writer.next('puback');
  assert.deepEqual([refused.packetId, refused.reasonCode], [2, 0x99]);
});

test('[MQTT-4.6.0-2] a failure of the store is answered in its turn', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ engine });
  engine.hold();
  const writer = await broker.connect();
  writer.sendPublish('t', 'one', { qos: 1, retain: true, packetId: 1 });
  const first = await engine.next();
  writer.sendPublish('nobody', 'two', { qos: 1, packetId: 2 });
  writer.sendPublish('t', 'three', { qos: 1, retain: true, packetId: 3 });
  writer.sendPublish('nobody', 'four', { qos: 1, packetId: 4 });
  await writer.expectNothing();
  first.reject();
  const codes: [number, number][] = [];
  const take = async (): Promise<void> => {
    const { packetId, reasonCode } = await writer.next('puback');
    codes.push([packetId, reasonCode]);
  };
  await take();
  await take();
  await writer.expectNothing();
  broker.advance(retryMs);
  (await engine.next()).resolve();
  await take();
  await take();
  assert.deepEqual(codes, [
    [1, 0x83],
    [2, 0x10],
    [3, 0x10],
    [4, 0x10],
  ]);
  assert.equal(broker.troubles.length, 2);
});

test('an UNSUBSCRIBE that could not be written is answered 0x83, and the subscription stays', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ engine });
  const client = await broker.connect({ properties });
  await client.subscribe('t', { qos: 1 });
  engine.fail();
  assert.deepEqual((await client.unsubscribe('t', 'never')).reasonCodes, [0x83, 0x11]);
  await heal(broker, engine);
  await (await broker.connect()).publish('t', 'still here', { qos: 1 });
  assert.deepEqual(await client.receivePayloads(1), ['still here']);
  assert.equal(broker.troubles.length, 2);
});

test('a SUBSCRIBE again that could not be written leaves the subscription as it was', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ engine });
  const client = await broker.connect({ properties });
  await client.subscribe('t', { qos: 1 });
  engine.fail();
  assert.deepEqual((await client.subscribe('t', { qos: 0 })).reasonCodes, [0x83]);
  await heal(broker, engine);
  await (await broker.connect()).publish('t', 'at QoS 1', { qos: 1 });
  const { qos } = await client.next('publish');
  assert.equal(qos, 1);
  assert.equal(broker.troubles.length, 2);
});
