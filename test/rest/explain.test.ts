import assert from 'node:assert/strict';
import test from 'node:test';
import { explainPublish, explainSubscribe } from '#admin/explain';
import { publishTree, subscribeTree } from '#admin/explain-tree';
import { startBroker, type TestBroker } from '../helpers/broker.ts';
import { startManaged } from '../helpers/managed.ts';
import { RawClient } from '../helpers/raw-client.ts';
import { workersOf } from './trace-fixture.ts';

const properties = { sessionExpirySeconds: 1000 };
const publish = { topic: 't', qos: 1, retain: false, payloadBytes: 1 } as const;

const partsOf = (broker: TestBroker) => ({
  workers: workersOf(broker),
  settings: broker.broker.core.settings,
});

for (const workers of [0, 2]) {
  test(`explain lists receivers with what each of them would get: ${workers} workers`, async () => {
    await using broker = await startBroker({
      workers,
      zone: { maxMqueueLen: 1, mqueueStoreQos0: false },
    });
    const from = await broker.connect({ clientId: 'from', username: 'u' });
    const live = await broker.connect({ clientId: 'live' });
    await live.subscribe(['t', '+'], { qos: 2 });
    const away = await broker.connect({ clientId: 'away', properties });
    await away.subscribe('#', { qos: 1 });
    await broker.lose(away, 'away');
    const low = await broker.connect({ clientId: 'low', properties });
    await low.subscribe('t', { qos: 0 });
    await broker.lose(low, 'low');
    await from.publish('t', 'fills the queue', { qos: 1 });
    const parts = partsOf(broker);
    const said = await explainPublish(parts, { clientId: 'from' }, publish, 100);
    assert.deepEqual(
      said.receivers.map((row) => [
        row.client_id,
        row.filters.toSorted(),
        row.qos,
        row.connected,
        row.would,
        row.why,
        row.drops_oldest,
      ]),
      [
        ['away', ['#'], 1, false, 'queue', 'offline', true],
        ['live', ['+', 't'], 1, true, 'send', undefined, undefined],
        ['low', ['t'], 0, false, 'drop', 'qos0_offline', undefined],
      ],
    );
    assert.deepEqual(said.receivers[0]?.queue, {
      inflight: 0,
      window: 0,
      queued: 1,
      max: 1,
      full: true,
    });
    assert.deepEqual([said.count, said.dropped_because, said.missing], [3, undefined, undefined]);
    assert.deepEqual(said.client, {
      client_id: 'from',
      username: 'u',
      zone: 'external',
      mountpoint: '',
      ipaddress: '127.0.0.1',
      state: 'connected',
    });
    const short = await explainPublish(parts, { clientId: 'from' }, publish, 1);
    assert.deepEqual([short.count, short.receivers.length], [3, 1]);
    const none = await explainPublish(parts, { clientId: 'from' }, { ...publish, topic: '$x' }, 1);
    assert.equal(none.dropped_because, 'no_subscribers');
    assert.match(
      publishTree(said, 1),
      /^publish to t with QoS 1 by from \(u\), connected\n├─ acl: allow by off\n└─ receivers: 3\n {3}├─ away by #: queue \(offline, the oldest is dropped\), QoS 1, offline, inflight 0\/0, queued 1\/1\n/,
    );
  });

  test(`explain says who decides about access, and tells nobody: ${workers} workers`, async () => {
    const zone = { enableAcl: true, aclNomatch: 'deny' } as const;
    await using broker = await startBroker({ workers, zone });
    broker.hook('client.denied', () => assert.fail('told of a denial'), 'test-denied');
    const client = await broker.connect({ clientId: 'c' });
    const parts = partsOf(broker);
    const ask = async (topic: string) => {
      const said = await explainPublish(parts, { clientId: 'c' }, { ...publish, topic }, 100);
      return [said.acl, said.dropped_because];
    };
    assert.deepEqual(await ask('t'), [{ allow: false, by: 'nomatch' }, 'not_authorized']);
    broker.hook('client.check_acl', () => 'ignore', 'first', 2);
    broker.hook(
      'client.check_acl',
      async (_, action, topic) => (topic === 'yes' && action === 'publish' ? 'allow' : 'deny'),
      'second',
      1,
    );
    assert.deepEqual(await ask('yes'), [{ allow: true, by: 'second' }, 'no_subscribers']);
    assert.deepEqual(await ask('no'), [{ allow: false, by: 'second' }, 'not_authorized']);
    assert.deepEqual(await ask('$SYS/x'), [{ allow: false, by: 'system' }, 'not_authorized']);
    const subscribe = await explainSubscribe(parts, { clientId: 'c' }, 'yes', 1);
    assert.deepEqual(
      [subscribe.acl, subscribe.granted, subscribe.refused_because],
      [{ allow: false, by: 'second' }, undefined, 'not_authorized'],
    );
    await client.expectNothing();
  });

  test(`explain knows a session, a client that might connect, and nobody else: ${workers} workers`, async () => {
    await using broker = await startBroker({ workers, zone: { mountpoint: 'dev/%u' } });
    const parts = partsOf(broker);
    const away = await broker.connect({ clientId: 'away', username: 'u', properties });
    await away.subscribe('t', { qos: 1 });
    await broker.lose(away, 'away');
    const session = await explainPublish(parts, { clientId: 'away' }, publish, 100);
    assert.deepEqual([session.client.state, session.topic], ['session', 'dev/u/t']);
    assert.deepEqual(session.receivers[0]?.filters, ['dev/u/t']);
    const wish = { username: 'u', ip: '10.1.2.3' };
    const supposed = await explainPublish(parts, wish, publish, 100);
    assert.deepEqual(
      [supposed.client.state, supposed.client.ipaddress, supposed.topic, supposed.count],
      ['supposed', '10.1.2.3', 'dev/u/t', 1],
    );
    await assert.rejects(explainPublish(parts, { clientId: 'x' }, publish, 100), { code: 112 });
    await assert.rejects(explainPublish(parts, {}, publish, 100), { code: 107 });
    await assert.rejects(explainPublish(parts, { ...wish, zone: 'x' }, publish, 100), {
      code: 108,
    });
    await assert.rejects(explainPublish(parts, wish, { ...publish, topic: '#' }, 100), {
      code: 115,
    });
    await assert.rejects(explainSubscribe(parts, wish, 'a/#/b', 0), { code: 115 });
  });
}

