import assert from 'node:assert/strict';
import test from 'node:test';
import { parsePskLines } from './psk-lines.ts';

function read(text: string | Buffer, delimiter = ':'): [object, readonly string[]] {
  const { secrets, skipped } = parsePskLines(Buffer.from(text), delimiter);
  return [Object.fromEntries(secrets), skipped.map(({ line, why }) => `${line} ${why}`)];
}

test('a line is divided at its first delimiter, and the key is all that follows', () => {
  assert.deepEqual(read('a:b:c\nd: e \n'), [{ a: 'b:c', d: ' e ' }, []]);
  assert.deepEqual(read('a=>b:=>c', '=>'), [{ a: 'b:=>c' }, []]);
  assert.deepEqual(read('gerät → schlüssel', ' → ')[0], {
    gerät: Buffer.from('schlüssel').toString('latin1'),
  });
});

test('comments, empty lines, carriage returns and a byte order mark are no part of it', () => {
  assert.deepEqual(read('\ufeffa:b\r\n\r\n  \n# c:d\n'), [{ a: 'b' }, []]);
});

test('a line that cannot be used is passed over with its number, and the others are read', () => {
  const long = 'x'.repeat(600);
  assert.deepEqual(read(`a:1\nnothing\n:key\nidentity:\n${long}:1\nb:${long}\nc:2`), [
    { a: '1', c: '2' },
    [
      '2 no delimiter',
      '3 no identity',
      '4 no key',
      '5 identity longer than 256 bytes',
      '6 key longer than 512 bytes',
    ],
  ]);
});

test('the last line of an identity holds, and the line before is told', () => {
  assert.deepEqual(read('a:old\nb:1\na:new'), [
    { a: 'new', b: '1' },
    ['1 line 3 has the same identity'],
  ]);
});

test('a key may be any bytes, an identity is UTF-8', () => {
  const bytes = Buffer.from([0x61, 0x3a, 0xff, 0x00, 0xfe, 0x0a, 0xff, 0x3a, 0x62]);
  assert.deepEqual(read(bytes), [{ a: '\xff\0\xfe' }, ['2 identity is not UTF-8']]);
});
