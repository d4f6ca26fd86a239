import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import test from 'node:test';
import { readKeySet, readPems } from './public-keys.ts';
import { ec256, ecPair, jwkOf, pemOf, rsa, selfSigned } from './token-fixture.ts';

const small = generateKeyPairSync('rsa', { modulusLength: 1024 });
const ed25519 = generateKeyPairSync('ed25519');

test('readPems reads public keys, old and new, and certificates, several in a file', () => {
  const old = rsa.publicKey.export({ type: 'pkcs1', format: 'pem' }) as string;
  const found = readPems(`words before\n${old}\n${pemOf(ec256)}${selfSigned().cert}`);
  assert.equal(found.length, 3);
  assert.deepEqual(found.slice(0, 2), [pemOf(rsa), pemOf(ec256)]);
});

test('readPems refuses what can verify nothing, and private keys', () => {
  const secret = ec256.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const cases: [text: string, words: RegExp][] = [
    ['', /found no public key/],
    ['text', /found no public key/],
    ['-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----', /./],
    [secret, /found PRIVATE KEY/],
    [pemOf(ec256) + secret, /found PRIVATE KEY/],
    [pemOf(small), /1024 bits, want at least 2048/],
    [pemOf(ed25519), /kind "ed25519"/],
    [pemOf(ecPair('secp256k1')), /curve "secp256k1"/],
    [pemOf(ec256).repeat(9), /found 9 keys, want at most 8/],
  ];
  for (const [text, words] of cases) assert.throws(() => readPems(text), words);
});

test('readKeySet takes what can verify signatures, and says why it leaves out others', () => {
  const keys = [
    jwkOf(rsa, { kid: 'a', alg: 'RS256', use: 'sig', key_ops: ['verify'], x5c: ['AA'] }),
    jwkOf(ec256),
    jwkOf(rsa, { use: 'enc' }),
    jwkOf(rsa, { key_ops: ['encrypt'] }),
    jwkOf(small),
    jwkOf(ed25519),
    ec256.privateKey.export({ format: 'jwk' }),
    { kty: 'oct', k: 'AAAA' },
    { kty: 'RSA' },
    { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' },
    null,
    7,
  ];
  const { keys: found, skipped } = readKeySet(JSON.stringify({ keys }));
  assert.deepEqual(
    found.map(({ kid, alg, key }) => [kid, alg, Object.keys(key)]),
    [
      ['a', 'RS256', ['kty', 'n', 'e']],
      [undefined, undefined, ['kty', 'crv', 'x', 'y']],
    ],
  );
  assert.equal(skipped.length, 10);
  assert.match(skipped[4] ?? '', /private key/);
});

test('readKeySet refuses what is no key set, or a very large one', () => {
  for (const text of ['', '<html>', '[]', 'null', '7', '{}', '{"keys":{}}', '{"keys":null}']) {
    assert.throws(() => readKeySet(text), text);
  }
  const keys = Array.from({ length: 65 }, () => jwkOf(ec256));
  assert.throws(() => readKeySet(JSON.stringify({ keys })), /65 keys, want at most 64/);
  assert.deepEqual(readKeySet('{"keys":[]}'), { keys: [], skipped: [] });
});
