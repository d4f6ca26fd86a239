// MQTT 5.0 section 4.13: malformed packets, protocol errors and the end of the connection.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import { field, packet, properties, u16, u32 } from '#test/raw-bytes';

const malformed = 0x81;
const protocolError = 0x82;

const faults: [what: string, code: number, bytes: Buffer][] = [
  ['packet type 0', malformed, packet(0x00)],
  ['PUBLISH of QoS 1 cut before its packet id', malformed, packet(0x32, field('a'))],
  ['PUBACK of one byte', malformed, packet(0x40, 1)],
  ['PUBACK with bytes left over', malformed, packet(0x40, u16(1), 0, properties(), 0)],
  ['property length beyond the packet', malformed, packet(0x30, field('a'), 50)],
  ['property cut in the middle', malformed, packet(0x30, field('a'), properties(0x02, u16(1)))],
  ['unknown property', malformed, packet(0x30, field('a'), properties(0x7e, 0))],
  ['PINGREQ with a body', malformed, packet(0xc0, 1)],
  ['DISCONNECT with bytes left over', malformed, packet(0xe0, 0, properties(), 0)],
  [
    'property that PUBLISH does not have',
    protocolError,
    packet(0x30, field('a'), properties(0x11, u32(1))),
  ],
  [
    'content type twice',
    protocolError,
    packet(0x30, field('a'), properties(0x03, field('x'), 0x03, field('y'))),
  ],
  ['payload format of 2', protocolError, packet(0x30, field('a'), properties(0x01, 2))],
  ['CONNACK from a client', protocolError, packet(0x20, 0, 0, properties())],
  ['SUBACK from a client', protocolError, packet(0x90, u16(1), properties(), 0)],
  ['UNSUBACK from a client', protocolError, packet(0xb0, u16(1), properties(), 0)],
  ['PINGRESP from a client', protocolError, packet(0xd0)],
];

for (const [what, code, bytes] of faults) {
  test(`[MQTT-4.13.1-1] ${what} ends the connection`, async () => {
    await using broker = await startBroker();
    const client = await broker.connect();
    client.send(bytes);
    // The borderline between the two codes is drawn differently by careful readers.
    await client.expectDisconnected(code, code === malformed ? protocolError : malformed);
    await broker.expectService();
  });
}

test('[MQTT-4.13.2-1] CONNACK and DISCONNECT with a code of 0x80 or above are followed by the end', async () => {
  await using broker = await startBroker({ zone: { maxClientIdBytes: 10 } });
  const refused = await broker.open();
  assert.ok((await refused.connect({ clientId: 'much too long' })).reasonCode >= 0x80);
  assert.deepEqual(await refused.expectClosed(), []);
  const client = await broker.connect({ clientId: 'c' });
  client.send(packet(0xc1));
  assert.ok((await client.next('disconnect')).reasonCode >= 0x80);
  assert.deepEqual(await client.expectClosed(), []);
});
