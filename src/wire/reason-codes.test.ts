// The laws of the reason code table, and what each packet and version makes of it.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { PacketType } from './packet.ts';
import {
  connackCodeV3,
  isAllowedReason,
  Reason,
  reasonCodes,
  reasonText,
  reasonWord,
} from './reason-codes.ts';

const rows = Object.entries(reasonCodes);

test('reason codes have their name in snake case as word', () => {
  for (const [name, { word }] of rows) {
    assert.equal(
      word,
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    );
  }
});

test('reason codes share no number but 0x00', () => {
  const codes = rows.map(([, { code }]) => code).filter((code) => code !== 0);
  assert.equal(new Set(codes).size, codes.length);
});

test('Reason has the number of every row', () => {
  for (const [name, { code }] of rows) assert.equal(Reason[name as keyof typeof Reason], code);
  assert.equal(Reason.malformedPacket, 0x81);
  assert.equal(Reason.wildcardSubscriptionsNotSupported, 0xa2);
});

test('reasonWord and reasonText name a code', () => {
  assert.equal(reasonWord(0x87), 'not_authorized');
  assert.equal(reasonText(0x8d), 'Keep Alive timeout');
  assert.equal(reasonWord(0x8d), 'keepalive_timeout');
});

test('reasonWord and reasonText tell the names of 0x00 apart by packet', () => {
  assert.equal(reasonWord(0), 'success');
  assert.equal(reasonWord(0, 'puback'), 'success');
  assert.equal(reasonWord(0, 'disconnect'), 'normal_disconnection');
  assert.equal(reasonText(0, 'suback'), 'Granted QoS 0');
});

test('reasonWord and reasonText answer for codes that do not exist', () => {
  assert.equal(reasonWord(0xfe), 'unknown_reason');
  assert.equal(reasonText(0xfe), 'Unknown reason');
});

/**
 * How many codes the standard lists in the chapter of each packet; for DISCONNECT one more, 0x8C,
 * which its chapter forgets and the summary of all codes (2.4) gives.
 */
const counts: Partial<Record<PacketType, number>> = {
  connack: 22,
  puback: 9,
  pubrec: 9,
  pubrel: 2,
  pubcomp: 2,
  suback: 12,
  unsuback: 7,
  disconnect: 30,
  auth: 3,
  publish: 0,
};

for (const [type, count] of Object.entries(counts) as [PacketType, number][]) {
  test(`isAllowedReason allows ${count} codes in ${type}`, () => {
    let allowed = 0;
    for (let code = 0; code < 256; code++) if (isAllowedReason(type, code)) allowed++;
    assert.equal(allowed, count);
  });
}

test('isAllowedReason refuses a number that is no byte', () => {
  assert.equal(isAllowedReason('connack', 256), false);
  assert.equal(isAllowedReason('connack', -1), false);
});

test('connackCodeV3 says a refusal in the six codes of 3.1.1', () => {
  const wanted: Record<number, number[]> = {
    0: [0x00],
    1: [0x80, 0x81, 0x82, 0x83, 0x84],
    2: [0x85],
    4: [0x86],
    5: [0x87, 0x8a, 0x8c],
    3: [0x88, 0x89, 0x8b, 0x90, 0x95, 0x97, 0x99, 0x9a, 0x9b, 0x9c, 0x9d, 0x9f, 0xff],
  };
  for (const [code3, codes5] of Object.entries(wanted)) {
    for (const code5 of codes5) assert.equal(connackCodeV3(code5), Number(code3), `${code5}`);
  }
});
