import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker, type TestBroker } from '#test/broker';
import { SlowEngine } from '#test/slow-engine';
import { type MessageVerbs, messageVerbs, type PublishOrder } from './message-verbs.ts';

const lasting = { sessionExpirySeconds: 1000 };

function verbsOf(broker: TestBroker): MessageVerbs {
  return messageVerbs({ broker: broker.broker });
}

function order(topic: string, payload: string, rest: Partial<PublishOrder> = {}): PublishOrder {
  const bytes = new TextEncoder().encode(payload);
  return { topic, payload: bytes, qos: 0, retain: false, clientId: undefined, ...rest };
}

test('a published order goes through hooks to subscribers, in the name that it was given', async () => {
  await using broker = await startBroker({ workers: 0 });
  const { publish } = verbsOf(broker);
  const client = await broker.connect({});
  await client.subscribe('t/#', { qos: 1 });
  const seen: string[] = [];
  broker.hook('message.publish', ({ clientId, topic }) => {
    seen.push(`${clientId} ${topic}`);
    return topic === 't/drop' ? 'drop' : { payload: Buffer.from('changed') };
  });
  assert.equal(await publish(order('t/1', 'x', { clientId: 'ann', qos: 1 })), 1);
  assert.equal(await publish(order('t/drop', 'x')), 0);
  assert.equal(await publish(order('nobody', 'x')), 0);
  assert.deepEqual(await client.receivePayloads(1), ['changed']);
  const node = broker.broker.core.settings.node.name;
  assert.deepEqual(seen, ['ann t/1', `${node} t/drop`, `${node} nobody`]);
  await client.expectNothing();
});

test('a published order keeps count of the rules that it has gone through', async () => {
  await using broker = await startBroker({ workers: 0 });
  const seen: number[] = [];
  broker.hook('message.publish', ({ hops = -1 }) => void seen.push(hops));
  await verbsOf(broker).publish(order('t', 'x', { hops: 3 }));
  await verbsOf(broker).publish(order('t', 'x'));
  assert.deepEqual(seen, [3, 0]);
});

test('a published order keeps its properties, bytes of another thread included', async () => {
  await using broker = await startBroker({ workers: 0 });
  const client = await broker.connect({});
  await client.subscribe('t');
  const properties = { correlationData: new Uint8Array([1, 2]) as Buffer, contentType: 'text' };
  await verbsOf(broker).publish(order('t', 'x', { properties: structuredClone(properties) }));
  const { properties: got } = await client.receive();
  assert.deepEqual(got.correlationData, Buffer.from([1, 2]));
  assert.equal(got.contentType, 'text');
});

test('a published order is confirmed when the store has it, and fails when that refuses', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ workers: 0, engine });
  const client = await broker.connect({ clientId: 's', properties: lasting });
  await client.subscribe('t', { qos: 1 });
  const other = await broker.connect({});
  await broker.lose(client, 's');
  await broker.flushed();
  engine.hold();
  let isDone = false;
  const published = verbsOf(broker)
    .publish(order('t', 'x', { qos: 1 }))
    .finally(() => {
      isDone = true;
    });
  published.catch(() => undefined);
  await other.expectNothing();
  assert.equal(isDone, false);
  engine.fail();
  await assert.rejects(published, /disk is full/);
  engine.pass();
});

test('a topic that is none is not published', async () => {
  await using broker = await startBroker({ workers: 0 });
  await assert.rejects(verbsOf(broker).publish(order('a/#', 'x')), /Cannot publish to "a\/#"/);
});