test('explain shows what module.rewrite makes of a topic and a filter, and asks about the first', async () => {
  const rule = { number: 1, filter: 'm/x/#', regex: '^m/x/(.+)$', dest: 'm/y/$1' };
  await using broker = await startBroker({
    workers: 2,
    zone: { enableAcl: true, mountpoint: 'm/' },
    modules: { rewriteRules: [rule] },
  });
  const asked: string[] = [];
  broker.hook('client.check_acl', (_, action, topic) => {
    asked.push(`${action} ${topic}`);
    return 'allow';
  });
  const reader = await broker.connect({ clientId: 'reader' });
  await reader.subscribe('$share/g/x/+', { qos: 1 });
  asked.length = 0;
  const parts = partsOf(broker);
  const sent = await explainPublish(parts, { clientId: 'reader' }, { ...publish, topic: 'x/1' }, 9);
  assert.deepEqual(
    [sent.topic, sent.groups[0]?.filter, sent.hooks],
    ['m/y/1', 'm/y/+', ['rewrite']],
  );
  const wanted = await explainSubscribe(parts, { clientId: 'reader' }, '$share/g/x/+', 1);
  assert.deepEqual(
    [wanted.filter, wanted.topic, wanted.group, wanted.replaces, wanted.hooks],
    ['$share/g/y/+', 'm/y/+', 'g', true, ['rewrite']],
  );
  assert.deepEqual(asked, ['publish x/1', 'subscribe x/+']);
});

test('explain says what a zone refuses, and what becomes of a retained message', async () => {
  const zone = { maxQosAllowed: 1, maxTopicLevels: 2 } as const;
  await using broker = await startBroker({
    workers: 2,
    zone,
    retainer: { maxPayloadBytes: 10, maxRetainedMessages: 1 },
  });
  const client = await broker.connect({ clientId: 'c' });
  const parts = partsOf(broker);
  const ask = (change: object) =>
    explainPublish(parts, { clientId: 'c' }, { ...publish, ...change }, 100);
  assert.match((await ask({ qos: 2 })).dropped_because ?? '', /the highest allowed is 1/);
  assert.match((await ask({ topic: 'a/b/c' })).dropped_because ?? '', /the limit is 2/);
  assert.deepEqual((await ask({ retain: true })).retained, { would: 'kept' });
  assert.deepEqual((await ask({ retain: true, payloadBytes: 0 })).retained, { would: 'removed' });
  const large = await ask({ retain: true, payloadBytes: 11 });
  assert.deepEqual(large.retained, { would: 'refused', why: '11 bytes: the limit is 10' });
  await client.publish('r', 'x', { qos: 1, retain: true });
  assert.equal((await ask({ retain: true })).retained.would, 'refused');
  assert.equal((await ask({ retain: true, topic: 'r' })).retained.would, 'kept');
});

