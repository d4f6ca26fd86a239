// Overload: a client that does not read costs itself its QoS 0 messages and nobody anything else; over
// the budget of the node publishers are not read and newcomers refused, and afterwards everything goes
// on with nothing lost that was acknowledged.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Broker } from '#core/broker';
import type { Channel } from '#core/channel';
import { EventLog } from '#core/event-log-fixture';
import type { Pressure } from '#core/pressure';
import { type Overrides, startBroker, type TestBroker } from '#test/broker';
import type { RawClient } from '#test/raw-client';
import { settled, until } from './event-turns.ts';
import { frames, publishFrame } from './publish-frame.ts';

const sampleMs = 250;
/** An episode is over after twenty calm samples. */
const episodeEndMs = 20 * sampleMs;

function channelOf(broker: TestBroker, clientId: string): Channel {
  const channel = [...broker.channels()].find(({ client }) => client?.clientId === clientId);
  assert.ok(channel !== undefined, `Cannot find "${clientId}": it is not connected`);
  return channel;
}

const pressureOf = (broker: TestBroker): Pressure => broker.broker.core.flusher.pressure;

const startSmall = (budgetBytes: number, zone: Overrides['zone'] = {}): Promise<TestBroker> =>
  startBroker({ node: { memoryBudget: { bytes: budgetBytes } }, zone });

/** A subscriber that acknowledges nothing, so that what is published to it waits. */
async function slowSubscriber(broker: TestBroker): Promise<RawClient> {
  const client = await broker.connect({ clientId: 'slow', properties: { receiveMaximum: 100 } });
  await client.subscribe('t', { qos: 1 });
  return client;
}

function numbered(count: number, payloadBytes: number, firstId = 1): Buffer {
  return frames(count, (i) =>
    publishFrame('t', `${i}`.padEnd(payloadBytes), { qos: 1, packetId: firstId + i }),
  );
}

/** Time passes until `look` is content; between the samples the event loop does what there is to do. */
async function letTimePass(
  broker: TestBroker,
  what: string,
  look: () => boolean,
  deadlineMs = 20_000,
): Promise<void> {
  const endMs = performance.now() + deadlineMs;
  while (!look()) {
    if (performance.now() > endMs)
      throw new Error(`Cannot see ${what}: not after ${deadlineMs} ms`);
    broker.advance(sampleMs);
    await settled();
  }
}

/** Every message, acknowledged as it comes. */
function receiveAll(client: RawClient, count: number): { payloads: string[]; done: Promise<void> } {
  const payloads: string[] = [];
  const receive = async (): Promise<void> => {
    while (payloads.length < count) {
      const { packetId, payload } = await client.find('publish');
      client.ack('puback', packetId);
      payloads.push(payload.toString().trim());
    }
  };
  return { payloads, done: receive() };
}

const numbers = (count: number): string[] => Array.from({ length: count }, (_, i) => `${i}`);

test('a flood to a client that does not read stays within its bound, costs it its QoS 0 messages, and nobody else anything', async () => {
  const maxOutboxBytes = 65_536;
  await using broker = await startBroker({ zone: { maxOutboxBytes } });
  const dropped = new Set<string>();
  broker.hook('message.dropped', ({ qos }, reason, clientId) => {
    dropped.add(`QoS ${qos} ${reason} ${clientId}`);
  });
  const stalled = await broker.connect({ clientId: 'stalled' });
  await stalled.subscribe('flood', { qos: 1 });
  stalled.socket.pause();
  const { outbox } = channelOf(broker, 'stalled');
  const [third, teller, flooder] = [
    await broker.connect(),
    await broker.connect(),
    await broker.connect(),
  ];
  await third.subscribe('other');
  const chunk = frames(100, () => publishFrame('flood', Buffer.alloc(1000, 'x')));
  let outboxBytesMost = 0;
  for (let i = 0; i < 200; i++) {
    flooder.send(chunk);
    if (i % 40 === 0) await flooder.publish('flood', `important ${i}`, { qos: 1 });
    else await flooder.publish('behind the chunk');
    await teller.publish('other', `${i}`);
    assert.deepEqual(await third.receivePayloads(1), [`${i}`]);
    outboxBytesMost = Math.max(outboxBytesMost, outbox.bytes);
  }
  assert.ok(outboxBytesMost > maxOutboxBytes / 2, `the flood has filled ${outboxBytesMost} bytes`);
  assert.ok(outboxBytesMost <= maxOutboxBytes, `the outbox held ${outboxBytesMost} bytes`);
  const heldBytes = pressureOf(broker).held.outboxes;
  assert.ok(heldBytes > 0 && heldBytes <= 4 * maxOutboxBytes, `it holds ${heldBytes} bytes`);
  assert.deepEqual(
    [...dropped].filter((what) => !what.includes('no_subscribers')),
    ['QoS 0 outbox_full stalled'],
  );
  stalled.socket.resume();
  for (const i of [0, 40, 80, 120, 160]) {
    const { packetId } = await stalled.find(
      'publish',
      ({ payload }) => payload.toString() === `important ${i}`,
    );
    stalled.ack('puback', packetId);
  }
  await until('nothing held', () => pressureOf(broker).held.total === 0);
});

