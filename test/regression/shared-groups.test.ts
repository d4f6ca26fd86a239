// Shared subscriptions: two spellings of one group, a group as one receiver, and what becomes of
// messages when members come and go.

import assert from 'node:assert/strict';
import test from 'node:test';
import { clientInfo, deliveryTo, FakeLink, messageOn, sessionBench } from '#core/session-fixture';
import { startBroker } from '#test/broker';

for (const [kept, other] of [
  ['$queue/t', '$share/$queue/t'],
  ['$share/$queue/t', '$queue/t'],
] as const) {
  test(`"${kept}" and "${other}" are one subscription`, async () => {
    await using broker = await startBroker();
    const client = await broker.connect({ clientId: 'c' });
    await client.subscribe(kept);
    await client.subscribe(other);
    assert.equal(broker.session('c')?.subscriptions.size, 1);
    const writer = await broker.connect();
    await writer.publish('t', 'once');
    assert.deepEqual(await client.receivePayloads(1), ['once']);
    assert.deepEqual((await client.unsubscribe(kept)).reasonCodes, [0]);
    assert.deepEqual((await client.unsubscribe(other)).reasonCodes, [0x11]);
    await writer.publish('t', 'for nobody');
    await client.expectNothing();
  });
}

for (const filter of ['$queue/t', '$share/g/t']) {
  test(`[MQTT-3.8.3-4] no-local on the shared subscription "${filter}" is a protocol error`, async () => {
    await using broker = await startBroker();
    const client = await broker.connect();
    await assert.rejects(client.subscribe(filter, { noLocal: true }));
    await client.expectDisconnected(0x82);
  });
}

test('a member that publishes to its own group loses nothing where loops are ignored', async () => {
  await using broker = await startBroker({
    zone: { ignoreLoopDeliver: true },
    broker: { sharedSubscriptionStrategy: 'round_robin' },
  });
  const publishing = await broker.connect({ version: 4 });
  const other = await broker.connect({ version: 4 });
  await publishing.subscribe('$share/g/t');
  await other.subscribe('$share/g/t');
  for (const payload of ['0', '1', '2', '3']) await publishing.publish('t', payload);
  const got = [...(await publishing.receivePayloads(2)), ...(await other.receivePayloads(2))];
  assert.deepEqual(got.sort(), ['0', '1', '2', '3']);
});

test('a member that unsubscribes hands what it was not sent to the others', async () => {
  await using broker = await startBroker();
  const leaving = await broker.connect({ properties: { receiveMaximum: 1 } });
  await leaving.subscribe('$share/g/t', { qos: 1 });
  const writer = await broker.connect();
  for (const payload of ['0', '1', '2']) await writer.publish('t', payload, { qos: 1 });
  const staying = await broker.connect();
  await staying.subscribe('$share/g/t', { qos: 1 });
  await leaving.unsubscribe('$share/g/t');
  assert.deepEqual(await staying.receivePayloads(2), ['1', '2']);
  await staying.expectNothing();
  assert.deepEqual(await leaving.receivePayloads(1), ['0']);
});

test('a message of a group is not handed on after it has expired', async () => {
  await using broker = await startBroker({ broker: { sharedSubscriptionStrategy: 'sticky' } });
  const absent = await broker.connect({
    clientId: 'absent',
    properties: { sessionExpirySeconds: 10 },
  });
  await absent.subscribe('$share/g/t', { qos: 1 });
  await broker.lose(absent, 'absent');
  const writer = await broker.connect();
  const properties = { messageExpirySeconds: 2 };
  await writer.publish('t', 'expires', { qos: 1, properties });
  await writer.publish('t', 'stays', { qos: 1 });
  const staying = await broker.connect();
  await staying.subscribe('$share/g/t', { qos: 1 });
  broker.advance(15_000);
  assert.deepEqual(await staying.receivePayloads(1), ['stays']);
  await staying.expectNothing();
});

test('a group whose last member leaves while a message is under way does not stop the others', async () => {
  await using broker = await startBroker();
  const member = await broker.connect({ clientId: 'member' });
  await member.subscribe('$share/g1/t');
  await member.subscribe('$share/g2/t');
  const single = await broker.connect();
  await single.subscribe('t');
  broker.hook(
    'message.deliver',
    () => {
      broker.kick('member');
      return undefined;
    },
    'guard',
  );
  const writer = await broker.connect();
  assert.equal((await writer.publish('t', 'x', { qos: 1 }))?.reasonCode, 0);
  assert.deepEqual(await single.receivePayloads(1), ['x']);
});

test('a copy of QoS 0 that goes back to its group no longer holds up younger ones', () => {
  const { session } = sessionBench({ mqueueStoreQos0: true });
  const group = { name: 'g', filter: 't', redispatch: () => undefined };
  void session.deliver(messageOn('t', { qos: 1 }), deliveryTo(session, { qos: 1 }));
  void session.deliver(messageOn('t', { qos: 1 }), deliveryTo(session, { qos: 0, group }));
  const link = new FakeLink();
  session.attach(link, clientInfo('s', 5), 1);
  session.out.pump();
  assert.equal(session.out.isClearForQos0, false);
  assert.equal(session.takeUnsent(() => true).length, 1);
  assert.equal(session.out.isClearForQos0, true);
});
