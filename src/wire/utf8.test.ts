// Strings around every border between the loops and native code, well formed and not.

import assert from 'node:assert/strict';
import test from 'node:test';
import { ProtocolError } from './protocol-error.ts';
import { readUtf8, utf8Size, writeUtf8 } from './utf8.ts';
import { raw } from './wire-case.ts';

/** Around every border between the loops and native code. */
const lengths = [0, 1, 15, 16, 17, 47, 48, 49, 300];

function written(text: string): Buffer {
  const size = utf8Size(text);
  const bytes = Buffer.alloc(size + 6, 0xee);
  assert.equal(writeUtf8(bytes, 2, text, size), size + 4);
  assert.deepEqual([bytes[1], bytes[size + 4]], [0xee, 0xee]);
  return bytes.subarray(2, size + 4);
}

const isMalformed = (error: unknown): boolean =>
  error instanceof ProtocolError && error.reasonCode === 0x81;

for (const length of lengths) {
  for (const [kind, text] of [
    ['ASCII', 'a'.repeat(length)],
    ['two-byte', 'é'.repeat(length)],
    ['mixed', `${'a'.repeat(length)}\u{1f600}`],
  ] as const) {
    test(`string of ${length} ${kind} characters is written and read again`, () => {
      const bytes = written(text);
      const size = Buffer.byteLength(text);
      assert.equal(bytes.readUInt16BE(0), size);
      assert.deepEqual(bytes.subarray(2), Buffer.from(text));
      assert.equal(readUtf8(bytes, 2, bytes.length), text);
    });
  }

  test(`[MQTT-1.5.4-2] U+0000 after ${length} characters is refused`, () => {
    for (const before of ['a', 'é']) {
      const bytes = Buffer.from(`${before.repeat(length)}\0`);
      assert.throws(() => readUtf8(bytes, 0, bytes.length), isMalformed);
    }
  });

  test(`[MQTT-1.5.4-1] ill-formed UTF-8 after ${length} characters is refused`, () => {
    for (const wrong of ['80', 'c3', 'c080', 'eda080', 'edbfbf', 'e08080', 'f4908080', 'fe']) {
      const bytes = Buffer.concat([Buffer.from('a'.repeat(length)), raw(wrong)]);
      assert.throws(() => readUtf8(bytes, 0, bytes.length), isMalformed, wrong);
    }
  });
}

test('[MQTT-1.5.4-3] U+FEFF at the beginning of a string is kept', () => {
  assert.equal(readUtf8(raw("efbbbf 'a'"), 0, 4), '\ufeffa');
});

test('string is read from its range alone', () => {
  assert.equal(readUtf8(raw("00 ff 'ab' c3 00"), 2, 4), 'ab');
});

test('lone surrogate is written as U+FFFD', () => {
  assert.deepEqual(written('\ud800'), raw('0003 efbfbd'));
});

test('string of more than 65535 bytes is refused', () => {
  assert.equal(utf8Size('a'.repeat(65535)), 65535);
  assert.throws(() => utf8Size('é'.repeat(32768)), RangeError);
});
