// A client that comes back: what was in flight is sent first, within the window it announces now, and
// acknowledgements of what it got on the connection before neither widen nor leak that window.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Properties } from '#wire/packet';
import { startBroker, type TestBroker } from '#test/broker';
import type { RawClient } from '#test/raw-client';
import { SlowEngine } from '#test/slow-engine';
import { settled } from './event-turns.ts';

/**
 * A client `s` that got `payloads` at QoS 1, acknowledged none, and came back with `properties`. To the
 * same worker: in another one, as after a restart, what was not sent again is not known yet.
 */
async function comeBack(
  broker: TestBroker,
  payloads: readonly string[],
  properties: Properties = {},
): Promise<{ client: RawClient; writer: RawClient; ids: number[] }> {
  const worker = 0;
  const durable = { sessionExpirySeconds: 100 };
  const before = await broker.connect({ clientId: 's', properties: durable, worker });
  await before.subscribe('t', { qos: 1 });
  const writer = await broker.connect();
  const ids: number[] = [];
  for (const payload of payloads) {
    await writer.publish('t', payload, { qos: 1 });
    ids.push((await before.next('publish')).packetId);
  }
  await broker.lose(before, 's');
  const client = await broker.connect({
    clientId: 's',
    cleanStart: false,
    properties: { ...durable, ...properties },
    worker,
  });
  return { client, writer, ids };
}

test('[MQTT-4.6.0-1] a new message does not overtake a backlog over the bound of the outbox', async () => {
  await using broker = await startBroker({ zone: { maxOutboxBytes: 4096 } });
  const backlog = Array.from({ length: 10 }, (_, i) => `${i}`.padEnd(1000));
  const { client, writer } = await comeBack(broker, backlog);
  await writer.publish('t', 'new', { qos: 1 });
  const got: string[] = [];
  // Without acknowledgements: nothing but the outbox may hold anything up.
  for (let i = 0; i < 11; i++) got.push((await client.next('publish')).payload.toString());
  assert.deepEqual(got, [...backlog, 'new']);
});

test('[MQTT-3.3.4-9] a late acknowledgement of what was not sent again opens no place in the window', async () => {
  await using broker = await startBroker();
  const { client, ids } = await comeBack(broker, ['0', '1', '2', '3', '4'], { receiveMaximum: 1 });
  const again = await client.next('publish');
  assert.deepEqual([again.packetId, again.dup], [ids[0], true]);
  client.ack('puback', ids[1] as number);
  await client.expectNothing();
  client.ack('puback', ids[0] as number);
  assert.equal((await client.next('publish')).packetId, ids[2]);
});

test('late acknowledgements leak no place in the window: new messages are delivered', async () => {
  await using broker = await startBroker();
  const { client, writer, ids } = await comeBack(broker, ['0', '1', '2', '3', '4'], {
    receiveMaximum: 1,
  });
  client.ack('puback', ids[1] as number);
  client.ack('puback', ids[3] as number);
  const got: string[] = [];
  for (const wanted of [ids[0], ids[2], ids[4]]) {
    const publish = await client.receive();
    assert.equal(publish.packetId, wanted);
    got.push(publish.payload.toString());
  }
  assert.deepEqual(got, ['0', '2', '4']);
  for (const payload of ['new', 'newer']) {
    await writer.publish('t', payload, { qos: 1 });
    assert.deepEqual(await client.receivePayloads(1), [payload]);
  }
  await client.expectNothing();
  assert.equal(broker.session('s')?.out.window.inflight.size, 0);
});

test('[MQTT-3.3.4-7] a QoS 2 publish that waits for the store counts once against the receive maximum', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ engine, zone: { receiveMaximum: 4 } });
  const client = await broker.connect({ properties: { sessionExpirySeconds: 100 } });
  await client.subscribe('t', { qos: 2 });
  engine.hold();
  const writer = await broker.connect();
  for (let i = 1; i <= 4; i++) writer.sendPublish('t', `${i}`, { qos: 2, packetId: i });
  await writer.expectNothing();
  engine.pass();
  for (let i = 1; i <= 4; i++) assert.equal((await writer.next('pubrec')).packetId, i);
  await settled();
  writer.sendPublish('t', 'one too many', { qos: 2, packetId: 5 });
  await writer.expectDisconnected(0x93);
});
