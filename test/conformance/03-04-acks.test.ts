// MQTT 5.0 sections 3.4 to 3.7: PUBACK, PUBREC, PUBREL and PUBCOMP of the server: their reason
// codes, and that an explanation never makes them larger than the client allows.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker, type TestBroker } from '#test/broker';
import { packet, u16 } from '#test/raw-bytes';
import type { RawClient } from '#test/raw-client';
import type { AckPacket } from '#wire/packet';

const noSubscribers = 0x10;
const idNotFound = 0x92;
const badPayload = 0x99;
/** Enough for CONNACK and the bare acknowledgements, too little for a sentence. */
const tightBytes = 24;

test('[MQTT-3.4.2-1] PUBACK tells success, no matching subscribers, or what is wrong', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  assert.equal((await client.publish('a', '', { qos: 1 }))?.reasonCode, noSubscribers);
  await client.subscribe('a');
  assert.equal((await client.publish('a', '', { qos: 1 }))?.reasonCode, 0);
  const bad = { qos: 1, properties: { payloadFormat: 1 } } as const;
  assert.equal((await client.publish('a', Buffer.from([0xff]), bad))?.reasonCode, badPayload);
});

test('[MQTT-3.5.2-1] PUBREC tells success, no matching subscribers, or what is wrong', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  assert.equal((await client.publish('a', '', { qos: 2 }))?.reasonCode, noSubscribers);
  await client.subscribe('a');
  assert.equal((await client.publish('a', '', { qos: 2 }))?.reasonCode, 0);
  const bad = { qos: 2, properties: { payloadFormat: 1 } } as const;
  assert.equal((await client.publish('a', Buffer.from([0xff]), bad))?.reasonCode, badPayload);
});

test('[MQTT-3.6.1-1] a PUBREL whose flags are not 0010 is malformed', async () => {
  await using broker = await startBroker();
  for (const header of [0x60, 0x61, 0x63, 0x66, 0x6a]) {
    const client = await broker.connect();
    client.sendPublish('a', '', { qos: 2, packetId: 1 });
    await client.next('pubrec');
    client.send(packet(header, u16(1)));
    await client.expectDisconnected(0x81);
  }
});

test('[MQTT-3.6.2-1] PUBREL tells success, or that the packet id of the PUBREC is unknown', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe('a', { qos: 2 });
  await client.publish('a', '', { qos: 2 });
  const { packetId } = await client.next('publish');
  client.ack('pubrec', packetId);
  assert.equal((await client.next('pubrel')).reasonCode, 0);
  client.ack('pubrec', packetId + 1);
  const unknown = await client.next('pubrel');
  assert.deepEqual([unknown.packetId, unknown.reasonCode], [packetId + 1, idNotFound]);
});

test('[MQTT-3.7.2-1] PUBCOMP tells success, or that the packet id of the PUBREL is unknown', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  client.sendPublish('a', '', { qos: 2, packetId: 5 });
  await client.next('pubrec');
  client.ack('pubrel', 5);
  assert.equal((await client.next('pubcomp')).reasonCode, 0);
  client.ack('pubrel', 5);
  const unknown = await client.next('pubcomp');
  assert.deepEqual([unknown.packetId, unknown.reasonCode], [5, idNotFound]);
});

test('an acknowledgement of a packet id that the server never used is ignored', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  client.ack('puback', 77);
  client.ack('pubcomp', 77);
  await client.expectNothing();
});

/** Refused with an explanation: the payload is not the UTF-8 that it claims to be. */
function sendBadPayload(client: RawClient, qos: 1 | 2): void {
  client.sendPublish('a', Buffer.from([0xff]), { qos, properties: { payloadFormat: 1 } });
}

const provoked: [ids: string, type: AckPacket['type'], provoke: (client: RawClient) => void][] = [
  ['[MQTT-3.4.2-2] [MQTT-3.4.2-3]', 'puback', (client) => sendBadPayload(client, 1)],
  ['[MQTT-3.5.2-2] [MQTT-3.5.2-3]', 'pubrec', (client) => sendBadPayload(client, 2)],
  ['[MQTT-3.6.2-2] [MQTT-3.6.2-3]', 'pubrel', (client) => client.ack('pubrec', 77)],
  ['[MQTT-3.7.2-2] [MQTT-3.7.2-3]', 'pubcomp', (client) => client.ack('pubrel', 77)],
];
for (const [ids, type, provoke] of provoked) {
  test(`${ids} a ${type.toUpperCase()} drops its reason string and user properties rather than grow too large`, async () => {
    await using broker = await startBroker();
    const { roomy, tight } = await provokeTwice(broker, provoke);
    assert.ok(tight.length <= tightBytes, `${tight.length} bytes`);
    // Packet id and reason code are the same with and without the room to explain.
    assert.deepEqual(tight.subarray(2, 5), roomy.subarray(2, 5));
  });
}

/** The bytes of the same answer to a client that takes packets of any size and to one that does not. */
async function provokeTwice(
  broker: TestBroker,
  provoke: (client: RawClient) => void,
): Promise<{ roomy: Buffer; tight: Buffer }> {
  const answers: Buffer[] = [];
  for (const limits of [{}, { maximumPacketSize: tightBytes }]) {
    const client = await broker.connect({ properties: limits });
    provoke(client);
    answers.push(await client.nextBytes());
  }
  const [roomy = Buffer.alloc(0), tight = Buffer.alloc(0)] = answers;
  return { roomy, tight };
}
