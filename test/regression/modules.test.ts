// The modules through real clients, in one worker and in several: what a new session is subscribed to
// without asking, and topics that become others.

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import test from 'node:test';
import type { ModuleSettings, RewriteRule } from '#config/settings';
import { recheckRights } from '#core/recheck';
import { type Overrides, startBroker, type TestBroker } from '#test/broker';
import type { RawClient } from '#test/raw-client';
import { SlowEngine } from '#test/slow-engine';
import { settled } from './event-turns.ts';
import { join, Lives } from './lives.ts';

const lasting = { cleanStart: false, properties: { sessionExpirySeconds: 1000 } } as const;

function withLines(...lines: ModuleSettings['subscriptions']): Overrides {
  return { modules: { subscriptions: lines } };
}

const rules: readonly RewriteRule[] = [
  { number: 1, filter: 'x/#', regex: '^x/y/(.+)$', dest: 'z/y/$1' },
  { number: 2, filter: 'bad/#', regex: '^bad/(.+)$', dest: '$1' },
];
const rewriting: Overrides = { modules: { rewriteRules: rules } };

async function receivedTopics(client: RawClient, count: number): Promise<string[]> {
  const topics: string[] = [];
  for (let i = 0; i < count; i++) topics.push((await client.receive()).topic);
  return topics;
}

function filtersOf(broker: TestBroker, clientId: string): string[] {
  return [...(broker.session(clientId)?.subscriptions.keys() ?? [])];
}

