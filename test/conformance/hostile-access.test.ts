// Ways around authentication and access control that MQTT brokers have had, as far as the core decides
// them: what the hooks are asked, and that a refusal leaves nothing behind.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker, type TestBroker } from '#test/broker';

const notAuthorized = 0x87;

/** Publishing to and subscribing under `open/` is allowed, nothing else. Remembers the questions. */
async function startGuarded(): Promise<{ broker: TestBroker; asked: string[] }> {
  const broker = await startBroker({ zone: { enableAcl: true } });
  const asked: string[] = [];
  broker.hook('client.check_acl', (_, action, topic) => {
    asked.push(`${action} ${topic}`);
    return topic.startsWith('open/') ? 'allow' : 'deny';
  });
  return { broker, asked };
}

test('wildcard subscription: access control is asked about the filter itself, and its no is final (CVE-2026-49186)', async () => {
  const { broker, asked } = await startGuarded();
  await using _ = broker;
  const client = await broker.connect();
  const filters = ['#', 'open/+', '+/secret', 'secret', '$share/g/secret', '$share/g/open/x'];
  const { reasonCodes } = await client.subscribe(filters, { qos: 1 });
  const no = notAuthorized;
  assert.deepEqual(reasonCodes, [no, 1, no, no, no, 1]);
  assert.deepEqual(asked, [
    'subscribe #',
    'subscribe open/+',
    'subscribe +/secret',
    'subscribe secret',
    'subscribe secret',
    'subscribe open/x',
  ]);
  assert.deepEqual((await client.unsubscribe('#', 'secret')).reasonCodes, [0x11, 0x11]);
});

test('a publish that is not allowed is answered with 0x87, reaches nobody and is not retained', async () => {
  const { broker } = await startGuarded();
  await using _ = broker;
  const codes: (number | undefined)[] = [];
  const client = await broker.connect();
  broker.hook(
    'client.check_acl',
    (__, action) => (action === 'subscribe' ? 'allow' : 'ignore'),
    'reader',
    9,
  );
  await client.subscribe('#', { qos: 2 });
  for (const qos of [0, 1, 2] as const) {
    codes.push((await client.publish('secret', 'x', { qos, retain: true }))?.reasonCode);
  }
  assert.deepEqual(codes, [undefined, notAuthorized, notAuthorized]);
  await client.expectNothing();
  await client.subscribe('secret');
  await client.expectNothing();
});

test('acl_deny_action = disconnect ends the connection with 0x87', async () => {
  await using broker = await startBroker({
    zone: { enableAcl: true, aclNomatch: 'deny', aclDenyAction: 'disconnect' },
  });
  for (const qos of [0, 1, 2] as const) {
    const client = await broker.connect();
    client.sendPublish('a', '', { qos });
    await client.expectDisconnected(notAuthorized);
  }
});

test('a will to a topic that its client may not publish to is refused, and never published (mosquitto#3552)', async () => {
  const { broker, asked } = await startGuarded();
  await using _ = broker;
  const client = await broker.open();
  const connack = await client.connect({ will: { topic: 'secret', payload: 'x', retain: true } });
  assert.equal(connack.reasonCode, notAuthorized);
  assert.deepEqual(await client.expectClosed(), []);
  assert.deepEqual(asked, ['publish secret']);
  await broker.connect({ will: { topic: 'open/will' } });
});

test('a client that is refused does not take over the session of the one whose id it used (CVE-2026-6564)', async () => {
  await using broker = await startBroker();
  broker.hook('client.authenticate', ({ password }) =>
    password?.toString() === 'right' ? { allow: true } : { allow: false, reasonCode: 0x86 },
  );
  const right = { clientId: 'owner', username: 'u', password: Buffer.from('right') };
  const owner = await broker.connect({ ...right, properties: { sessionExpirySeconds: 100 } });
  await owner.subscribe('a', { qos: 1 });
  const thief = await broker.open();
  const connack = await thief.connect({ ...right, password: Buffer.from('wrong') });
  assert.equal(connack.reasonCode, 0x86);
  assert.deepEqual(await thief.expectClosed(), []);
  await owner.publish('a', 'still here', { qos: 1 });
  assert.deepEqual(await owner.receivePayloads(1), ['still here']);
});

test('topic aliases do not hide a topic from access control', async () => {
  await using broker = await startBroker({ zone: { enableAcl: true, maxTopicAlias: 5 } });
  const asked: string[] = [];
  broker.hook('client.check_acl', (_, __, topic) => {
    asked.push(topic);
    return topic === 'secret' ? 'deny' : 'allow';
  });
  const client = await broker.connect();
  const alias = { qos: 1, properties: { topicAlias: 1 } } as const;
  await client.publish('open', '', alias);
  await client.publish('secret', '', alias);
  assert.equal((await client.publish('', '', alias))?.reasonCode, notAuthorized);
  assert.deepEqual(asked, ['open', 'secret', 'secret']);
});
