// The real broker on a disk that fills up: what needs the disk is refused in words, everything else goes
// on, and what was acknowledged is there whatever happens next.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { ProtocolVersion } from '#wire/packet';
import { Reason } from '#wire/reason-codes';
import { RawClient } from '#test/raw-client';
import { BrokerProcess, onlyListeners } from '../interop/broker-process.ts';
import { SmallDisk } from './small-disk.ts';

const expiry = { sessionExpirySeconds: 100_000 };
const body = 'x'.repeat(2000);
/** Nothing is dropped for want of room in a queue, and refusals would be seen. */
const sets = [
  ...onlyListeners('tcp'),
  'zone.external.max_mqueue_len=0',
  'zone.external.allow_anonymous=true',
  'log.level=info',
];

const qosOf = (number: number): 1 | 2 => (number % 2 === 0 ? 1 : 2);

async function connect(
  broker: BrokerProcess,
  clientId: string,
  version: ProtocolVersion = 5,
  isPersistent = false,
): Promise<RawClient> {
  const client = await RawClient.open(broker.port('tcp'), version);
  const properties = isPersistent && version === 5 ? expiry : {};
  const connack = await client.connect({ clientId, cleanStart: !isPersistent, properties });
  assert.equal(connack.reasonCode, 0, `Cannot connect "${clientId}"`);
  return client;
}

/** Leaves a session `absent` that wants everything below `d`. */
async function leaveAbsent(broker: BrokerProcess): Promise<void> {
  const client = await connect(broker, 'absent', 5, true);
  assert.deepEqual((await client.subscribe('d/#', { qos: 2 })).reasonCodes, [2]);
  await client.disconnect();
}

/** Publishes until the broker refuses. Answers the numbers it took. */
async function publishUntilRefused(client: RawClient, from: number): Promise<number[]> {
  for (const accepted: number[] = []; ; ) {
    const number = from + accepted.length;
    const ack = await client.publish('d/x', `${number} ${body}`, { qos: qosOf(number) });
    if ((ack?.reasonCode ?? 0) < 0x80) accepted.push(number);
    else {
      assert.equal(ack?.reasonCode, Reason.implementationSpecificError);
      assert.match(ack?.properties.reasonString ?? '', /store failed/);
      return accepted;
    }
    assert.ok(accepted.length < 100_000, 'the disk takes all');
  }
}

/** Answers the numbers, all of which the broker takes. */
async function publishAll(client: RawClient, from: number, count: number): Promise<number[]> {
  const numbers = Array.from({ length: count }, (_, i) => from + i);
  for (const number of numbers) {
    const ack = await client.publish('d/x', `${number} ${body}`, { qos: qosOf(number) });
    assert.equal(ack?.reasonCode, 0);
  }
  return numbers;
}

/** Before MQTT 5 a refusal is the end of the connection. Answers the numbers that were taken. */
async function publishUntilClosed(client: RawClient, from: number): Promise<number[]> {
  for (const accepted: number[] = []; ; ) {
    const number = from + accepted.length;
    const { packetId } = client.sendPublish('d/x', `${number} ${body}`, { qos: 1 });
    const puback = await client
      .find('puback', (ack) => ack.packetId === packetId)
      .catch(() => null);
    if (puback === null) return accepted;
    accepted.push(number);
  }
}

/** A client that needs no disk says something to itself at each QoS. */
async function expectService(client: RawClient): Promise<void> {
  for (const qos of [0, 1, 2] as const) await client.publish('clean', `${qos}`, { qos });
  assert.deepEqual(await client.receivePayloads(3), ['0', '1', '2']);
}

/** The numbers that the session `absent` is sent, each acknowledged, up to one that ends it. */
async function drain(broker: BrokerProcess, last: number): Promise<number[]> {
  const client = await connect(broker, 'absent', 5, true);
  assert.equal(client.connack?.sessionPresent, true);
  const numbers: number[] = [];
  while (numbers.at(-1) !== last) {
    numbers.push(Number.parseInt((await client.receive()).payload.toString(), 10));
  }
  await client.expectNothing();
  await client.disconnect();
  return numbers;
}

function alarms(broker: BrokerProcess, event: 'alarm.raised' | 'alarm.cleared'): number {
  return broker.events(event).filter((line) => line['alarm'] === 'store').length;
}

/**
 * Several workers have batches of their own: a small one of another may still find room, and clears the
 * alarm until the next is refused.
 */
function assertRaised(broker: BrokerProcess, times: number): void {
  const [raised, cleared] = [alarms(broker, 'alarm.raised'), alarms(broker, 'alarm.cleared')];
  if (Number(process.env['BROKER_NODE__WORKERS'] ?? 0) > 1) assert.ok(raised >= times);
  else assert.deepEqual([raised, cleared], [times, times - 1]);
}

test('a full disk refuses what needs it, and nothing else', async (t) => {
  using disk = SmallDisk.mount(8 * 1024 * 1024, t);
  if (disk === undefined) return;
  disk.fill(4 * 1024 * 1024);
  const { place } = disk;
  const killed = await BrokerProcess.start(sets, { place });
  await using _ = killed.program;
  await leaveAbsent(killed);
  const clean = await connect(killed, 'clean');
  await clean.subscribe('clean', { qos: 2 });
  const five = await connect(killed, 'five');
  const accepted = await publishUntilRefused(five, 1);
  const three = await connect(killed, 'three', 4);
  accepted.push(...(await publishUntilClosed(three, 50_000)));
  assert.ok(accepted.length > 100, 'the disk was full from the beginning');
  for (let i = 0; i < 3; i++) await publishUntilRefused(five, 0);
  await expectService(clean);
  await killed.event('alarm.raised');
  assertRaised(killed, 1);
  disk.empty();
  await killed.event('alarm.cleared');
  accepted.push(...(await publishAll(five, 100_000, 10)));
  disk.fill(0);
  accepted.push(...(await publishUntilRefused(five, 200_000)));
  await killed.event('alarm.raised');
  assertRaised(killed, 2);
  assert.deepEqual(await drain(killed, accepted.at(-1) as number), accepted);
  await expectService(clean);
  disk.empty();
  // There may have been room before: what was drained has left some.
  await killed.event('alarm.cleared');
  const later = await publishAll(five, 300_000, 50);
  killed.program.signal('SIGKILL');
  await killed.program.outcome();
  await using broker = await BrokerProcess.start(sets, { place });
  assert.deepEqual(await drain(broker, later.at(-1) as number), later);
});

test('a broker starts on a full disk, gives what is there, and stops in order', async (t) => {
  using disk = SmallDisk.mount(8 * 1024 * 1024, t);
  if (disk === undefined) return;
  disk.fill(4 * 1024 * 1024);
  const { place } = disk;
  const killed = await BrokerProcess.start(sets, { place });
  await using _ = killed.program;
  await leaveAbsent(killed);
  const accepted = await publishUntilRefused(await connect(killed, 'five'), 1);
  killed.program.signal('SIGKILL');
  await killed.program.outcome();
  // A few pages for a pid file and the like.
  disk.fill(64 * 1024);
  {
    await using broker = await BrokerProcess.start(sets, { place });
    assert.deepEqual(await publishUntilRefused(await connect(broker, 'five'), 0), []);
    assert.deepEqual(await drain(broker, accepted.at(-1) as number), accepted);
  }
  // What was acknowledged to it on the full disk is finished: nothing comes twice.
  await using broker = await BrokerProcess.start(sets, { place });
  const absent = await connect(broker, 'absent', 5, true);
  assert.equal(absent.connack?.sessionPresent, true);
  await absent.expectNothing();
});
