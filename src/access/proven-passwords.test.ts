import assert from 'node:assert/strict';
import test from 'node:test';
import { ProvenPasswords } from './proven-passwords.ts';

const password = Buffer.from('secret');

test('a password is known with the hash that it was proven by, and with no other', () => {
  const proven = new ProvenPasswords();
  assert.equal(proven.has(password, 'hash'), false);
  proven.add(password, 'hash');
  assert.equal(proven.has(password, 'hash'), true);
  assert.equal(proven.has(password, 'hash2'), false);
  assert.equal(proven.has(Buffer.from('secret2'), 'hash'), false);
  assert.equal(proven.has(Buffer.from('hsecret'), 'has'), false);
  assert.equal(new ProvenPasswords().has(password, 'hash'), false);
});

test('the oldest goes when there is no room', () => {
  const proven = new ProvenPasswords(2);
  for (const hash of ['a', 'b', 'b', 'c']) proven.add(password, hash);
  assert.deepEqual(
    ['a', 'b', 'c'].map((hash) => proven.has(password, hash)),
    [false, true, true],
  );
});
