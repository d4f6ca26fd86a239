// Places in texts: lines, columns and the excerpt around them.

import assert from 'node:assert/strict';
import test from 'node:test';
import { placeOf, SqlError } from './sql-error.ts';

test('lines end with CR, LF or both, columns count from 1', () => {
  const text = 'ab\ncd\r\nef\rgh';
  const places = [0, 2, 3, 5, 7, 9, 10, 12].map((at) => placeOf(text, at));
  assert.deepEqual(
    places.map(({ line, column, excerpt, caret }) => `${line}:${column} ${excerpt} ${caret}`),
    [
      '1:1 ab 0',
      '1:3 ab 2',
      '2:1 cd 0',
      '2:3 cd 2',
      '3:1 ef 0',
      '3:3 ef 2',
      '4:1 gh 0',
      '4:3 gh 2',
    ],
  );
});

test('of a long line the part around the place is shown', () => {
  const text = 'x'.repeat(300);
  const begin = placeOf(text, 10);
  assert.equal(begin.excerpt, `${'x'.repeat(80)}…`);
  assert.equal(begin.caret, 10);
  const middle = placeOf(`${'a'.repeat(100)}b${'c'.repeat(100)}`, 100);
  assert.equal(middle.excerpt, `…${'a'.repeat(40)}b${'c'.repeat(39)}…`);
  assert.equal(middle.excerpt[middle.caret], 'b');
  const end = placeOf(text, 300);
  assert.equal(end.excerpt, `…${'x'.repeat(80)}`);
  assert.equal(end.caret, 81);
  assert.equal(end.column, 301);
});

test('an excerpt has no control characters', () => {
  assert.equal(placeOf('a\tb\u001b[31m\u2028c', 0).excerpt, 'a b [31m c');
});

test('a message names what was found and all that was expected', () => {
  const said = (expected: string[]): string =>
    new SqlError('x', 0, { found: '"x"', expected }).message.replace(/^.*column 1: /, '');
  assert.equal(said(['A']), 'found "x", expected A');
  assert.equal(said(['A', '","']), 'found "x", expected A or ","');
  assert.equal(said(['A', '","', 'B']), 'found "x", expected A, "," or B');
});