for (const workers of [0, 2]) {
  const among = `with ${workers} workers`;

  test(`a new session is subscribed when its client is told so, ${among}`, async () => {
    const lines = withLines({ topic: 'to/%c/#', qos: 1 }, { topic: 'user/%u', qos: 2 });
    await using broker = await startBroker({ ...lines, workers });
    const writer = await broker.connect({ clientId: 'writer' });
    for (let i = 0; i < 20; i++) {
      const reader = await broker.connect({ clientId: `r${i}`, username: 'ann', ...lasting });
      // At once: whoever publishes after the CONNACK reaches it, from whichever worker.
      writer.sendPublish(`to/r${i}/x`, 'direct');
      const { topic, qos } = await reader.receive();
      assert.deepEqual([topic, qos], [`to/r${i}/x`, 0]);
      await reader.disconnect();
    }
    assert.deepEqual(filtersOf(broker, 'r0'), ['to/r0/#', 'user/ann']);
    assert.deepEqual(filtersOf(broker, 'writer'), ['to/writer/#'], 'it has no username');
  });

  test(`its client can give such a subscription up, and it is not made again, ${among}`, async () => {
    await using broker = await startBroker({ ...withLines({ topic: 'all', qos: 1 }), workers });
    const first = await broker.connect({ clientId: 'c', ...lasting });
    await first.disconnect();
    const again = await broker.connect({ clientId: 'c', ...lasting });
    assert.equal(again.connack?.sessionPresent, true);
    assert.deepEqual(filtersOf(broker, 'c'), ['all']);
    await again.unsubscribe('all');
    await again.disconnect();
    const last = await broker.connect({ clientId: 'c', ...lasting });
    assert.deepEqual(filtersOf(broker, 'c'), []);
    await last.disconnect();
    await broker.connect({ clientId: 'c', cleanStart: true });
    assert.deepEqual(filtersOf(broker, 'c'), ['all'], 'a session of its own');
  });

  test(`shared subscriptions of the module share, ${among}`, async () => {
    const lines = withLines({ topic: '$share/crew/work/#', qos: 1 });
    await using broker = await startBroker({
      ...lines,
      workers,
      broker: { sharedSubscriptionStrategy: 'round_robin' },
    });
    const writer = await broker.connect({ clientId: 'writer' });
    const members = [writer];
    for (const clientId of ['m1', 'm2']) members.push(await broker.connect({ clientId }));
    for (let i = 0; i < 6; i++) await writer.publish('work/1', String(i), { qos: 1 });
    const got: string[] = [];
    for (const member of members) got.push(...(await member.receivePayloads(2)));
    assert.deepEqual(got.sort(), ['0', '1', '2', '3', '4', '5']);
  });

  test(`retained messages come behind the CONNACK, ${among}`, async () => {
    await using broker = await startBroker({ ...withLines({ topic: 'news/#', qos: 1 }), workers });
    const writer = await broker.connect({ clientId: 'writer' });
    await writer.publish('news/1', 'kept', { qos: 1, retain: true });
    const reader = await broker.connect({ clientId: 'reader', ...lasting });
    const { retain, payload } = await reader.receive();
    assert.deepEqual([retain, payload.toString()], [true, 'kept']);
  });

  test(`topics are rewritten for publishers and subscribers, ${among}`, async () => {
    await using broker = await startBroker({ ...rewriting, workers });
    const reader = await broker.connect({ clientId: 'reader' });
    const writer = await broker.connect({ clientId: 'writer' });
    const plain = await broker.connect({ clientId: 'plain' });
    await plain.subscribe('z/#');
    assert.deepEqual(
      (await reader.subscribe(['x/y/+', 'x/other'], { qos: 2 })).reasonCodes,
      [2, 2],
    );
    assert.deepEqual(filtersOf(broker, 'reader'), ['z/y/+', 'x/other']);
    for (const qos of [0, 1, 2] as const) await writer.publish('x/y/1', `q${qos}`, { qos });
    await writer.publish('z/y/2', 'as it is', { qos: 1 });
    await writer.publish('x/other', 'no match', { qos: 1 });
    for (const { topics, client } of [
      { client: reader, topics: ['z/y/1', 'z/y/1', 'z/y/1', 'z/y/2', 'x/other'] },
      { client: plain, topics: ['z/y/1', 'z/y/1', 'z/y/1', 'z/y/2'] },
    ]) {
      assert.deepEqual(await receivedTopics(client, topics.length), topics);
    }
    assert.deepEqual((await reader.unsubscribe('x/y/+')).reasonCodes, [0]);
    assert.deepEqual(filtersOf(broker, 'reader'), ['x/other']);
  });

  test(`a retained message is kept under its new name, and a shared filter is rewritten, ${among}`, async () => {
    await using broker = await startBroker({ ...rewriting, workers });
    const writer = await broker.connect({ clientId: 'writer' });
    await writer.publish('x/y/1', 'kept', { qos: 1, retain: true });
    const late = await broker.connect({ clientId: 'late' });
    await late.subscribe('x/#');
    await late.expectNothing();
    await late.subscribe('z/y/#');
    assert.deepEqual(await receivedTopics(late, 1), ['z/y/1']);
    await late.unsubscribe('z/y/#');
    const member = await broker.connect({ clientId: 'member' });
    await member.subscribe('$share/g/x/y/#', { qos: 1 });
    assert.deepEqual(filtersOf(broker, 'member'), ['$share/g/z/y/#']);
    await writer.publish('x/y/5', 'shared', { qos: 1 });
    assert.deepEqual(await receivedTopics(member, 1), ['z/y/5']);
    await writer.publish('x/y/1', '', { qos: 1, retain: true });
    await member.receive();
    await late.subscribe('z/y/#');
    await late.expectNothing();
  });

  test(`a will is rewritten, ${among}`, async () => {
    await using broker = await startBroker({ ...rewriting, workers });
    const reader = await broker.connect({ clientId: 'reader' });
    await reader.subscribe('#');
    const will = { topic: 'x/y/will', payload: 'gone', qos: 1, retain: true } as const;
    const dying = await broker.connect({ clientId: 'dying', will });
    await broker.lose(dying, 'dying');
    assert.deepEqual(await receivedTopics(reader, 1), ['z/y/will']);
    const late = await broker.connect({ clientId: 'late' });
    await late.subscribe('z/y/will');
    assert.equal((await late.receive()).retain, true);
  });

  test(`access rules are asked about the name that the client wrote, ${among}`, async () => {
    await using broker = await startBroker({ ...rewriting, workers, zone: { enableAcl: true } });
    const asked: string[] = [];
    broker.hook('client.check_acl', (_, action, topic) => {
      asked.push(`${action} ${topic}`);
      return topic.startsWith('z/') ? 'deny' : 'allow';
    });
    const client = await broker.connect();
    assert.deepEqual(
      (await client.subscribe(['x/y/#', 'z/y/#'], { qos: 1 })).reasonCodes,
      [1, 0x87],
    );
    await client.publish('x/y/1', 'yes', { qos: 1 });
    assert.deepEqual(await receivedTopics(client, 1), ['z/y/1']);
    assert.deepEqual(asked, ['subscribe x/y/#', 'subscribe z/y/#', 'publish x/y/1']);
  });

  test(`what would lead to a name of the broker stays as it is, ${among}`, async () => {
    await using broker = await startBroker({ ...rewriting, workers });
    const client = await broker.connect({ clientId: 'c' });
    await client.subscribe(['bad/$SYS/#', 'bad/$share/g/t']);
    assert.deepEqual(filtersOf(broker, 'c'), ['bad/$SYS/#', 'bad/$share/g/t']);
    await client.publish('bad/$SYS/brokers', 'a lie');
    assert.deepEqual(await receivedTopics(client, 1), ['bad/$SYS/brokers']);
  });
}