test('explain of a subscription says what is granted, which limits hold and what is retained', async () => {
  const zone = { maxQosAllowed: 1, maxSubscriptions: 2, wildcardSubscription: true } as const;
  await using broker = await startBroker({ workers: 2, zone });
  const client = await broker.connect({ clientId: 'c' });
  for (const topic of ['r/1', 'r/2', 's/1']) {
    await client.publish(topic, 'x', { qos: 1, retain: true });
  }
  await client.subscribe('a', { qos: 0 });
  const parts = partsOf(broker);
  const ask = (filter: string) => explainSubscribe(parts, { clientId: 'c' }, filter, 2);
  const one = await ask('r/+');
  assert.deepEqual(
    [one.granted, one.topic, one.replaces, one.subscriptions, one.retained],
    [1, 'r/+', false, { count: 1, max: 2 }, { count: 2, more: false }],
  );
  const shared = await ask('$share/g/r/+');
  assert.deepEqual([shared.group, shared.topic, shared.retained.count], ['g', 'r/+', 0]);
  await client.subscribe('b', { qos: 0 });
  assert.match((await ask('r/+')).refused_because ?? '', /[Qq]uota/);
  const again = await ask('b');
  assert.deepEqual([again.granted, again.replaces], [1, true]);
  assert.equal(
    subscribeTree(again, 2),
    [
      'subscribe to b with QoS 2 by c, connected',
      '├─ acl: allow by off',
      '├─ topic filter: b',
      '├─ granted: QoS 1, replaces the present one',
      '├─ subscriptions: 2, limit 2',
      '└─ retained messages: 0',
    ].join('\n'),
  );
  await client.expectNothing();
});

test('explain takes no turn of a shared subscription and names whom chance may take', async () => {
  for (const [strategy, size] of [
    ['round_robin', 1],
    ['hash', 1],
    ['random', 2],
  ] as const) {
    const settings = { sharedSubscriptionStrategy: strategy } as const;
    await using broker = await startBroker({ workers: 2, broker: settings });
    const members = [
      await broker.connect({ clientId: 'm0', worker: 0 }),
      await broker.connect({ clientId: 'm1', worker: 1 }),
    ];
    for (const member of members) await member.subscribe('$share/g/t', { qos: 1 });
    await broker.connect({ clientId: 'from', worker: 0 });
    const parts = partsOf(broker);
    const ask = async (): Promise<string[][]> => {
      const said = await explainPublish(parts, { clientId: 'from' }, publish, 100);
      assert.deepEqual(said.receivers, []);
      return said.groups.map(({ candidates }) => candidates.map((row) => row.client_id).toSorted());
    };
    const first = await ask();
    assert.equal(first[0]?.length, size, strategy);
    assert.deepEqual(await ask(), first);
  }
});

test('explain is served over HTTP and refuses what it does not understand', async () => {
  const settings = { allow_anonymous: 'true', acl_nomatch: 'allow' };
  await using managed = await startManaged({ workers: 2, settings });
  await using client = await RawClient.open(managed.mqttPort);
  await client.connect({ clientId: 'a/b' });
  await client.subscribe('t', { qos: 1 });
  const asked = { client_id: 'a/b', topic: 't', qos: 2, retain: true };
  const { body } = await managed.post('/explain/publish', asked);
  assert.equal(body.code, 0, JSON.stringify(body));
  const data = body.data as { receivers: { client_id: string; qos: number }[] };
  assert.deepEqual(
    data.receivers.map((row) => [row.client_id, row.qos]),
    [['a/b', 1]],
  );
  const subscribe = await managed.post('/explain/subscribe', { client_id: 'a/b', topic: 't' });
  assert.equal((subscribe.body.data as { replaces: boolean }).replaces, true);
  for (const [wish, code] of [
    [{ client_id: 'a/b' }, 107],
    [{ client_id: 'a/b', topic: 't', qos: 3 }, 108],
    [{ client_id: 'a/b', topic: 't/#' }, 115],
    [{ client_id: 'nobody', topic: 't' }, 112],
  ] as const) {
    assert.equal((await managed.post('/explain/publish', wish)).body.code, code);
  }
  await client.expectNothing();
});
