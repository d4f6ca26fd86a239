// A store that is slow or fails: what was not written is acknowledged to nobody, and a failure that
// nobody waits for ends neither a connection nor the process.

import assert from 'node:assert/strict';
import test from 'node:test';
import { MemoryStore } from '#store/memory';
import { startBroker } from '#test/broker';
import { settled, until } from './event-turns.ts';

const properties = { sessionExpirySeconds: 100 };

/** Fails at what it is told to. */
class FailingStore extends MemoryStore {
  readonly fails: Set<'queued' | 'subscribed' | 'unsubscribed'> = new Set();
  failures = 0;

  override queued(): Promise<void> | undefined {
    return this.#answer('queued');
  }
  override subscribed(): Promise<void> | undefined {
    return this.#answer('subscribed');
  }
  override unsubscribed(): Promise<void> | undefined {
    return this.#answer('unsubscribed');
  }

  #answer(what: 'queued' | 'subscribed' | 'unsubscribed'): Promise<void> | undefined {
    if (!this.fails.has(what)) return undefined;
    this.failures += 1;
    return Promise.reject(new Error('Cannot write: the disk is full'));
  }
}

/** Writes nothing before the test says so, message by message. */
class SlowStore extends MemoryStore {
  readonly writes: PromiseWithResolvers<void>[] = [];

  override retain(): Promise<void> {
    const write = Promise.withResolvers<void>();
    this.writes.push(write);
    return write.promise;
  }
}

test('a store that fails for a QoS 0 publish raised to QoS 1 costs nobody anything', async () => {
  const store = new FailingStore();
  await using broker = await startBroker({ store, zone: { upgradeQos: true } });
  const client = await broker.connect({ properties });
  await client.subscribe('t', { qos: 1 });
  store.fails.add('queued');
  const writer = await broker.connect();
  for (const payload of ['one', 'two']) await writer.publish('t', payload);
  assert.deepEqual(await client.receivePayloads(2), ['one', 'two']);
  await settled();
  assert.equal(store.failures, 2);
  await writer.expectNothing();
});

test('a store that fails when a message goes to another member of its group costs nobody anything', async () => {
  const store = new FailingStore();
  await using broker = await startBroker({ store });
  const leaving = await broker.connect({ clientId: 'leaving' });
  await leaving.subscribe('$share/g/t', { qos: 1 });
  const writer = await broker.connect();
  await writer.publish('t', 'handed on', { qos: 1 });
  const staying = await broker.connect({ properties });
  await staying.subscribe('$share/g/t', { qos: 1 });
  store.fails.add('queued');
  await broker.lose(leaving, 'leaving');
  assert.deepEqual(await staying.receivePayloads(1), ['handed on']);
  await settled();
  assert.equal(store.failures, 1);
  await writer.expectNothing();
});

test('a store that fails has no say in the replay of retained messages', async () => {
  const store = new FailingStore();
  await using broker = await startBroker({ store });
  store.fails.add('queued');
  const writer = await broker.connect();
  await writer.publish('t', 'retained', { qos: 1, retain: true });
  const client = await broker.connect({ properties });
  await client.subscribe('t', { qos: 1 });
  assert.deepEqual(await client.receivePayloads(1), ['retained']);
  await client.expectNothing();
});

for (const [version, code] of [
  [5, 0x83],
  [4, 0x80],
] as const) {
  test(`a SUBSCRIBE that cannot be stored is taken back and answered ${code.toString(16)}, level ${version}`, async () => {
    const store = new FailingStore();
    await using broker = await startBroker({ store });
    const client = await broker.connect({
      version,
      clientId: 's',
      cleanStart: false,
      ...(version === 5 && { properties }),
    });
    store.fails.add('subscribed');
    const suback = await client.subscribe(['a', '$share/g/a', 'b/+'], { qos: 1 });
    assert.deepEqual(suback.reasonCodes, [code, code, code]);
    assert.deepEqual(broker.takeFaults().length, 1);
    assert.equal(broker.broker.core.sessions.find('s')?.subscriptions.size, 0);
    const writer = await broker.connect();
    await writer.publish('a', 'for nobody', { qos: 1 });
    await writer.publish('b/c', 'for nobody', { qos: 1 });
    await client.expectNothing();
    store.fails.clear();
    assert.deepEqual((await client.subscribe('a', { qos: 1 })).reasonCodes, [1]);
    await writer.publish('a', 'for somebody', { qos: 1 });
    assert.deepEqual(await client.receivePayloads(1), ['for somebody']);
  });
}

