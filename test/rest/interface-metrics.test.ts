// What each counter of the interface counts, told by a conversation whose packets are known one by one;
// the same in one thread and in several, wherever its clients are.

import assert from 'node:assert/strict';
import test from 'node:test';
import { type Managed, startManaged } from '#test/managed';
import { RawClient } from '#test/raw-client';

const node = 'broker@127.0.0.1';
const settings = { allow_anonymous: 'true', acl_nomatch: 'allow' };

async function metricsOf(managed: Managed): Promise<Record<string, number>> {
  return (await managed.get(`/nodes/${node}/metrics`)).body.data as Record<string, number>;
}

async function join(managed: Managed, clientId: string): Promise<RawClient> {
  const client = await RawClient.open(managed.mqttPort);
  await client.connect({ clientId });
  return client;
}

/** 6 readers, so that the kernel gives some to each worker, and one who writes to them and to nobody. */
async function converse(managed: Managed): Promise<void> {
  const readers = await Promise.all(
    Array.from({ length: 6 }, (_, i) => join(managed, `reader-${i}`)),
  );
  for (const reader of readers) await reader.subscribe(['t/#', 'gone'], { qos: 2 });
  for (const reader of readers) await reader.unsubscribe('gone');
  const writer = await join(managed, 'writer');
  for (const qos of [0, 1, 2] as const) await writer.publish(`t/${qos}`, 'x', { qos });
  await writer.publish('nobody', 'x', { qos: 1 });
  await writer.publish('kept', 'x', { qos: 1, retain: true });
  for (const reader of readers) await reader.receivePayloads(3);
  writer.ack('puback', 999);
  writer.ack('pubcomp', 998);
  writer.send({ type: 'pingreq' });
  await writer.find('pingresp');
  for (const client of [...readers, writer]) await client.disconnect();
}

/** By key of the interface; those that are not named are 0, and bytes are looked at by themselves. */
const expected: Readonly<Record<string, number>> = {
  'packets/connect': 7,
  'packets/connack': 7,
  'packets/subscribe': 6,
  'packets/suback': 6,
  'packets/unsubscribe': 6,
  'packets/unsuback': 6,
  // Behind the message with QoS 0, and the last word of the writer.
  'packets/pingreq': 2,
  'packets/pingresp': 2,
  'packets/disconnect/received': 7,
  'packets/publish/received': 5,
  'packets/publish/sent': 18,
  'packets/puback/received': 7,
  'packets/puback/sent': 3,
  'packets/puback/missed': 1,
  'packets/pubrec/received': 6,
  'packets/pubrec/sent': 1,
  'packets/pubrel/received': 1,
  'packets/pubrel/sent': 6,
  'packets/pubcomp/received': 7,
  'packets/pubcomp/sent': 1,
  'packets/pubcomp/missed': 1,
  'packets/received': 7 + 6 + 6 + 2 + 7 + 5 + 7 + 6 + 1 + 7,
  'packets/sent': 7 + 6 + 6 + 2 + 18 + 3 + 1 + 6 + 1,
  'messages/received': 5,
  'messages/sent': 18,
  'messages/qos0/received': 1,
  'messages/qos1/received': 3,
  'messages/qos2/received': 1,
  'messages/qos0/sent': 6,
  'messages/qos1/sent': 6,
  'messages/qos2/sent': 6,
  'messages/retained': 1,
  // Nobody was subscribed: a retained one is kept, and still reached nobody.
  'messages/dropped': 2,
};

for (const workers of [0, 2]) {
  test(`metrics count each packet and message once (${workers} workers)`, async () => {
    await using managed = await startManaged({ workers, settings });
    const before = await metricsOf(managed);
    assert.ok(Object.values(before).every((count) => count === 0));
    await converse(managed);
    const { 'bytes/received': received, 'bytes/sent': sent, ...rest } = await metricsOf(managed);
    assert.ok(Number(received) > 100 && Number(sent) > 100);
    const counted = Object.entries(rest).filter(([, count]) => count !== 0);
    assert.deepEqual(Object.fromEntries(counted), expected);
  });
}
