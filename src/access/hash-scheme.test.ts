import assert from 'node:assert/strict';
import { getHashes } from 'node:crypto';
import test from 'node:test';
import { hashSchemeExpects, hashSchemeFault, parseHashScheme } from './hash-scheme.ts';

test('a scheme is read from every form of the configuration', () => {
  const forms: readonly (readonly [string, unknown])[] = [
    ['plain', { kind: 'plain' }],
    ['md5', { kind: 'digest', digest: 'md5', salt: 'none' }],
    ['sha', { kind: 'digest', digest: 'sha1', salt: 'none' }],
    ['sha512', { kind: 'digest', digest: 'sha512', salt: 'none' }],
    ['salt,sha256', { kind: 'digest', digest: 'sha256', salt: 'before' }],
    ['sha256 , salt', { kind: 'digest', digest: 'sha256', salt: 'after' }],
    ['bcrypt', { kind: 'bcrypt', hasSaltColumn: false }],
    ['salt,bcrypt', { kind: 'bcrypt', hasSaltColumn: true }],
    ['bcrypt,salt', { kind: 'bcrypt', hasSaltColumn: true }],
    ['pbkdf2,sha256,1000,20', { kind: 'pbkdf2', digest: 'sha256', iterations: 1000, keyBytes: 20 }],
    [
      'pbkdf2, ripemd160, 7, 32',
      { kind: 'pbkdf2', digest: 'ripemd160', iterations: 7, keyBytes: 32 },
    ],
    ['argon2id', { kind: 'argon2id' }],
  ];
  for (const [text, scheme] of forms) {
    assert.deepEqual(parseHashScheme(text), scheme, text);
    assert.equal(hashSchemeFault(text), undefined);
  }
});

test('a scheme that is none is refused, with what would be one', () => {
  const texts = [
    '',
    'SHA256',
    'sha-256',
    'toString',
    'salt',
    'salt,salt',
    'salt,plain',
    'argon2id,salt',
    'salt,pbkdf2',
    'salt,sha256,salt',
    'pbkdf2',
    'pbkdf2,sha256,1000',
    'pbkdf2,sha256,1000,20,1',
    'pbkdf2,constructor,1000,20',
    'pbkdf2,sha256,-1,20',
    'pbkdf2,sha256,1e3,20',
  ];
  for (const text of texts) {
    assert.equal(parseHashScheme(text), undefined, text);
    assert.equal(hashSchemeFault(text), `expected ${hashSchemeExpects}`, text);
  }
});

test('a scheme that costs too much or proves too little is refused', () => {
  const costs = ['0,20', '5000001,20', '999999999,20', '1000,7', '1000,129', '1000,0'];
  for (const cost of costs) assert.equal(parseHashScheme(`pbkdf2,sha256,${cost}`), undefined, cost);
  for (const cost of ['1,8', '5000000,128']) {
    assert.notEqual(parseHashScheme(`pbkdf2,sha256,${cost}`), undefined, cost);
  }
});

test('a digest that the runtime lacks is refused, by its name', () => {
  // OpenSSL 3 has retired it.
  assert.equal(getHashes().includes('md4'), false);
  assert.equal(parseHashScheme('pbkdf2,md4,1000,16'), undefined);
  assert.match(
    hashSchemeFault('pbkdf2,md4,1000,16') ?? '',
    /^"md4" is not offered by this runtime/,
  );
  assert.doesNotMatch(hashSchemeExpects, /md4/);
});
