import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { keyBytesMax } from './table.ts';
import { hashKey, isLong, numberKey, pairKey, readNumber, retainedKey, shortKey } from './keys.ts';
import { topicOfKey } from './retained-fixture.ts';

const given = process.env['FUZZ_SEED'];
const seed: number = given === undefined ? (Math.random() * 0x7fff_ffff) | 0 : Number(given);

const topics = fc
  .array(fc.constantFrom('a', 'b', '!', '$', '-', '', '0', 'ä', '€', '\u{1f600}', '\uffff', 'ab'))
  .map((levels) => levels.join('/'));

test('a topic comes back from its key', (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const law = fc.property(topics, (topic) => {
    const key = retainedKey(topic);
    const before = Buffer.from(key);
    assert.equal(topicOfKey(key), topic);
    assert.deepEqual(key, before, 'reading leaves the key as it is');
  });
  fc.assert(law, { seed });
});

test('keys of topics stand in the order of their levels', (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const law = fc.property(topics, topics, (one, two) => {
    const [left, right] = [one.split('/'), two.split('/')];
    const at = left.findIndex((level, i) => level !== right[i]);
    const expected =
      at < 0
        ? left.length - right.length
        : right[at] === undefined
          ? 1
          : Buffer.compare(Buffer.from(left[at] as string), Buffer.from(right[at]));
    const found = Buffer.compare(retainedKey(one), retainedKey(two));
    assert.equal(found, Math.sign(expected));
  });
  fc.assert(law, { seed, numRuns: 1000 });
});

test('everything below a level stands directly behind it', () => {
  const names = ['a!', 'a', 'a/b/c', 'a-b', 'b', 'a/', 'a/b', 'a.'];
  const ordered = names
    .map(retainedKey)
    .sort((a, b) => a.compare(b))
    .map(topicOfKey);
  assert.deepEqual(ordered, ['a', 'a/', 'a/b', 'a/b/c', 'a!', 'a-b', 'a.', 'b']);
});

test('a key is long from the byte on that the engine does not take', () => {
  assert.equal(isLong(retainedKey('t'.repeat(keyBytesMax))), false);
  assert.equal(isLong(retainedKey('t'.repeat(keyBytesMax + 1))), true);
  assert.equal(isLong(retainedKey('€'.repeat(keyBytesMax / 2))), true);
  assert.equal(hashKey(retainedKey('t'.repeat(keyBytesMax + 1))).length, 32);
});

test('a short key is the text itself, up to the last byte that fits', () => {
  assert.deepEqual(shortKey('client'), Buffer.from('client'));
  assert.deepEqual(shortKey('ä', 2), Buffer.from('ä'));
  const longest = 'c'.repeat(keyBytesMax);
  assert.deepEqual(shortKey(longest), Buffer.from(longest));
});

test('a text that cannot be a key gets one of 33 bytes that no other text has', () => {
  const longest = 'c'.repeat(keyBytesMax);
  const odd = [
    '',
    `${longest}c`,
    `${longest}d`,
    '€'.repeat(700),
    'x'.repeat(65_535),
    '\ud800',
    '\ud801',
    '\udc00',
  ];
  const keys = odd.map((text) => shortKey(text).toString('latin1'));
  for (const key of keys) {
    assert.equal(key.length, 33);
    assert.equal(key.charCodeAt(0), 0xff, 'a byte that UTF-8 does not have');
  }
  assert.equal(new Set(keys).size, odd.length);
});

test('different texts have different short keys', (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const texts = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
    // What a hashed key looks like when it is read as text.
    fc.string().map((text) => shortKey(text, 3).toString('latin1')),
    fc.string().map((text) => shortKey(text, 3).toString('utf8')),
  );
  const law = fc.property(texts, texts, fc.constantFrom(3, 40), (one, two, bytesMax) => {
    const keys = [one, two].map((text) => shortKey(text, bytesMax));
    assert.equal(keys[0]?.equals(keys[1] as Buffer), one === two);
    for (const key of keys) assert.ok(key.length > 0 && key.length <= Math.max(33, bytesMax));
  });
  fc.assert(law, { seed, numRuns: 1000 });
});

test('numbers come back from their keys, and stand in their order', (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const numbers = fc.oneof(
    fc.integer({ min: 0, max: 300 }),
    fc.integer({ min: 0, max: 2 ** 48 - 1 }),
    fc.constantFrom(0xffff, 0x1_0000, 2 ** 32 - 1, 2 ** 32, 2 ** 48 - 1),
  );
  const law = fc.property(numbers, numbers, numbers, numbers, (a, b, c, d) => {
    assert.equal(readNumber(numberKey(a), 0), a);
    const [one, two] = [pairKey(a, b), pairKey(c, d)];
    assert.deepEqual([one.length, readNumber(one, 0), readNumber(one, 6)], [12, a, b]);
    assert.equal(Buffer.compare(one, two), Math.sign(a - c || b - d));
  });
  fc.assert(law, { seed, numRuns: 500 });
});

test('a number that six bytes cannot say is refused', () => {
  for (const number of [-1, 2 ** 48]) assert.throws(() => numberKey(number), RangeError);
});
