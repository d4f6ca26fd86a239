// Variable byte integers at every border of their size, written and read.

import assert from 'node:assert/strict';
import test from 'node:test';
import { PacketReader } from './packet-reader.ts';
import { ProtocolError } from './protocol-error.ts';
import { varintMax, varintSize, writeVarint } from './varint.ts';
import { raw } from './wire-case.ts';

const edges: readonly [value: number, bytes: string][] = [
  [0, '00'],
  [1, '01'],
  [127, '7f'],
  [128, '8001'],
  [16_383, 'ff7f'],
  [16_384, '808001'],
  [2_097_151, 'ffff7f'],
  [2_097_152, '80808001'],
  [varintMax, 'ffffff7f'],
];

for (const [value, hex] of edges) {
  test(`[MQTT-1.5.5-1] varint ${value} is written in the shortest form and read again`, () => {
    const bytes = Buffer.alloc(6, 0xee);
    const size = varintSize(value);
    assert.equal(writeVarint(bytes, 1, value), 1 + size);
    assert.deepEqual(bytes.subarray(1, 1 + size), raw(hex));
    assert.equal(bytes[1 + size], 0xee);
    const reader = new PacketReader(bytes, 1, 6);
    assert.equal(reader.varint(), value);
    assert.equal(reader.at, 1 + size);
  });
}

test('varint refuses to write what four bytes cannot hold', () => {
  assert.throws(() => varintSize(varintMax + 1), RangeError);
  assert.throws(() => varintSize(Number.NaN), RangeError);
});

for (const [what, hex] of [
  ['has a fifth byte', '8080808001'],
  ['has more bytes than it needs', '8000'],
  ['has many more bytes than it needs', '80808000'],
  ['ends early', 'ffff'],
  ['is not there', ''],
] as const) {
  test(`varint that ${what} is malformed`, () => {
    const bytes = raw(hex);
    assert.throws(
      () => new PacketReader(bytes, 0, bytes.length).varint(),
      (error) => error instanceof ProtocolError && error.reasonCode === 0x81,
    );
  });
}
