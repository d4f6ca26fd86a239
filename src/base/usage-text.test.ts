import assert from 'node:assert/strict';
import test from 'node:test';
import { usageLine } from './usage-text.ts';

test('explanations stand in one column, below a command that is too long for it', () => {
  assert.equal(usageLine('a b', 'Do it'), `a b${' '.repeat(45)}# Do it`);
  const long = 'x'.repeat(48);
  assert.equal(usageLine(long, 'Do it'), `${long}\n${' '.repeat(48)}# Do it`);
});