test('subscribing for a connected client sends it what is retained and what comes', async () => {
  await using broker = await startBroker({ workers: 0 });
  const { publish, subscribe } = verbsOf(broker);
  await publish(order('t/kept', 'kept', { retain: true }));
  const client = await broker.connect({ clientId: 'c' });
  const told: unknown[] = [];
  broker.hook('session.subscribed', ({ clientId }, subscription) => {
    told.push([clientId, subscription]);
  });
  assert.equal(await subscribe('c', 't/#', 1), 'ok');
  const first = await client.receive();
  assert.deepEqual([first.payload.toString(), first.retain], ['kept', true]);
  await publish(order('t/new', 'new', { qos: 2 }));
  const second = await client.receive();
  assert.deepEqual([second.payload.toString(), second.qos], ['new', 1]);
  const options = { qos: 1, noLocal: false, retainAsPublished: false, retainHandling: 0 };
  assert.deepEqual(told, [['c', { filter: 't/#', ...options, isNew: true }]]);
  assert.equal(broker.stat('subscriptions'), 1);
});

test('subscribing for an absent client queues what comes, and outlives the process', async () => {
  const engine = new SlowEngine();
  {
    await using broker = await startBroker({ workers: 0, engine });
    const { publish, subscribe } = verbsOf(broker);
    const client = await broker.connect({ clientId: 's', properties: lasting });
    await broker.lose(client, 's');
    const told: unknown[] = [];
    broker.hook('session.subscribed', (...args) => void told.push(args));
    assert.equal(await subscribe('s', 't', 1), 'ok');
    assert.deepEqual(told, [], 'there is no client to tell of');
    assert.equal(await publish(order('t', 'while away', { qos: 1 })), 1);
  }
  await using broker = await startBroker({ workers: 0, engine });
  const again = await broker.connect({ clientId: 's', cleanStart: false, properties: lasting });
  assert.deepEqual(await again.receivePayloads(1), ['while away']);
});

test('subscribing again changes the QoS and leaves what else the client wants', async () => {
  await using broker = await startBroker({ workers: 0 });
  const { subscribe } = verbsOf(broker);
  const client = await broker.connect({ clientId: 'c' });
  await client.subscribe('t', { qos: 0, noLocal: true, properties: { subscriptionIds: [7] } });
  assert.equal(await subscribe('c', 't', 2), 'ok');
  const subscription = broker.session('c')?.subscriptions.get('t');
  assert.equal(subscription?.qos, 2);
  assert.equal(subscription?.noLocal, true);
  assert.equal(subscription?.subscriptionId, 7);
});

test('subscribing obeys the mountpoint and the limits of the zone of the client', async () => {
  const zone = {
    mountpoint: 'm/%c/',
    maxSubscriptions: 2,
    maxTopicLevels: 2,
    maxQosAllowed: 1,
    wildcardSubscription: false,
  } as const;
  await using broker = await startBroker({ workers: 0, zone });
  const { publish, subscribe, unsubscribe } = verbsOf(broker);
  const client = await broker.connect({ clientId: 'c' });
  assert.equal(await subscribe('c', 'a/+', 0), 'bad_topic');
  assert.equal(await subscribe('c', 'a/b/c', 0), 'bad_topic');
  assert.equal(await subscribe('c', 'a/#/b', 0), 'bad_topic');
  assert.equal(await subscribe('c', 'a', 2), 'ok');
  assert.equal(broker.session('c')?.subscriptions.get('a')?.qos, 1);
  assert.equal(await subscribe('c', '$queue/b', 1), 'ok');
  assert.equal(await subscribe('c', 'c', 1), 'bad_topic', 'the third');
  assert.equal(await subscribe('c', 'a', 1), 'ok', 'not a third');
  await publish(order('m/c/a', 'mine'));
  await publish(order('m/c/b', 'shared'));
  assert.deepEqual(await client.receivePayloads(2), ['mine', 'shared']);
  assert.equal(await unsubscribe('c', '$share/$queue/b'), 'ok');
  assert.deepEqual([...(broker.session('c')?.subscriptions.keys() ?? [])], ['a']);
});