test('the CONNACK waits for the subscription to be on disk, and nothing overtakes it', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({
    ...withLines({ topic: 'a/#', qos: 1 }),
    engine,
    workers: 0,
  });
  const writer = await broker.connect({ clientId: 'writer' });
  engine.hold();
  const client = await broker.open();
  client.send({
    type: 'connect',
    version: 5,
    isBridge: false,
    keepaliveSeconds: 0,
    clientId: 'slow',
    ...lasting,
  });
  while (broker.session('slow')?.subscriptions.size !== 1) await settled();
  await writer.publish('a/1', 'early');
  await settled();
  assert.equal((client.socket as Socket).bytesRead, 0);
  engine.pass();
  assert.equal((await client.next()).type, 'connack');
  assert.equal((await client.receive()).payload.toString(), 'early');
});

test('what a crash left is as it was: the subscription of a session, and a will that is rewritten', async () => {
  await using lives = new Lives({
    modules: { rewriteRules: rules, subscriptions: [{ topic: 'z/y/#', qos: 1 }] },
  });
  const first = await lives.start();
  const away = await join(first, 'away', false);
  await away.disconnect();
  await join(first, 'cut', false, { will: { topic: 'x/y/will', payload: 'gone', qos: 1 } });
  const second = await lives.crashAndStart();
  const back = await join(second, 'away', true);
  assert.deepEqual(filtersOf(second, 'away'), ['z/y/#']);
  assert.deepEqual(await receivedTopics(back, 1), ['z/y/will']);
});

test('a store that fails costs the subscription its durability, not the client its connection', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({
    ...withLines({ topic: 'a/#', qos: 1 }),
    engine,
    workers: 0,
  });
  const writer = await broker.connect({ clientId: 'writer' });
  engine.fail();
  const client = await broker.connect({ clientId: 'c', ...lasting });
  engine.pass();
  await writer.publish('a/1', 'arrives');
  assert.equal((await client.receive()).payload.toString(), 'arrives');
  broker.takeFaults();
});

test('a subscription of the module is past rights, limits of subscriptions, and hooks', async () => {
  const lines = withLines({ topic: 'one', qos: 2 }, { topic: 'two/+', qos: 2 });
  const zone = {
    enableAcl: true,
    aclNomatch: 'deny',
    maxSubscriptions: 1,
    wildcardSubscription: false,
    maxQosAllowed: 1,
  } as const;
  await using broker = await startBroker({ ...lines, zone, workers: 0 });
  broker.hook('client.subscribe', () => assert.fail('nobody subscribed'));
  const told: string[] = [];
  broker.hook('session.subscribed', (_, { filter, qos }) => void told.push(`${filter} ${qos}`));
  await broker.connect({ clientId: 'c' });
  assert.deepEqual(filtersOf(broker, 'c'), ['one', 'two/+']);
  assert.deepEqual(told, ['one 1', 'two/+ 1']);
});

test('a subscription of the module stays when rights change, and when its client comes back', async () => {
  const lines = withLines({ topic: 'given/#', qos: 1 });
  const zone = { enableAcl: true, aclNomatch: 'deny' } as const;
  await using broker = await startBroker({ ...lines, zone, workers: 2 });
  const client = await broker.connect({ clientId: 'c', ...lasting });
  for (const { core } of broker.brokers) {
    assert.equal((await recheckRights(core)).subscriptions, 0);
  }
  assert.deepEqual(filtersOf(broker, 'c'), ['given/#']);
  await client.disconnect();
  await broker.connect({ clientId: 'c', ...lasting });
  assert.deepEqual(filtersOf(broker, 'c'), ['given/#']);
});

test('modules that are off set no hook', async () => {
  await using broker = await startBroker({ workers: 0 });
  const { lists } = broker.broker.core.hooks;
  for (const hook of [
    'message.publish',
    'client.subscribe',
    'client.unsubscribe',
    'session.created',
  ] as const) {
    assert.equal(lists[hook], null, hook);
  }
  assert.equal(broker.broker.core.express.isOpen, true);
});
