// Topics under $SYS/ inside one broker or several workers: who may publish and read them, how the broker
// publishes them itself, and presence.

import assert from 'node:assert/strict';
import test from 'node:test';
import { tellPresence } from '#observe/presence';
import { publishSystem, type SystemEntry } from '#observe/system-publisher';
import { startBroker, type TestBroker } from '#test/broker';

const notAuthorized = 0x87;
const clients = '$SYS/brokers/broker@127.0.0.1/clients';

const entry = (topic: string, payload: string, more: Partial<SystemEntry> = {}): SystemEntry => ({
  topic,
  payload,
  qos: 0,
  retain: false,
  ...more,
});

function publishInside(broker: TestBroker, ...entries: readonly SystemEntry[]): void {
  for (const one of entries) publishSystem(broker.broker.core, one);
}

test('a client that publishes under $SYS/ is refused, and nobody gets it', async () => {
  await using broker = await startBroker({ zone: { enableAcl: true } });
  const reader = await broker.connect();
  await reader.subscribe('$SYS/#');
  const liar = await broker.connect();
  for (const qos of [0, 1, 2] as const) {
    const answer = await liar.publish('$SYS/brokers', 'lie', { qos, retain: true });
    assert.equal(answer?.reasonCode, qos === 0 ? undefined : notAuthorized);
  }
  await liar.publish('$SYS/x', 'lie', { properties: { userProperties: [['a', 'b']] } });
  // The broker has published there, so that the topic is one that the router knows.
  publishInside(broker, entry('$SYS/known', 'true'));
  assert.deepEqual(await reader.receivePayloads(1), ['true']);
  await liar.publish('$SYS/known', 'lie');
  const answer = await liar.publish('$SYS/known', 'lie', { qos: 1 });
  assert.equal(answer?.reasonCode, notAuthorized);
  await reader.expectNothing();
  const later = await broker.connect();
  await later.subscribe('$SYS/#');
  await later.expectNothing();
});

test('before MQTT 5 a publish under $SYS/ is acknowledged and goes nowhere', async () => {
  await using broker = await startBroker();
  const reader = await broker.connect();
  await reader.subscribe('$SYS/#');
  const liar = await broker.connect({ version: 4 });
  for (const qos of [0, 1, 2] as const) await liar.publish('$SYS/x', 'lie', { qos });
  await liar.expectNothing();
  await reader.expectNothing();
});

test('a will under $SYS/ is refused', async () => {
  await using broker = await startBroker();
  const liar = await broker.open();
  const { reasonCode } = await liar.connect({ will: { topic: '$SYS/x', payload: 'lie' } });
  assert.equal(reasonCode, notAuthorized);
});

test('what a client publishes under its mountpoint is no system topic', async () => {
  await using broker = await startBroker();
  broker.hook('client.authenticate', () => ({ allow: true, mountpoint: 'tenant/' }));
  const client = await broker.connect();
  await client.subscribe('$SYS/#');
  const answer = await client.publish('$SYS/x', 'its own', { qos: 1 });
  assert.equal(answer?.reasonCode, 0);
  await client.find('publish', ({ topic }) => topic === '$SYS/x');
});

for (const workers of [0, 3]) {
  test(`what the broker publishes under $SYS/ counts neither as sent nor as dropped, ${workers} workers`, async () => {
    await using broker = await startBroker({ workers });
    publishInside(broker, entry('$SYS/nobody', 'there'));
    const reader = await broker.connect({ worker: workers === 0 ? 0 : 2 });
    await reader.subscribe('$SYS/#', { qos: 1 });
    publishInside(broker, entry('$SYS/a', '1'), entry('$SYS/b', '2', { qos: 1 }));
    assert.deepEqual(await reader.receivePayloads(2), ['1', '2']);
    for (const key of ['messages/sent', 'messages/dropped', 'packets/publish/sent']) {
      assert.equal(broker.metric(key), 0, key);
    }
    await reader.subscribe('a');
    await reader.publish('a', 'counted');
    await reader.receive();
    assert.equal(broker.metric('messages/sent'), 1);
  });
}

test('a retained system message waits for those who subscribe later, and no other does', async () => {
  await using broker = await startBroker({ workers: 0 });
  publishInside(broker, entry('$SYS/kept', 'old', { retain: true }));
  publishInside(broker, entry('$SYS/kept', 'new', { retain: true }), entry('$SYS/passing', 'x'));
  const reader = await broker.connect();
  await reader.subscribe('$SYS/#');
  const kept = await reader.receive();
  assert.deepEqual([kept.topic, kept.payload.toString(), kept.retain], ['$SYS/kept', 'new', true]);
  await reader.expectNothing();
});