test('shared subscriptions are refused where the zone has none', async () => {
  await using broker = await startBroker({ workers: 0, zone: { sharedSubscription: false } });
  await broker.connect({ clientId: 'c' });
  assert.equal(await verbsOf(broker).subscribe('c', '$share/g/t', 0), 'bad_topic');
});

test('unsubscribing ends what comes and is told; what was not subscribed is as good', async () => {
  await using broker = await startBroker({ workers: 0 });
  const { publish, unsubscribe } = verbsOf(broker);
  const client = await broker.connect({ clientId: 'c' });
  await client.subscribe('t');
  const told: unknown[] = [];
  broker.hook('session.unsubscribed', ({ clientId }, filter) => void told.push([clientId, filter]));
  assert.equal(await unsubscribe('c', 't'), 'ok');
  assert.equal(await unsubscribe('c', 't'), 'ok');
  assert.equal(await unsubscribe('c', 'a#'), 'bad_topic');
  assert.equal(await publish(order('t', 'x')), 0);
  await client.expectNothing();
  assert.deepEqual(told, [['c', 't']]);
});

test('there is nothing to subscribe where there is no session', async () => {
  await using broker = await startBroker({ workers: 0 });
  const { subscribe, unsubscribe } = verbsOf(broker);
  assert.equal(await subscribe('nobody', 't', 0), 'no_session');
  assert.equal(await unsubscribe('nobody', 't'), 'no_session');
});

test('what the store refuses is as if it had not been asked', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ workers: 0, engine });
  const { subscribe, unsubscribe } = verbsOf(broker);
  const client = await broker.connect({ clientId: 's', properties: lasting });
  await client.subscribe('kept', { qos: 1 });
  await broker.flushed();
  engine.fail();
  for (const change of [
    () => subscribe('s', 'new', 1),
    () => subscribe('s', 'kept', 2),
    () => unsubscribe('s', 'kept'),
  ]) {
    const refused = assert.rejects(change(), /disk is full/);
    // After a failure the store tries again when some time has passed.
    broker.advance(2000);
    await refused;
  }
  engine.pass();
  const subscriptions = broker.session('s')?.subscriptions;
  assert.deepEqual([...(subscriptions?.keys() ?? [])], ['kept']);
  assert.equal(subscriptions?.get('kept')?.qos, 1);
});

test('a session on its way to another worker says so', async () => {
  await using broker = await startBroker({ workers: 0 });
  const { subscribe } = verbsOf(broker);
  const client = await broker.connect({ clientId: 's', properties: lasting });
  await broker.lose(client, 's');
  const session = broker.session('s');
  assert.ok(session);
  session.leaving = {} as NonNullable<typeof session.leaving>;
  assert.equal(await subscribe('s', 't', 0), 'moving');
  session.leaving = undefined;
  assert.equal(await subscribe('s', 't', 0), 'ok');
});

test('of several workers each is asked for its own clients, and a message crosses by itself', async () => {
  await using broker = await startBroker({ workers: 2 });
  const asking = broker.workers?.workers.asking;
  assert.ok(asking);
  await asking.anywhere('publish', [order('t/kept', 'kept', { retain: true, qos: 1 })]);
  for (const worker of [0, 1]) {
    const clientId = `c${worker}`;
    const client = await broker.connect({ clientId, worker });
    assert.equal(await asking.atClient(clientId, 'subscribe', [clientId, 't/#', 1]), 'ok');
    assert.deepEqual(await client.receivePayloads(1), ['kept']);
    assert.equal(await asking.anywhere('publish', [order('t/1', 'x', { qos: 1 })]), 1);
    assert.deepEqual(await client.receivePayloads(1), ['x']);
    assert.equal(await asking.atClient(clientId, 'unsubscribe', [clientId, 't/#']), 'ok');
    assert.equal(await asking.anywhere('publish', [order('t/1', 'x', { qos: 1 })]), 0);
    await client.expectNothing();
  }
  assert.equal(await asking.atClient('nobody', 'subscribe', ['nobody', 't', 0]), undefined);
});
