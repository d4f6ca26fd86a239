// Clients under a mountpoint, in one worker and in several: what they see of the world is what lies under
// it, and the world sees it with it. One client has none, by its username, and sees everything.

import assert from 'node:assert/strict';
import test from 'node:test';
import { type Overrides, startBroker, type TestBroker } from '#test/broker';
import type { RawClient } from '#test/raw-client';

const notValid = 0x85;
const notAuthorized = 0x87;

async function mountedBroker(mountpoint: string, more: Overrides = {}): Promise<TestBroker> {
  const { zone, ...rest } = more;
  const broker = await startBroker({ ...rest, zone: { mountpoint, ...zone } });
  broker.hook('client.authenticate', ({ username }) =>
    username === 'operator' ? { allow: true, mountpoint: '' } : 'ignore',
  );
  return broker;
}

const operator = { clientId: 'operator', username: 'operator' } as const;

async function receivedBy(client: RawClient, count: number): Promise<string[]> {
  const seen: string[] = [];
  for (let i = 0; i < count; i++) {
    const { topic, payload } = await client.receive();
    seen.push(`${topic}: ${payload.toString()}`);
  }
  return seen;
}

for (const workers of [0, 2]) {
  const among = `with ${workers} workers`;

  test(`clients of different mountpoints never meet, of the same they do, ${among}`, async () => {
    await using broker = await mountedBroker('tenant/%u', { workers });
    const outside = await broker.connect(operator);
    await outside.subscribe('#', { qos: 1 });
    const ann = await broker.connect({ clientId: 'ann-1', username: 'ann' });
    const other = await broker.connect({ clientId: 'ann-2', username: 'ann' });
    const ben = await broker.connect({ clientId: 'ben-1', username: 'ben' });
    for (const client of [ann, other, ben]) await client.subscribe(['#', '+/x'], { qos: 1 });
    for (const qos of [0, 1, 2] as const) await ann.publish('a/x', `q${qos}`, { qos });
    await ben.publish('b', 'of ben', { qos: 1 });
    const ofAnn = ['a/x: q0', 'a/x: q1', 'a/x: q2'];
    assert.deepEqual(await receivedBy(ann, 3), ofAnn);
    assert.deepEqual(await receivedBy(other, 3), ofAnn);
    assert.deepEqual(await receivedBy(ben, 1), ['b: of ben']);
    const all = ['tenant/ann/a/x: q0', 'tenant/ann/a/x: q1', 'tenant/ann/a/x: q2'];
    assert.deepEqual((await receivedBy(outside, 4)).sort(), [...all, 'tenant/ben/b: of ben']);
    await outside.publish('tenant/ben/from/outside', 'for ben', { qos: 1 });
    assert.deepEqual(await receivedBy(ben, 1), ['from/outside: for ben']);
    await ann.expectNothing();
    assert.deepEqual((await ann.unsubscribe('+/x', 'tenant/ann/#')).reasonCodes, [0, 0x11]);
  });

  test(`%c is a mountpoint for each client, and no name breaks out of it, ${among}`, async () => {
    await using broker = await mountedBroker('dev/%c/', { workers });
    const outside = await broker.connect(operator);
    await outside.subscribe('dev/+/up', { qos: 1 });
    const device = await broker.connect({ clientId: 'd1' });
    await device.publish('up', '1', { qos: 1 });
    // Levels that would lead out elsewhere are ordinary ones here.
    await device.publish('../up', '2', { qos: 1 });
    await device.publish('up', '3', { qos: 1 });
    assert.deepEqual(await receivedBy(outside, 2), ['dev/d1/up: 1', 'dev/d1/up: 3']);
    for (const clientId of ['+', '#', 'd1/x', 'a+b']) {
      const liar = await broker.open();
      const { reasonCode } = await liar.connect({ clientId });
      assert.equal(reasonCode, notValid, clientId);
    }
  });

  test(`a client without username lives under the literal %u, ${among}`, async () => {
    await using broker = await mountedBroker('%u/', { workers });
    const outside = await broker.connect(operator);
    await outside.subscribe('#', { qos: 1 });
    const nameless = await broker.connect({ clientId: 'n' });
    await nameless.publish('t', '1', { qos: 1 });
    assert.deepEqual(await receivedBy(outside, 1), ['%u/t: 1']);
  });

  test(`a will is published under the mountpoint, ${among}`, async () => {
    await using broker = await mountedBroker('tenant/%u/', { workers });
    const outside = await broker.connect(operator);
    await outside.subscribe('#', { qos: 1 });
    const reader = await broker.connect({ clientId: 'reader', username: 'ann' });
    await reader.subscribe('will', { qos: 1 });
    const will = { topic: 'will', payload: 'gone', qos: 1, retain: true } as const;
    const dying = await broker.connect({ clientId: 'dying', username: 'ann', will });
    await broker.lose(dying, 'dying');
    assert.deepEqual(await receivedBy(reader, 1), ['will: gone']);
    assert.deepEqual(await receivedBy(outside, 1), ['tenant/ann/will: gone']);
    const late = await broker.connect({ clientId: 'late', username: 'ann' });
    await late.subscribe('will');
    assert.equal((await late.receive()).retain, true);
  });

  test(`retained messages are kept and handed out under the mountpoint, ${among}`, async () => {
    await using broker = await mountedBroker('tenant/%u/', { workers });
    const ann = await broker.connect({ clientId: 'a', username: 'ann' });
    const ben = await broker.connect({ clientId: 'b', username: 'ben' });
    await ann.publish('state', 'of ann', { qos: 1, retain: true });
    await ben.publish('state', 'of ben', { qos: 1, retain: true });
    await ann.subscribe('#');
    assert.deepEqual(await receivedBy(ann, 1), ['state: of ann']);
    await ann.publish('state', '', { qos: 1, retain: true });
    assert.deepEqual(await receivedBy(ann, 1), ['state: ']);
    const outside = await broker.connect(operator);
    await outside.subscribe('tenant/#');
    assert.deepEqual(await receivedBy(outside, 1), ['tenant/ben/state: of ben']);
    await ann.expectNothing();
  });

  test(`a shared subscription is one of its mountpoint, ${among}`, async () => {
    const inTurn = { sharedSubscriptionStrategy: 'round_robin' } as const;
    await using broker = await mountedBroker('tenant/%u/', { workers, broker: inTurn });
    const members: RawClient[] = [];
    for (const [clientId, username] of [
      ['a1', 'ann'],
      ['a2', 'ann'],
      ['b1', 'ben'],
    ] as const) {
      const member = await broker.connect({ clientId, username });
      await member.subscribe(['$share/crew/work/+', '$queue/jobs'], { qos: 1 });
      members.push(member);
    }
    const [a1, a2, b1] = members as [RawClient, RawClient, RawClient];
    const outside = await broker.connect(operator);
    await outside.subscribe('$share/crew/tenant/ann/work/+', { qos: 1 });
    await b1.publish('work/1', 'for ben alone', { qos: 1 });
    assert.deepEqual(await receivedBy(b1, 1), ['work/1: for ben alone']);
    await outside.publish('tenant/ben/jobs', 'for the queue of ben', { qos: 1 });
    assert.deepEqual(await receivedBy(b1, 1), ['jobs: for the queue of ben']);
    // The three of that name share in turn, whatever they call the filter.
    for (let i = 0; i < 6; i++) await a1.publish('work/2', String(i), { qos: 1 });
    const got = [
      ...(await receivedBy(a1, 2)),
      ...(await receivedBy(a2, 2)),
      ...(await receivedBy(outside, 2)),
    ];
    const numbers = got.map((line) => line.replace(/^(tenant\/ann\/)?work\/2: /, ''));
    assert.deepEqual(numbers.sort(), ['0', '1', '2', '3', '4', '5']);
    await b1.expectNothing();
  });

  test(`access control is asked about names without mountpoint, ${among}`, async () => {
    const zone = { enableAcl: true, aclNomatch: 'deny' } as const;
    await using broker = await mountedBroker('tenant/%u/', { workers, zone });
    const asked: string[] = [];
    broker.hook('client.check_acl', ({ mountpoint }, action, topic) => {
      asked.push(`${mountpoint} ${action} ${topic}`);
      return topic.startsWith('yes') ? 'allow' : 'deny';
    });
    const open = await broker.open();
    const refused = await open.connect({ clientId: 'w', username: 'ann', will: { topic: 'no' } });
    assert.equal(refused.reasonCode, notAuthorized);
    const will = { topic: 'yes/will' };
    const client = await broker.connect({ clientId: 'c', username: 'ann', will });
    const { reasonCodes } = await client.subscribe(['yes/#', 'no/#', '$share/g/yes'], { qos: 1 });
    assert.deepEqual(reasonCodes, [1, notAuthorized, 1]);
    assert.equal((await client.publish('no/1', '', { qos: 1 }))?.reasonCode, notAuthorized);
    await client.publish('yes/1', 'allowed', { qos: 1 });
    assert.deepEqual(await receivedBy(client, 1), ['yes/1: allowed']);
    const actions = ['publish no', 'publish yes/will', 'subscribe yes/#', 'subscribe no/#'];
    const wanted = [...actions, 'subscribe yes', 'publish no/1', 'publish yes/1'];
    assert.deepEqual(
      asked,
      wanted.map((one) => `tenant/ann/ ${one}`),
    );
  });

  test(`a topic alias and a QoS 2 handshake work under a mountpoint, ${among}`, async () => {
    await using broker = await mountedBroker('m/', { workers, zone: { maxTopicAlias: 5 } });
    const reader = await broker.connect({
      clientId: 'reader',
      properties: { topicAliasMaximum: 5 },
    });
    await reader.subscribe('t', { qos: 2 });
    const writer = await broker.connect({ clientId: 'writer' });
    await writer.publish('t', 'named', { qos: 2, properties: { topicAlias: 3 } });
    await writer.publish('', 'by alias', { qos: 2, properties: { topicAlias: 3 } });
    const first = await reader.receive();
    const second = await reader.receive();
    assert.deepEqual([first.topic, first.payload.toString()], ['t', 'named']);
    assert.ok(second.topic === 't' || second.properties.topicAlias === first.properties.topicAlias);
    assert.equal(second.payload.toString(), 'by alias');
  });
}
