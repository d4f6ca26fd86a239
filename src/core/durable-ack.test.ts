import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker, type TestBroker } from '#test/broker';
import type { RawClient } from '#test/raw-client';
import { SlowEngine } from '#test/slow-engine';
import { Reason } from '#wire/reason-codes';
import { WaitingRoom } from './held-messages.ts';
import type { Passage } from './message.ts';
import { deliveryTo, messageOn } from './session-fixture.ts';

/** A durable subscriber `s` of topic `t`, absent, so that every publish waits for the store. */
async function absentSubscriber(broker: TestBroker, engine: SlowEngine): Promise<void> {
  const client = await broker.connect({
    clientId: 's',
    properties: { sessionExpirySeconds: 100 },
  });
  await client.subscribe('t', { qos: 2 });
  await broker.lose(client, 's');
  await broker.flushed();
  engine.hold();
}

/** Proves that nothing was sent: what comes next is the answer to a ping. */
async function pinged(client: RawClient): Promise<void> {
  client.send({ type: 'pingreq' });
  await client.next('pingresp');
}

/** The next packets as `type id`. */
async function nextAcks(client: RawClient, count: number): Promise<string[]> {
  const acks: string[] = [];
  for (let i = 0; i < count; i++) {
    const ack = await client.next();
    acks.push(`${ack.type} ${'packetId' in ack ? ack.packetId : ''}`);
  }
  return acks;
}

for (const version of [4, 5] as const) {
  test(`PUBACK, PUBREC and PUBCOMP wait for the store, level ${version}`, async () => {
    const engine = new SlowEngine();
    // Its single commits are looked at, so one store.
    await using broker = await startBroker({ engine, workers: 0 });
    await absentSubscriber(broker, engine);
    const client = await broker.connect({
      version,
      clientId: 'p',
      cleanStart: false,
      properties: version === 5 ? { sessionExpirySeconds: 100 } : {},
    });
    (await engine.next()).resolve();
    client.sendPublish('t', 'one', { qos: 1, packetId: 11 });
    const one = await engine.next();
    assert.deepEqual(one.writes, ['put queue']);
    await pinged(client);
    one.resolve();
    assert.equal((await client.next('puback')).packetId, 11);
    client.sendPublish('t', 'two', { qos: 2, packetId: 12 });
    const two = await engine.next();
    assert.deepEqual(two.writes, ['put queue', 'put taken']);
    await pinged(client);
    two.resolve();
    assert.equal((await client.next('pubrec')).packetId, 12);
    client.ack('pubrel', 12);
    const released = await engine.next();
    assert.deepEqual(released.writes, ['remove taken']);
    await pinged(client);
    released.resolve();
    assert.equal((await client.next('pubcomp')).packetId, 12);
  });

  test(`acknowledgements keep the order of the publishes, level ${version}`, async () => {
    const engine = new SlowEngine();
    await using broker = await startBroker({ engine });
    await absentSubscriber(broker, engine);
    const client = await broker.connect({ version });
    client.sendPublish('t', 'a', { qos: 1, packetId: 1 });
    const first = await engine.next();
    client.sendPublish('nobody', 'b', { qos: 1, packetId: 2 });
    client.sendPublish('t', 'c', { qos: 2, packetId: 3 });
    client.sendPublish('nobody', 'd', { qos: 1, packetId: 4 });
    client.sendPublish('t', 'e', { qos: 1, packetId: 5 });
    await pinged(client);
    first.resolve();
    assert.deepEqual(await nextAcks(client, 2), ['puback 1', 'puback 2']);
    const second = await engine.next();
    await pinged(client);
    second.resolve();
    assert.deepEqual(await nextAcks(client, 3), ['pubrec 3', 'puback 4', 'puback 5']);
  });

  test(`SUBACK and UNSUBACK wait for the store of a durable session, level ${version}`, async () => {
    const engine = new SlowEngine();
    await using broker = await startBroker({ engine });
    const client = await broker.connect({
      version,
      clientId: 'c',
      cleanStart: false,
      properties: version === 5 ? { sessionExpirySeconds: 100 } : {},
    });
    await broker.flushed();
    engine.hold();
    let answers = 0;
    const subscribing = client.subscribe(['a', 'b'], { qos: 1 }).finally(() => answers++);
    const subscribed = await engine.next();
    assert.deepEqual(subscribed.writes, ['put subscriptions', 'put subscriptions']);
    await broker.expectService();
    assert.equal(answers, 0);
    subscribed.resolve();
    assert.deepEqual((await subscribing).reasonCodes, [1, 1]);
    const unsubscribing = client.unsubscribe('a').finally(() => answers++);
    const unsubscribed = await engine.next();
    assert.deepEqual(unsubscribed.writes, ['remove subscriptions']);
    await broker.expectService();
    assert.equal(answers, 1);
    unsubscribed.resolve();
    await unsubscribing;
  });
}

