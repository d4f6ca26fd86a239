// Every case of the shared table, read. Each packet lies between poisoned bytes, twice with different
// poison: an answer that depends on what lies outside the packet differs.

import assert from 'node:assert/strict';
import test from 'node:test';
import { cases } from './cases.ts';
import { decodePacket } from './decode.ts';
import type { Packet, ProtocolVersion } from './packet.ts';
import { PacketReader } from './packet-reader.ts';
import { ProtocolError } from './protocol-error.ts';
import { raw } from './wire-case.ts';

const margin = 8;

function decodeWhole(bytes: Buffer, version: ProtocolVersion, poison = 0): Packet {
  const around = Buffer.alloc(bytes.length + 2 * margin, poison);
  around.set(bytes, margin);
  const end = margin + bytes.length;
  const reader = new PacketReader(around, margin + 1, end);
  const length = reader.varint();
  assert.equal(length, reader.left, 'the case has another remaining length than it says');
  return decodePacket(bytes[0] as number, around, reader.at, end, version);
}

for (const row of cases) {
  test(`decode: ${row.name}`, () => {
    for (const poison of [0x00, 0x01, 0xff]) {
      if ('packet' in row) {
        assert.deepEqual(decodeWhole(row.bytes, row.version, poison), row.packet);
      } else {
        assert.throws(
          () => decodeWhole(row.bytes, row.version, poison),
          (error) => error instanceof ProtocolError && error.reasonCode === row.failure,
        );
      }
    }
  });
}

test('the case table names every case once', () => {
  assert.equal(new Set(cases.map(({ name }) => name)).size, cases.length);
});

test('decode refuses every prefix of a packet with nothing but ProtocolError', () => {
  for (const row of cases) {
    for (let end = 2; end < row.bytes.length; end++) {
      try {
        decodePacket(row.bytes[0] as number, row.bytes, 2, end, row.version);
      } catch (error) {
        assert.ok(error instanceof ProtocolError, `${row.name}, ${end} bytes: ${String(error)}`);
      }
    }
  }
});

test('decode hands out the payload of a PUBLISH as a view of the input, all else as copies', () => {
  const bytes = raw("0001 'a' 04 09 0001 ff 'pay'");
  const packet = decodePacket(0x30, bytes, 0, bytes.length, 5);
  assert.ok(packet.type === 'publish');
  bytes.fill(0x2a);
  assert.deepEqual(packet.payload, raw("'***'"));
  assert.deepEqual(packet.properties.correlationData, raw('ff'));
  assert.equal(packet.topic, 'a');
});

test('decode gives each packet properties of its own', () => {
  const bytes = raw("0001 'a' 00");
  const [one, two] = [0, 1].map(() => decodePacket(0x30, bytes, 0, bytes.length, 5));
  assert.ok(one?.type === 'publish' && two?.type === 'publish');
  assert.notEqual(one.properties, two.properties);
});
