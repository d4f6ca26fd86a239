import assert from 'node:assert/strict';
import test from 'node:test';
import { parseConf } from './parse.ts';

const pairs = (source: string): string[][] =>
  parseConf(source).lines.map(({ key, value }) => [key, value]);

test('parseConf reads key = value with any spaces around', () => {
  assert.deepEqual(pairs('a.b=1\n  c.d   =   two words  \n\te = 3'), [
    ['a.b', '1'],
    ['c.d', 'two words'],
    ['e', '3'],
  ]);
});

test('parseConf skips comments and keeps a # inside a word', () => {
  const source = '# one\n## two\n   # three\na = x # four\nb = t/#\nc = t/#=1 ## five\n\n';
  assert.deepEqual(pairs(source), [
    ['a', 'x'],
    ['b', 't/#'],
    ['c', 't/#=1'],
  ]);
});

test('parseConf keeps everything between double quotes', () => {
  const source = 'a = " # x "\nb = "say \\"hi\\" \\\\" # why\nc = ""\nd = it"s';
  assert.deepEqual(pairs(source), [
    ['a', ' # x '],
    ['b', 'say "hi" \\'],
    ['c', ''],
    ['d', 'it"s'],
  ]);
});

test('parseConf reads every kind of line end and a byte order mark', () => {
  const { lines, bad } = parseConf('\uFEFFa = 1\r\nb = 2\rc = 3\n');
  assert.deepEqual(bad, []);
  assert.deepEqual(lines, [
    { line: 1, key: 'a', value: '1' },
    { line: 2, key: 'b', value: '2' },
    { line: 3, key: 'c', value: '3' },
  ]);
});

test('parseConf takes the first = as the border', () => {
  assert.deepEqual(pairs('zone.z.mqueue_priorities = a=1,b=2'), [
    ['zone.z.mqueue_priorities', 'a=1,b=2'],
  ]);
});

test('parseConf names the line of everything that it cannot read, and reads the rest', () => {
  const { lines, bad } = parseConf('word\n= 1\na b = 1\nc =\nd = # x\ne = "x\nf = "x" y\ng = 1');
  assert.deepEqual(lines, [{ line: 8, key: 'g', value: '1' }]);
  assert.deepEqual(
    bad.map(({ line }) => line),
    [1, 2, 3, 4, 5, 6, 7],
  );
  assert.equal(bad[0]?.text, 'Cannot read "word": expected key = value');
  assert.equal(bad[3]?.text, 'Cannot set c: the value is missing');
});

test('parseConf refuses a key that is set twice and names both lines', () => {
  const { lines, bad } = parseConf('a = 1\n\na = 2');
  assert.equal(lines.length, 1);
  assert.deepEqual(bad, [
    { line: 3, key: 'a', text: 'Cannot set a twice: line 1 sets it already' },
  ]);
});