test('over the budget publishers are not read, and afterwards go on with nothing lost', async () => {
  const count = 8000;
  await using broker = await startSmall(4_000_000, { maxMqueueLen: 0 });
  const slow = await slowSubscriber(broker);
  const writer = await broker.connect({ clientId: 'writer' });
  writer.send(numbered(count, 1000));
  const { transport } = channelOf(broker, 'writer');
  await until('the writer paused', () => transport.isPaused);
  assert.equal(broker.metric('overload/paused'), 1);
  const received = broker.metric('messages/received');
  assert.ok(received < count, 'all was read before the budget was over');
  await settled();
  assert.equal(broker.metric('messages/received'), received, 'a paused client is read');
  const other = await broker.connect();
  await other.subscribe('nothing');
  await other.expectNothing();
  const { payloads, done } = receiveAll(slow, count);
  await letTimePass(broker, 'every message', () => payloads.length === count);
  await done;
  assert.deepEqual(payloads, numbers(count));
  for (let i = 1; i <= count; i++) assert.equal((await writer.next('puback')).packetId, i);
  await until('nothing held', () => pressureOf(broker).held.total === 0);
  assert.equal(broker.metric('messages/dropped'), 0);
});

test('at the budget new clients are refused, those that are there stay, and later ones are let in', async () => {
  await using broker = await startSmall(1_000_000, { maxMqueueLen: 0 });
  const slow = await slowSubscriber(broker);
  const writers = [await broker.connect(), await broker.connect()];
  const large = publishFrame('t', Buffer.alloc(300_000), { qos: 1, packetId: 1 });
  writers[0]?.send(frames(3, () => large));
  await until('the first paused', () => pressureOf(broker).isPausing);
  assert.equal(pressureOf(broker).isRefusing, false);
  await broker.connect();
  writers[1]?.send(large);
  const isRefusing = (one: Broker): boolean => one.core.flusher.pressure.isRefusing;
  await letTimePass(broker, 'refusing', () => broker.brokers.every(isRefusing));
  for (const [version, code] of [
    [3, 3],
    [4, 3],
    [5, 0x89],
  ] as const) {
    const newcomer = await broker.open(version);
    const connack = await newcomer.connect({ clientId: `new ${version}` });
    assert.equal(connack.reasonCode, code);
    const words = 'Cannot connect: the broker is overloaded, try again later';
    if (version === 5) assert.equal(connack.properties.reasonString, words);
    await newcomer.expectClosed();
  }
  assert.equal(broker.metric('overload/refused'), 3);
  const { done } = receiveAll(slow, 4);
  await done;
  await until('nothing held', () => pressureOf(broker).held.total === 0);
  broker.advance(sampleMs);
  await broker.expectService();
});

test('overload is one alarm and one line of the log per episode and level', async () => {
  const node = { memoryBudget: { bytes: 1_000_000 } };
  // The alarms and the log of one broker.
  await using broker = await startBroker({ node, zone: { maxMqueueLen: 0 }, workers: 0 });
  const { core } = broker.broker;
  const log = new EventLog();
  core.log.warn = log.warn.bind(log);
  core.log.info = log.info.bind(log);
  const slow = await slowSubscriber(broker);
  const writer = await broker.connect();
  for (let up = 0; up < 3; up++) {
    writer.send(numbered(1, 900_000));
    await until('pausing', () => pressureOf(broker).isPausing);
    await receiveAll(slow, 1).done;
    await until('nothing held', () => pressureOf(broker).held.total === 0);
    broker.advance(sampleMs);
    assert.equal(pressureOf(broker).isPausing, false);
  }
  assert.deepEqual(
    core.alarms.present().map(({ name }) => name),
    ['overload'],
  );
  broker.advance(episodeEndMs);
  assert.deepEqual(core.alarms.present(), []);
  assert.deepEqual(
    core.alarms.history().map(({ name, details }) => [name, details['budgetBytes']]),
    [['overload', 1_000_000]],
  );
  const told = log.names.filter((name) => /^(alarm|overload)\./.test(name));
  assert.deepEqual(told, ['alarm.raised', 'overload.pausing', 'alarm.cleared', 'overload.over']);
  assert.equal(core.metrics.get('overload/episodes'), 1);
});

for (const [where, budgetBytes] of [
  ['over the budget', 1_000_000],
  ['far over the budget', 100_000],
] as const) {
  test(`a client that publishes to itself ${where} gets everything and waits for nothing`, async () => {
    const count = 1500;
    await using broker = await startSmall(budgetBytes, { maxMqueueLen: 0 });
    const client = await broker.connect({ clientId: 'self', properties: { receiveMaximum: 50 } });
    await client.subscribe('t', { qos: 1 });
    const { payloads, done } = receiveAll(client, count);
    client.send(numbered(count, 1000));
    const { transport } = channelOf(broker, 'self');
    await until('it paused', () => transport.isPaused);
    await letTimePass(broker, 'every message', () => payloads.length === count);
    await done;
    assert.deepEqual(payloads, numbers(count));
    assert.equal(broker.metric('messages/dropped'), 0);
  });
}

