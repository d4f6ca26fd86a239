import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import { metricKeys } from './metrics.ts';

/** The keys of the platform interface, as it lists them. */
const interfaceKeys = `
bytes/received bytes/sent packets/received packets/sent packets/connect packets/connack
packets/publish/received packets/publish/sent
packets/puback/received packets/puback/sent packets/puback/missed
packets/pubrec/received packets/pubrec/sent packets/pubrec/missed
packets/pubrel/received packets/pubrel/sent packets/pubrel/missed
packets/pubcomp/received packets/pubcomp/sent packets/pubcomp/missed
packets/subscribe packets/suback packets/unsubscribe packets/unsuback packets/pingreq packets/pingresp
packets/disconnect/received packets/disconnect/sent packets/auth
messages/received messages/sent messages/expired messages/retained messages/dropped messages/forward
messages/qos0/received messages/qos0/sent messages/qos1/received messages/qos1/sent
messages/qos2/received messages/qos2/sent messages/qos2/expired messages/qos2/dropped`
  .trim()
  .split(/\s+/);

/** What the interface has no word for. */
const ownKeys = ['overload/episodes', 'overload/paused', 'overload/refused'];

test('metrics have the keys of the interface and our own, no more and no less', () => {
  assert.deepEqual([...metricKeys].sort(), [...interfaceKeys, ...ownKeys].sort());
});

test('metrics count every packet where it happens', async () => {
  // The counters of one worker; what is retained the node counts.
  await using broker = await startBroker({ zone: { maxAwaitingRel: 1 }, workers: 0 });
  const { metrics } = broker.broker.core;
  const client = await broker.connect();
  await client.subscribe('t', { qos: 2 });
  for (const qos of [0, 1, 2] as const) {
    await client.publish('t', 'x', { qos });
    await client.receive();
  }
  await client.publish('nobody', 'kept', { qos: 1, retain: true });
  for (const type of ['puback', 'pubrec', 'pubrel', 'pubcomp'] as const) client.ack(type, 999);
  await client.next('pubrel');
  await client.next('pubcomp');
  for (const packetId of [41, 42]) client.sendPublish('t', 'x', { qos: 2, packetId });
  await client.find('pubrec', ({ packetId }) => packetId === 42);
  await client.unsubscribe('t');
  const found = metrics.snapshot();
  const expected = {
    'packets/connect': 1,
    'packets/connack': 1,
    'packets/subscribe': 1,
    'packets/suback': 1,
    'packets/unsubscribe': 1,
    'packets/unsuback': 1,
    'packets/publish/received': 6,
    'messages/received': 6,
    'messages/qos0/received': 1,
    'messages/qos1/received': 2,
    'messages/qos2/received': 3,
    'messages/qos2/dropped': 1,
    'messages/qos0/sent': 1,
    'messages/qos1/sent': 1,
    'messages/qos2/sent': 2,
    'packets/publish/sent': 4,
    'messages/sent': 4,
    'messages/retained': 1,
    'messages/dropped': 1,
    'packets/puback/missed': 1,
    'packets/pubrec/missed': 1,
    'packets/pubrel/missed': 1,
    'packets/pubcomp/missed': 1,
    'packets/disconnect/received': 0,
  };
  for (const [key, count] of Object.entries(expected)) assert.equal(found[key], count, key);
});

test('metrics of the connection are the sums of what it said and heard', async () => {
  await using broker = await startBroker({ workers: 0 });
  const { metrics } = broker.broker.core;
  const client = await broker.connect();
  await client.publish('t', 'x', { qos: 1 });
  client.send({ type: 'pingreq' });
  await client.next('pingresp');
  await client.disconnect();
  const found = metrics.snapshot();
  assert.equal(found['packets/received'], 4, 'CONNECT, PUBLISH, PINGREQ, DISCONNECT');
  assert.equal(found['packets/sent'], 3, 'CONNACK, PUBACK, PINGRESP');
});