test('a QoS 2 publish repeated after a reconnect is not confirmed before it is written', async () => {
  const store = new SlowStore();
  await using broker = await startBroker({ store });
  const before = await broker.connect({ clientId: 'p', properties });
  before.sendPublish('t', 'x', { qos: 2, retain: true, packetId: 7 });
  await until('the write', () => store.writes.length === 1);
  await broker.lose(before, 'p');
  const after = await broker.connect({ clientId: 'p', cleanStart: false, properties });
  after.sendPublish('t', 'x', { qos: 2, retain: true, packetId: 7, dup: true });
  await after.expectNothing();
  store.writes[0]?.resolve();
  assert.equal((await after.next('pubrec')).packetId, 7);
  assert.equal(store.writes.length, 1, 'it was routed once');
});

test('a QoS 2 publish that could not be written is not known: it is taken when it comes again', async () => {
  const store = new SlowStore();
  await using broker = await startBroker({ store });
  const subscriber = await broker.connect();
  await subscriber.subscribe('t');
  const before = await broker.connect({ clientId: 'p', properties });
  before.sendPublish('t', 'x', { qos: 2, retain: true, packetId: 7 });
  await until('the write', () => store.writes.length === 1);
  await broker.lose(before, 'p');
  store.writes[0]?.reject(new Error('Cannot write: the disk is full'));
  await settled();
  assert.equal(broker.takeFaults().length, 1);
  assert.equal(broker.broker.core.sessions.find('p')?.awaitingRel.has(7), false);
  const after = await broker.connect({ clientId: 'p', cleanStart: false, properties });
  after.sendPublish('t', 'x', { qos: 2, retain: true, packetId: 7, dup: true });
  await until('the second write', () => store.writes.length === 2);
  store.writes[1]?.resolve();
  assert.equal((await after.next('pubrec')).reasonCode, 0);
});

test('[MQTT-4.6.0-2] a refusal does not overtake an acknowledgement that waits for the store', async () => {
  const store = new SlowStore();
  await using broker = await startBroker({ store });
  const writer = await broker.connect();
  writer.sendPublish('t', 'x', { qos: 1, retain: true, packetId: 1 });
  const properties = { payloadFormat: 1 } as const;
  writer.sendPublish('t', Buffer.from([0xff]), { qos: 1, packetId: 2, properties });
  await writer.expectNothing();
  store.writes[0]?.resolve();
  assert.equal((await writer.next('puback')).packetId, 1);
  const refused = await writer.next('puback');
  assert.deepEqual([refused.packetId, refused.reasonCode], [2, 0x99]);
});

test('[MQTT-4.6.0-2] a failure of the store does not overtake an acknowledgement that waits for it', async () => {
  const store = new SlowStore();
  await using broker = await startBroker({ store });
  const writer = await broker.connect();
  for (const packetId of [1, 2]) {
    writer.sendPublish('t', 'x', { qos: 1, retain: true, packetId });
  }
  await until('both writes', () => store.writes.length === 2);
  store.writes[1]?.reject(new Error('Cannot write: the disk is full'));
  await settled();
  await writer.expectNothing();
  store.writes[0]?.resolve();
  const first = await writer.next('puback');
  const second = await writer.next('puback');
  assert.deepEqual([first.packetId, second.packetId], [1, 2]);
  assert.ok(first.reasonCode < 0x80);
  assert.equal(second.reasonCode, 0x83);
  assert.equal(broker.takeFaults().length, 1);
});

test('an UNSUBSCRIBE that could not be written is answered 0x83, and the subscription stays', async () => {
  const store = new FailingStore();
  await using broker = await startBroker({ store });
  const client = await broker.connect({ properties });
  await client.subscribe('t', { qos: 1 });
  store.fails.add('unsubscribed');
  assert.deepEqual((await client.unsubscribe('t', 'never')).reasonCodes, [0x83, 0x11]);
  await (await broker.connect()).publish('t', 'still here', { qos: 1 });
  assert.deepEqual(await client.receivePayloads(1), ['still here']);
  assert.equal(broker.takeFaults().length, 1);
});

test('a SUBSCRIBE again that could not be written leaves the subscription as it was', async () => {
  const store = new FailingStore();
  await using broker = await startBroker({ store });
  const client = await broker.connect({ properties });
  await client.subscribe('t', { qos: 1 });
  store.fails.add('subscribed');
  assert.deepEqual((await client.subscribe('t', { qos: 0 })).reasonCodes, [0x83]);
  await (await broker.connect()).publish('t', 'at QoS 1', { qos: 1 });
  const { qos } = await client.next('publish');
  assert.equal(qos, 1);
  assert.equal(broker.takeFaults().length, 1);
});