test('a client that is paused for its publishes outlives its keepalive, and has it anew when it is read', async () => {
  await using broker = await startSmall(1_000_000);
  const { held } = pressureOf(broker);
  const other = await broker.connect({ keepaliveSeconds: 0 });
  const client = await broker.connect({ clientId: 'patient', keepaliveSeconds: 4 });
  held.messages += 2_000_000;
  broker.advance(sampleMs);
  client.sendPublish('t', 'x');
  const { transport } = channelOf(broker, 'patient');
  await until('it paused', () => transport.isPaused);
  // The next look at its keepalive is at 60 s, just after it is read again.
  broker.advance(59_000);
  assert.equal(channelOf(broker, 'patient').state, 'open');
  held.messages = 0;
  broker.advance(sampleMs);
  assert.equal(transport.isPaused, false);
  broker.advance(5000);
  assert.equal(channelOf(broker, 'patient').state, 'open', 'it was given no time');
  broker.advance(2000);
  await client.expectDisconnected(0x8d);
  await other.expectNothing();
});

test('a paused client that leaves is forgotten', async () => {
  await using broker = await startSmall(1_000_000);
  const pressure = pressureOf(broker);
  const client = await broker.connect({ clientId: 'gone' });
  pressure.held.messages += 2_000_000;
  broker.advance(sampleMs);
  client.sendPublish('t', 'x');
  await until('it paused', () => pressure.pausedCount === 1);
  broker.kick('gone');
  assert.equal(pressure.pausedCount, 0);
  pressure.held.messages = 0;
});

test('a client whose publishes wait for the store in thousands is not read until they are fewer', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({ clientId: 'eager' });
  const channel = channelOf(broker, 'eager');
  const flushes = Array.from({ length: 4096 }, () => Promise.withResolvers<void>());
  for (const [i, { promise }] of flushes.entries()) {
    assert.equal(channel.transport.isPaused, false);
    channel.acknowledge('puback', i + 1, 0, promise);
  }
  assert.ok(channel.transport.isPaused);
  for (const { resolve } of flushes.slice(0, 1000)) resolve();
  await settled();
  assert.ok(channel.transport.isPaused);
  for (const { resolve } of flushes) resolve();
  await until('reading', () => !channel.transport.isPaused);
  for (let i = 1; i <= flushes.length; i++) {
    assert.equal((await client.next('puback')).packetId, i);
  }
  await client.expectNothing();
});

test('nothing is counted as held any more when every session has ended, however it ended', async () => {
  await using broker = await startBroker({ zone: { maxMqueueLen: 5, upgradeQos: false } });
  const writer = await broker.connect();
  const lasting = { sessionExpirySeconds: 60, receiveMaximum: 3 };
  const idle = await broker.connect({ clientId: 'idle', properties: lasting });
  const midway = await broker.connect({ clientId: 'midway', properties: lasting });
  const brief = await broker.connect({ clientId: 'brief', properties: { receiveMaximum: 3 } });
  const zero = await broker.connect({ clientId: 'zero', properties: lasting });
  for (const client of [idle, midway, brief]) {
    await client.subscribe(['t', '$share/g/s'], { qos: 2 });
  }
  await zero.subscribe('t');
  await broker.lose(zero, 'zero');
  for (const qos of [1, 2] as const) {
    for (let i = 0; i < 10; i++) {
      for (const topic of ['t', 's']) await writer.publish(topic, `${i}`, { qos });
    }
  }
  await writer.publish('t', 'x', { qos: 1, properties: { messageExpirySeconds: 1 } });
  const { packetId } = await midway.find('publish', ({ qos }) => qos === 1);
  midway.ack('puback', packetId);
  const second = await midway.find('publish', ({ qos }) => qos === 2);
  midway.ack('pubrec', second.packetId);
  await midway.find('pubrel');
  const heldMessages = (): number =>
    broker.brokers.reduce((sum, { core }) => sum + core.flusher.pressure.held.messages, 0);
  assert.ok(heldMessages() > 0);
  brief.destroy();
  await broker.lose(idle, 'idle');
  const back = await broker.connect({
    clientId: 'idle',
    cleanStart: false,
    properties: { ...lasting, maximumPacketSize: 20 },
  });
  await back.find('publish');
  await broker.lose(back, 'idle');
  await broker.connect({ clientId: 'midway', cleanStart: true });
  broker.advance(90_000);
  await until('the sessions gone', () => broker.sessionCount === 2);
  await until('nothing held', () => heldMessages() === 0);
  await letTimePass(broker, 'nothing in outboxes', () => pressureOf(broker).held.total === 0);
});
