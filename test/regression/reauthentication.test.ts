// A client that authenticates again (MQTT 5, AUTH 0x19) has the rights of the new verdict and none of the
// old one: remembered answers, superuser, subscriptions, its will.

import assert from 'node:assert/strict';
import test from 'node:test';
import { type Overrides, startBroker, type TestBroker } from '#test/broker';
import type { ConnectOptions, RawClient } from '#test/raw-client';

const method = 'badge';
const notAuthorized = 0x87;

/** Whoever shows `root` is superuser; the others may what `rules` say. */
async function start(
  rules: { may: (action: string, topic: string) => boolean },
  overrides: Overrides = {},
): Promise<TestBroker> {
  const broker = await startBroker({
    workers: 0,
    zone: { enableAcl: true, aclNomatch: 'deny' },
    ...overrides,
  });
  broker.hook('client.enhanced_auth', ({ data }) => {
    const said = data?.toString() ?? '';
    const username = said === 'other' ? 'somebody else' : 'ann';
    return { allow: true, isSuperuser: said === 'root', username };
  });
  broker.hook('client.check_acl', (_client, action, topic) =>
    rules.may(action, topic) ? 'allow' : 'deny',
  );
  return broker;
}

async function connect(
  broker: TestBroker,
  badge: string,
  options: ConnectOptions = {},
): Promise<RawClient> {
  const authData = Buffer.from(badge);
  return broker.connect({
    clientId: 'c',
    ...options,
    properties: { authMethod: method, authData },
  });
}

function show(client: RawClient, badge: string): void {
  const properties = { authMethod: method, authData: Buffer.from(badge) };
  client.send({ type: 'auth', reasonCode: 0x19, properties });
}

async function again(client: RawClient, badge: string): Promise<void> {
  show(client, badge);
  assert.equal((await client.next('auth')).reasonCode, 0);
}

async function publishCode(client: RawClient, topic: string): Promise<number | undefined> {
  return (await client.publish(topic, 'x', { qos: 1 }))?.reasonCode;
}

const noSubscribers = 0x10;

test('a client whose first word is enough is connected once', async () => {
  await using broker = await start({ may: () => true });
  let connects = 0;
  broker.hook('client.connected', () => void connects++);
  const client = await connect(broker, 'guest');
  await client.publish('a', 'x', { qos: 1 });
  assert.equal(connects, 1);
});

test('who authenticates again without being superuser any more is asked about like others', async () => {
  await using broker = await start({ may: () => false });
  const client = await connect(broker, 'root');
  assert.equal(await publishCode(client, 'a'), noSubscribers);
  assert.equal(await publishCode(client, 'a'), noSubscribers);
  await again(client, 'guest');
  assert.equal(await publishCode(client, 'a'), notAuthorized);
  await again(client, 'root');
  assert.equal(await publishCode(client, 'a'), noSubscribers);
});

test('what was remembered of rights is asked for anew after a re-authentication', async () => {
  const rules = { may: (_action: string, _topic: string): boolean => true };
  await using broker = await start(rules);
  const client = await connect(broker, 'guest');
  for (let i = 0; i < 3; i++) assert.equal(await publishCode(client, 'a'), noSubscribers);
  rules.may = () => false;
  assert.equal(await publishCode(client, 'a'), noSubscribers, 'it is remembered');
  await again(client, 'guest');
  assert.equal(await publishCode(client, 'a'), notAuthorized);
  rules.may = () => true;
  assert.equal(await publishCode(client, 'a'), notAuthorized, 'it is remembered');
  await again(client, 'guest');
  assert.equal(await publishCode(client, 'a'), noSubscribers);
});

test('subscriptions that the new verdict does not allow end, and the client is told', async () => {
  await using broker = await start({ may: (_action, topic) => topic !== 'secret' });
  const client = await connect(broker, 'root');
  await client.subscribe('secret');
  await again(client, 'root');
  assert.equal(broker.session('c')?.subscriptions.size, 1);
  show(client, 'guest');
  assert.equal((await client.next('auth')).reasonCode, 0);
  await client.expectDisconnected(notAuthorized);
});

test('subscriptions stay after a re-authentication where rights are not rechecked', async () => {
  await using broker = await start(
    { may: (_action, topic) => topic !== 'secret' },
    { acl: { isRechecked: false } },
  );
  const client = await connect(broker, 'root');
  await client.subscribe('secret');
  await again(client, 'guest');
  assert.equal(await publishCode(client, 'a'), noSubscribers);
  assert.equal(broker.session('c')?.subscriptions.size, 1);
});

test('the will of a client that is superuser no more is not published against the rules', async () => {
  await using broker = await start({
    may: (action, topic) => action !== 'publish' || topic !== 'w',
  });
  const reader = await broker.connect({ clientId: 'reader' });
  await reader.subscribe('#');
  const client = await connect(broker, 'root', { will: { topic: 'w', payload: 'gone' } });
  await again(client, 'guest');
  await client.publish('a', 'last', { qos: 1 });
  client.destroy();
  await client.expectClosed();
  assert.equal((await reader.receive()).topic, 'a');
  await reader.expectNothing();
});

test('who authenticates again as somebody else is disconnected', async () => {
  await using broker = await start({ may: () => true });
  const client = await connect(broker, 'guest');
  show(client, 'other');
  await client.expectDisconnected(notAuthorized);
});
