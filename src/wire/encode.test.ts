// Every readable case of the shared table, written; and what encoding does with values that a
// version or a packet cannot carry.

import assert from 'node:assert/strict';
import test from 'node:test';
import { cases } from './cases.ts';
import { encodePacket } from './encode.ts';
import type { ConnectPacket, PublishPacket } from './packet.ts';
import { startPacket } from './packet-writer.ts';
import { raw } from './wire-case.ts';

for (const row of cases) {
  if (!('packet' in row) || row.decodeOnly) continue;
  test(`encode: ${row.name}`, () => {
    assert.deepEqual(encodePacket(row.packet, row.version), row.bytes);
  });
}

const publish: PublishPacket = {
  type: 'publish',
  topic: 'a',
  payload: raw("'x'"),
  qos: 0,
  dup: false,
  retain: false,
  packetId: 0,
  properties: {},
};

const connect: ConnectPacket = {
  type: 'connect',
  version: 4,
  isBridge: false,
  cleanStart: true,
  keepaliveSeconds: 60,
  clientId: 'c',
  properties: {},
};

test('[MQTT-3.3.1-2] encode never marks QoS 0 with DUP', () => {
  assert.deepEqual(encodePacket({ ...publish, dup: true }, 4), raw("30 04 0001 'a' 'x'"));
});

test('encode writes packet id 0 into a PUBLISH whose id is set later', () => {
  assert.deepEqual(encodePacket({ ...publish, qos: 1 }, 4), raw("32 06 0001 'a' 0000 'x'"));
});

test('encode leaves properties out before 5.0', () => {
  const properties = { topicAlias: 1, userProperties: [['k', 'v'] as [string, string]] };
  assert.deepEqual(encodePacket({ ...publish, properties }, 4), raw("30 04 0001 'a' 'x'"));
});

test('encode leaves out properties that the packet cannot carry', () => {
  const properties = { willDelaySeconds: 5, payloadFormat: 1, authData: raw('00') };
  assert.deepEqual(encodePacket({ ...publish, properties }, 5), raw("30 07 0001 'a' 02 01 01 'x'"));
});

test('encode treats undefined properties as absent', () => {
  const properties = { topicAlias: undefined, userProperties: undefined };
  assert.deepEqual(encodePacket({ ...publish, properties }, 5), raw("30 05 0001 'a' 00 'x'"));
});

test('encode leaves the reason code of a PUBACK out before 5.0', () => {
  const packet = { type: 'puback', packetId: 1, reasonCode: 0x87, properties: {} } as const;
  assert.deepEqual(encodePacket(packet, 4), raw('40 02 0001'));
});

test('encode says every failure in a SUBACK before 5.0 as 0x80', () => {
  const packet = {
    type: 'suback',
    packetId: 1,
    reasonCodes: [2, 0x87, 0x8f],
    properties: {},
  } as const;
  assert.deepEqual(
    encodePacket({ ...packet, reasonCodes: [...packet.reasonCodes] }, 4),
    raw('90 05 0001 02 80 80'),
  );
});

test('encode leaves the reason codes of an UNSUBACK out before 5.0', () => {
  assert.deepEqual(
    encodePacket({ type: 'unsuback', packetId: 1, reasonCodes: [0x11], properties: {} }, 3),
    raw('b0 02 0001'),
  );
});

test('encode leaves subscription options out before 5.0', () => {
  const filter = {
    filter: 'a',
    qos: 1,
    noLocal: true,
    retainAsPublished: true,
    retainHandling: 2,
  } as const;
  assert.deepEqual(
    encodePacket({ type: 'subscribe', packetId: 1, filters: [filter], properties: {} }, 4),
    raw("82 06 0001 0001 'a' 01"),
  );
});

test('encode writes an empty DISCONNECT before 5.0', () => {
  const properties = { reasonString: 'x' };
  assert.deepEqual(
    encodePacket({ type: 'disconnect', reasonCode: 0x8e, properties }, 4),
    raw('e0 00'),
  );
});

test('encode refuses AUTH before 5.0', () => {
  assert.throws(() => encodePacket({ type: 'auth', reasonCode: 0, properties: {} }, 4), RangeError);
});

test('encode refuses a password without username before 5.0', () => {
  assert.throws(() => encodePacket({ ...connect, password: raw('00') }, 4), RangeError);
});

test('encode refuses the bridge bit in 5.0', () => {
  assert.throws(() => encodePacket({ ...connect, version: 5, isBridge: true }, 5), RangeError);
});

test('encode refuses a topic that its length field cannot hold', () => {
  encodePacket({ ...publish, topic: 't'.repeat(65535) }, 4);
  assert.throws(() => encodePacket({ ...publish, topic: 't'.repeat(65536) }, 4), RangeError);
});

test('encode refuses a binary field that its length field cannot hold', () => {
  const password = Buffer.alloc(65536);
  encodePacket({ ...connect, username: '', password: password.subarray(1) }, 4);
  assert.throws(() => encodePacket({ ...connect, username: '', password }, 4), RangeError);
});

test('encode refuses a packet that no remaining length can say', () => {
  assert.throws(() => startPacket(0x30, 268_435_456), RangeError);
});
