import assert from 'node:assert/strict';
import test from 'node:test';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { equal, order, same } from './compare.ts';
import type { Value } from './value.ts';

const big = 9007199254740993n;
const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');

/** Two values; equal as by `=`; the same as by IN; sign of their order. */
const rows: readonly (readonly [Value, Value, boolean, boolean, number | undefined])[] = [
  [1, 1, true, true, 0],
  [1, 2, false, false, -1],
  [2.5, 1, false, false, 1],
  [big, big, true, true, 0],
  [big, 1, false, false, 1],
  [1, big, false, false, -1],
  [2 ** 60, 2n ** 60n, true, true, 0],
  ['a', 'a', true, true, 0],
  ['a', 'b', false, false, -1],
  ['ab', 'a', false, false, 1],
  ['\u{1f600}', '\uffff', false, false, 1],
  ['\uffff', '\u{1f600}', false, false, -1],
  ['é', 'z', false, false, 1],
  ['1', 1, true, false, 0],
  ['1.0', 1, true, false, 0],
  [1, ' 1', false, false, undefined],
  ['abc', 1, false, false, undefined],
  [1, 'abc', false, false, undefined],
  ['9007199254740993', big, true, false, 0],
  [big, '5', false, false, 1],
  ['5', big, false, false, -1],
  ['', 0, false, false, undefined],
  ['0x10', 16, false, false, undefined],
  ['Infinity', Number.MAX_VALUE, false, false, undefined],
  [true, true, true, true, 0],
  [false, true, false, false, -1],
  [true, 'true', true, false, undefined],
  ['false', false, true, false, undefined],
  [true, 1, false, false, undefined],
  [true, 'TRUE', false, false, undefined],
  [null, undefined, true, true, undefined],
  [null, null, true, true, undefined],
  [undefined, 0, false, false, undefined],
  [1, null, false, false, undefined],
  [null, 'null', false, false, undefined],
  ['undefined', undefined, false, false, undefined],
  [null, [], false, false, undefined],
  [[], [], true, true, undefined],
  [[1, 'a'], [1, 'a'], true, true, undefined],
  [[1], ['1'], false, false, undefined],
  [[1], [1, 2], false, false, undefined],
  [[1], { 1: 1 }, false, false, undefined],
  [{ a: 1 }, [1], false, false, undefined],
  [{ a: 1, b: [2] }, { b: [2], a: 1 }, true, true, undefined],
  [{ a: 1 }, { a: 2 }, false, false, undefined],
  [{ a: 1 }, { b: 1 }, false, false, undefined],
  [{ a: 1 }, { a: 1, b: 2 }, false, false, undefined],
  [{ toString: 1 }, { a: 1 }, false, false, undefined],
  [{ a: null }, { a: undefined }, true, true, undefined],
  [{ a: 1 }, 'x', false, false, undefined],
  [[1], 1, false, false, undefined],
  [bytes('ff'), bytes('ff'), true, true, 0],
  [bytes('61'), 'a', true, true, 0],
  ['b', bytes('61'), false, false, 1],
  [bytes('61'), bytes('62'), false, false, -1],
  [bytes('31'), 1, false, false, undefined],
  [1, bytes('31'), false, false, undefined],
  [bytes('ff'), { 0: 255 }, false, false, undefined],
  [[1], bytes('01'), false, false, undefined],
];

test('values are equal, the same and in order as the table says', () => {
  for (const [a, b, isEqual, isSame, sign] of rows) {
    const label = inspect([a, b]);
    assert.equal(equal(a, b), isEqual, label);
    assert.equal(equal(b, a), isEqual, label);
    assert.equal(same(a, b), isSame, label);
    assert.equal(same(b, a), isSame, label);
    const found = order(a, b);
    assert.equal(found === undefined ? undefined : Math.sign(found), sign, label);
    const back = order(b, a);
    assert.equal(
      back === undefined ? undefined : Math.sign(back),
      sign === undefined ? undefined : 0 - sign,
    );
  }
});

test('texts are in the order of their bytes', () => {
  const text = fc.string({ unit: 'binary' });
  fc.assert(
    fc.property(text, text, (a, b) => {
      assert.equal(Math.sign(order(a, b) ?? 5), Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
});
