// Ways around authentication and access control that MQTT brokers have had, as far as the core decides
// them: what the hooks are asked, and that a refusal leaves nothing behind.

import assert from 'node:assert/strict';
import test from 'node:test';
import { recheckRights } from '#core/recheck';
import { startBroker, type TestBroker } from '#test/broker';

const notAuthorized = 0x87;

/** Publishing to and subscribing under `open/` is allowed, nothing else. Remembers the questions. */
async function startGuarded(): Promise<{ broker: TestBroker; asked: string[] }> {
  const broker = await startBroker({ zone: { enableAcl: true }, acl: { isCached: false } });
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
  await using broker = await startBroker({
    zone: { enableAcl: true, maxTopicAlias: 5 },
    acl: { isCached: false },
  });
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

const lasting = { clientId: 's', cleanStart: false, properties: { sessionExpirySeconds: 100 } };

test('a right that is taken away ends a live subscription (CVE-2021-34434)', async () => {
  await using broker = await startBroker({ zone: { enableAcl: true } });
  let isRevoked = false;
  broker.hook('client.check_acl', (_, __, topic) =>
    isRevoked && topic === 'secret' ? 'deny' : 'allow',
  );
  const client = await broker.connect(lasting);
  await client.subscribe(['secret', 'open'], { qos: 2 });
  isRevoked = true;
  for (const { core } of broker.brokers) await recheckRights(core);
  await client.expectDisconnected(notAuthorized);
  const again = await broker.connect(lasting);
  const writer = await broker.connect();
  for (const { core } of broker.brokers) core.rights.forgetAll();
  broker.hook(
    'client.check_acl',
    (_, action) => (action === 'publish' ? 'allow' : 'ignore'),
    'w',
    9,
  );
  await writer.publish('secret', 'no', { qos: 2 });
  await writer.publish('open', 'yes', { qos: 2 });
  assert.deepEqual(await again.receivePayloads(1), ['yes']);
  await again.expectNothing();
});

test('what waits for an absent client is not sent to it when it has lost the right meanwhile (CVE-2021-34434)', async () => {
  for (const qos of [1, 2] as const) {
    await using broker = await startBroker({ zone: { enableAcl: true } });
    let isRevoked = false;
    broker.hook('client.check_acl', (_, action, topic) =>
      isRevoked && action === 'subscribe' && topic === 'secret' ? 'deny' : 'allow',
    );
    const client = await broker.connect(lasting);
    await client.subscribe(['secret', 'open'], { qos });
    await client.disconnect();
    const writer = await broker.connect();
    await writer.publish('secret', 'no', { qos });
    await writer.publish('open', 'yes', { qos });
    isRevoked = true;
    const again = await broker.connect(lasting);
    assert.equal(again.connack?.sessionPresent, true);
    assert.deepEqual(await again.receivePayloads(1), ['yes']);
    await again.expectNothing();
  }
});

test("a retained message does not outlive its publisher's right to it (CVE-2018-12546)", async () => {
  await using broker = await startBroker({ zone: { enableAcl: true } });
  let isRevoked = false;
  broker.hook('client.check_acl', () => 'allow');
  broker.hook('message.check_retained', ({ username }) =>
    isRevoked && username === 'mallory' ? 'deny' : 'allow',
  );
  for (const username of ['mallory', 'alice']) {
    const writer = await broker.connect({ username });
    await writer.publish(`from/${username}`, username, { qos: 1, retain: true });
  }
  isRevoked = true;
  const reader = await broker.connect();
  await reader.subscribe('from/#', { qos: 1 });
  assert.deepEqual(await reader.receivePayloads(1), ['alice']);
  await reader.expectNothing();
});

test('a will is not published for a client that has lost the right to it (mosquitto#3552)', async () => {
  await using broker = await startBroker({ zone: { enableAcl: true } });
  let isRevoked = false;
  broker.hook('client.check_acl', (_, action) =>
    isRevoked && action === 'publish' ? 'deny' : 'allow',
  );
  const reader = await broker.connect();
  await reader.subscribe('will');
  const client = await broker.connect({ clientId: 'c', will: { topic: 'will', payload: 'x' } });
  isRevoked = true;
  for (const { core } of broker.brokers) core.rights.forgetAll();
  await broker.lose(client, 'c');
  await reader.expectNothing();
});
