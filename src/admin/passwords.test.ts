import assert from 'node:assert/strict';
import test from 'node:test';
import { hashPassword, randomSecret, verifyPassword } from './passwords.ts';

test('a password is verified against its hash, and no other is', async () => {
  const hash = await hashPassword('öpen sesame');
  assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  assert.equal(await verifyPassword('öpen sesame', hash), true);
  assert.equal(await verifyPassword('open sesame', hash), false);
  assert.equal(await verifyPassword('', hash), false);
});

test('a password never has the same hash twice', async () => {
  assert.notEqual(await hashPassword('x'), await hashPassword('x'));
});

test('a hash that nobody can read fits nothing', async () => {
  for (const hash of ['', 'public', '$argon2id$v=19$m=19456', '$2b$10$abc']) {
    assert.equal(await verifyPassword('public', hash), false);
  }
});

test('a secret is 43 letters and digits, and a new one each time', () => {
  const secrets = new Set(Array.from({ length: 100 }, randomSecret));
  assert.equal(secrets.size, 100);
  for (const secret of secrets) assert.match(secret, /^[0-9A-Za-z]{43}$/);
});