test('a retained message is acknowledged when the store has it', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ engine });
  engine.hold();
  const client = await broker.connect();
  client.sendPublish('r', 'x', { qos: 1, retain: true, packetId: 1 });
  const kept = await engine.next();
  assert.deepEqual(kept.writes, ['put retained']);
  await pinged(client);
  kept.resolve();
  assert.equal((await client.next('puback')).packetId, 1);
  client.sendPublish('r', '', { qos: 1, retain: true, packetId: 2 });
  const gone = await engine.next();
  assert.deepEqual(gone.writes, ['remove retained']);
  await pinged(client);
  gone.resolve();
  assert.equal((await client.next('puback')).packetId, 2);
});

test('PUBREL waits for the store, which has to know that the client has the message', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ engine });
  const client = await broker.connect({ properties: { sessionExpirySeconds: 100 } });
  await client.subscribe('t', { qos: 2 });
  await (await broker.connect()).publish('t', 'x', { qos: 2 });
  const { packetId } = await client.next('publish');
  await broker.flushed();
  engine.hold();
  client.ack('pubrec', packetId);
  const received = await engine.next();
  assert.deepEqual(received.writes, ['put queue']);
  await pinged(client);
  received.resolve();
  assert.equal((await client.next('pubrel')).packetId, packetId);
});

test('a QoS 2 message is sent when its number is on disk, a QoS 1 message at once', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ engine });
  const client = await broker.connect({ properties: { sessionExpirySeconds: 100 } });
  await client.subscribe('t', { qos: 2 });
  engine.hold();
  const writer = await broker.connect();
  writer.sendPublish('t', 'one', { qos: 1, packetId: 1 });
  assert.equal((await client.next('publish')).payload.toString(), 'one');
  writer.sendPublish('t', 'two', { qos: 2, packetId: 2 });
  await pinged(writer);
  await pinged(client);
  engine.pass();
  assert.equal((await client.next('publish')).payload.toString(), 'two');
  assert.deepEqual(await nextAcks(writer, 2), ['puback 1', 'pubrec 2']);
});

test('retained messages of QoS 2 are sent when their numbers are on disk, and none is lost', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ engine, zone: { maxMqueueLen: 2 } });
  const writer = await broker.connect();
  const texts = ['1', '2', '3', '4', '5', '6', '7'];
  for (const text of texts) await writer.publish(`r/${text}`, text, { qos: 2, retain: true });
  const client = await broker.connect({
    properties: { sessionExpirySeconds: 100, receiveMaximum: 4 },
  });
  await broker.flushed();
  engine.hold();
  const subscribing = client.subscribe('r/+', { qos: 2 });
  (await engine.next()).resolve();
  await subscribing;
  const numbered = await engine.next();
  assert.deepEqual(numbered.writes, ['put queue', 'put queue']);
  await pinged(client);
  engine.pass();
  assert.deepEqual(await client.receivePayloads(7), texts);
  await pinged(client);
});

test('a session that ends with its connection waits for nothing', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ engine });
  engine.hold();
  const client = await broker.connect();
  await client.subscribe('t', { qos: 2 });
  await client.publish('t', 'x', { qos: 1 });
  await client.receive();
  await client.publish('t', 'y', { qos: 2 });
  await client.receive();
  assert.equal(engine.begun, 0);
});

test('a store that fails gives PUBACK and PUBREC 0x83 and the connection goes on', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ engine });
  await absentSubscriber(broker, engine);
  const client = await broker.connect();
  client.sendPublish('t', 'one', { qos: 1, packetId: 1 });
  (await engine.next()).reject();
  const puback = await client.next('puback');
  assert.deepEqual([puback.packetId, puback.reasonCode], [1, Reason.implementationSpecificError]);
  client.sendPublish('t', 'two', { qos: 2, packetId: 2 });
  await pinged(client);
  broker.advance(100);
  (await engine.next()).reject();
  const pubrec = await client.next('pubrec');
  assert.deepEqual([pubrec.packetId, pubrec.reasonCode], [2, Reason.implementationSpecificError]);
  // The id is free again [MQTT-4.3.3-9]: the same one is a new message.
  client.sendPublish('t', 'three', { qos: 2, packetId: 2 });
  await pinged(client);
  broker.advance(200);
  (await engine.next()).resolve();
  assert.equal((await client.next('pubrec')).reasonCode, 0);
  assert.equal(broker.troubles.length, 2, 'one episode, told when it began and when it was over');
  engine.pass();
  const back = await broker.connect({ clientId: 's', cleanStart: false });
  assert.deepEqual(await back.receivePayloads(1), ['three'], 'what was refused is nowhere');
});