test('the gauge of retained messages is about those of clients', async () => {
  await using broker = await startBroker({ workers: 0, retainer: { maxRetainedMessages: 1 } });
  publishInside(broker, entry('$SYS/kept', 'a', { retain: true }));
  assert.equal(broker.stat('retained'), 0);
  const client = await broker.connect();
  await client.publish('kept', 'b', { qos: 1, retain: true });
  assert.equal(broker.stat('retained'), 1);
  await client.subscribe('kept');
  assert.deepEqual(await client.receivePayloads(1), ['b']);
});

test('hooks see system messages, may change and drop them, and a shared group gets one copy', async () => {
  await using broker = await startBroker({ workers: 0 });
  const members = [await broker.connect(), await broker.connect()];
  for (const member of members) await member.subscribe('$share/g/$SYS/#');
  broker.hook('message.publish', ({ topic }) =>
    topic === '$SYS/b' ? 'drop' : Promise.resolve({ payload: Buffer.from('changed') }),
  );
  publishInside(broker, entry('$SYS/a', 'a'), entry('$SYS/b', 'b'));
  const got = await Promise.any(members.map((member) => member.receivePayloads(1)));
  assert.deepEqual(got, ['changed']);
  for (const member of members) await member.expectNothing();
});

for (const workers of [0, 2]) {
  test(`presence of clients is told once to each reader, with ${workers} workers`, async () => {
    await using broker = await startBroker({ workers });
    for (const { core } of broker.brokers) tellPresence(core, 1);
    const readers = [];
    for (let worker = 0; worker < Math.max(1, workers); worker++) {
      const reader = await broker.connect({ worker, clientId: `reader-${worker}` });
      await reader.subscribe(`${clients}/device/+`, { qos: 1 });
      readers.push(reader);
    }
    const device = await broker.connect({
      clientId: 'device',
      username: 'someone',
      keepaliveSeconds: 60,
      cleanStart: false,
    });
    await device.disconnect();
    const ts = Math.floor(broker.broker.core.clock.nowMs() / 1000);
    for (const reader of readers) {
      const [came, went] = [await reader.receive(), await reader.receive()];
      assert.deepEqual(
        [came.topic, came.qos, came.retain],
        [`${clients}/device/connected`, 1, false],
      );
      assert.equal(
        came.payload.toString(),
        JSON.stringify({
          clientid: 'device',
          username: 'someone',
          ipaddress: '127.0.0.1',
          connack: 0,
          ts,
          proto_ver: 5,
          proto_name: 'MQTT',
          clean_start: false,
          keepalive: 60,
        }),
      );
      assert.equal(went.topic, `${clients}/device/disconnected`);
      const told = { clientid: 'device', username: 'someone', reason: 'normal', ts };
      assert.equal(went.payload.toString(), JSON.stringify(told));
      await reader.expectNothing();
    }
  });
}

test('presence names a client without username undefined, and knows why it was ended', async () => {
  await using broker = await startBroker({ workers: 0 });
  tellPresence(broker.broker.core, 0);
  const reader = await broker.connect();
  await reader.subscribe(`${clients}/+/disconnected`, { qos: 1 });
  await broker.connect({ clientId: 'odd+id#' });
  assert.ok(broker.kick('odd+id#'));
  const { topic, payload, qos } = await reader.receive();
  assert.equal(topic, `${clients}/odd%2Bid%23/disconnected`);
  assert.equal(qos, 0);
  const { clientid, username, reason } = JSON.parse(payload.toString()) as Record<string, string>;
  assert.deepEqual([clientid, username, reason], ['odd+id#', 'undefined', 'kicked']);
});

test('a client that was not let in is never present, and presence can be switched off', async () => {
  await using broker = await startBroker({ workers: 0 });
  const { core } = broker.broker;
  tellPresence(core, 1);
  const reader = await broker.connect();
  await reader.subscribe(`${clients}/#`, { qos: 1 });
  broker.hook('client.authenticate', () => ({ allow: false, reasonCode: notAuthorized }));
  const stranger = await broker.open();
  assert.equal((await stranger.connect({ clientId: 'stranger' })).reasonCode, notAuthorized);
  await reader.expectNothing();
  broker.unhook();
  tellPresence(core, undefined);
  assert.equal(core.hooks.has('client.connected'), false);
  await broker.connect();
  await reader.expectNothing();
});

test('presence that nobody reads leaves the express lane open and no route behind', async () => {
  await using broker = await startBroker({ workers: 0 });
  const { core } = broker.broker;
  tellPresence(core, 1);
  assert.ok(core.express.isOpen);
  const asked: string[] = [];
  const routeTo = core.router.routeTo.bind(core.router);
  core.router.routeTo = (topic) => {
    asked.push(topic);
    return routeTo(topic);
  };
  const device = await broker.connect();
  await device.disconnect();
  assert.deepEqual(asked, []);
});