test('a store that fails closes a v3 client, which has no word for it', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ engine });
  await absentSubscriber(broker, engine);
  const client = await broker.connect({ version: 4 });
  client.sendPublish('t', 'one', { qos: 1, packetId: 1 });
  const one = await engine.next();
  client.sendPublish('t', 'two', { qos: 1, packetId: 2 });
  await pinged(client);
  one.reject();
  assert.deepEqual(await client.expectClosed(), []);
  broker.advance(100);
  (await engine.next()).resolve();
  assert.equal(broker.troubles.length, 1);
});

test('the packet id of a publish for a session that is on its way is stored behind the message, not before', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ engine, workers: 0 });
  const room = new WaitingRoom('m', true);
  const member = deliveryTo(room, { qos: 2 });
  void broker.broker.core.filters.add('t', 'g', member);
  const client = await broker.connect({
    clientId: 'p',
    properties: { sessionExpirySeconds: 100 },
  });
  await broker.flushed();
  engine.hold();
  client.sendPublish('t', 'held', { qos: 2, packetId: 12 });
  await pinged(client);
  const { begun } = engine;
  const held: (Passage | undefined)[] = [];
  room.held.release(({ passage }) => void held.push(passage));
  assert.deepEqual(
    held.map((passage) => passage?.packetId),
    [12],
  );
  const taken = await engine.next();
  assert.deepEqual([engine.begun - begun, taken.writes], [1, ['put taken']]);
  await pinged(client);
  taken.resolve();
  assert.equal((await client.next('pubrec')).packetId, 12);
});

for (const version of [4, 5] as const) {
  const fate =
    version === 5 ? 'is forgotten: the client was told' : 'is known: the client repeats it';
  test(`a publish that one receiver has stored and another could not ${fate}`, async () => {
    await using broker = await startBroker({ workers: 0 });
    const properties = version === 5 ? { sessionExpirySeconds: 100 } : {};
    const absent = await broker.connect({ clientId: 's', properties, version, cleanStart: false });
    await absent.subscribe('t', { qos: 2 });
    await broker.lose(absent, 's');
    const room = new WaitingRoom('m', true);
    void broker.broker.core.filters.add('t', 'g', deliveryTo(room, { qos: 2 }));
    const client = await broker.connect({ clientId: 'p', properties, version, cleanStart: false });
    client.sendPublish('t', 'half stored', { qos: 2, packetId: 12 });
    await pinged(client);
    await broker.flushed();
    const sessionNo = broker.session('p')?.journal?.stored.no ?? 0;
    const { journal } = broker.session('s') ?? {};
    const message = messageOn('t');
    message.passage = { sessionNo, packetId: 12 };
    const isKnown = (): unknown => journal?.hasPassed(message, deliveryTo(room));
    assert.equal(isKnown(), true);
    room.held.release(() => {
      throw new Error('Cannot store');
    });
    if (version === 5) assert.equal((await client.next('pubrec')).reasonCode, 0x83);
    else await client.expectClosed();
    await broker.flushed();
    assert.equal(isKnown(), version === 4);
  });
}

test('the packet id of a publish that is let go of when its session moves is not stored', async () => {
  await using broker = await startBroker({ workers: 0 });
  await broker.connect({ clientId: 'p', properties: { sessionExpirySeconds: 100 } });
  const session = broker.session('p');
  const { promise, resolve } = Promise.withResolvers<void>();
  const taken = session?.take(12, promise);
  session?.leaveTaken();
  // The session has stayed, and its client repeats the publish.
  const again = Promise.withResolvers<void>();
  const repeated = session?.take(12, again.promise);
  resolve();
  await taken;
  await broker.flushed();
  const ids = (): number[] => Array.from(session?.journal?.stored.taken() ?? [], ([id]) => id);
  assert.deepEqual(ids(), []);
  again.resolve();
  await repeated;
  assert.deepEqual(ids(), [12]);
});
