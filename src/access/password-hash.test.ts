import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import { hashCases } from './hash-cases-fixture.ts';
import { type HashScheme, parseHashScheme } from './hash-scheme.ts';
import {
  isCostly,
  makeHash,
  makeSalted,
  type StoredHash,
  type StoredPassword,
  verifyHash,
  verifyStored,
} from './password-hash.ts';

const bcryptHash = '$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a';

function schemeOf(text: string): HashScheme {
  const scheme = parseHashScheme(text);
  assert.ok(scheme, text);
  return scheme;
}

function fits(scheme: string, password: string, stored: StoredHash): Promise<boolean> {
  return verifyHash(schemeOf(scheme), Buffer.from(password), stored);
}

test('hashes that other programs have made fit their password, and no other', async () => {
  for (const { scheme, password, stored } of hashCases) {
    assert.equal(await fits(scheme, password, stored), true, `${scheme} ${password}`);
    for (const other of ['Secret', 'secret ', `${password}x`, password.slice(1)]) {
      assert.equal(await fits(scheme, other, stored), false, `${scheme} ${other}`);
    }
  }
});

test('hex digests fit in upper case as well, plain passwords do not', async () => {
  for (const { scheme, password, stored } of hashCases) {
    const { kind } = schemeOf(scheme);
    const upper = { ...stored, hash: stored.hash.toUpperCase() };
    const isHex = kind === 'digest' || kind === 'pbkdf2';
    assert.equal(await fits(scheme, password, upper), isHex, `${scheme} ${password}`);
  }
});

test('an empty password fits nothing, nor does anything fit an empty hash [CVE-2018-12551]', async () => {
  for (const { scheme, password, stored } of hashCases) {
    assert.equal(await fits(scheme, '', stored), false, scheme);
    assert.equal(await fits(scheme, '', { ...stored, hash: '' }), false, scheme);
    assert.equal(await fits(scheme, password, { ...stored, hash: '' }), false, scheme);
  }
  // The digests of nothing.
  for (const [scheme, digest] of [
    ['md5', 'md5'],
    ['sha', 'sha1'],
    ['sha256', 'sha256'],
  ] as const) {
    const hash = createHash(digest).digest('hex');
    assert.equal(await fits(scheme, '', { hash }), false, scheme);
  }
});

test('a malformed hash fits nothing and throws nothing [CVE-2018-12551]', async () => {
  const bad = [' ', ':', '$', '$$$', 'null', 'x'.repeat(100_000), '00', '\0', 'ü'.repeat(64), '%'];
  for (const { scheme, password, stored } of hashCases) {
    const { hash } = stored;
    const cut = [hash.slice(0, -1), hash.slice(1), `${hash}0`, ` ${hash}`, `${hash}\n`];
    for (const malformed of [...bad, ...cut]) {
      const it = { ...stored, hash: malformed };
      assert.equal(await fits(scheme, password, it), false, `${scheme} ${malformed.slice(0, 90)}`);
    }
  }
});

test('a scheme with a salt fits nothing where a row has none, or a malformed one', async () => {
  for (const { scheme, password, stored } of hashCases) {
    if (stored.salt === undefined) continue;
    assert.equal(await fits(scheme, password, { hash: stored.hash }), false, scheme);
    for (const salt of ['', 'x', '$2b$05$short', `${stored.salt}x`, stored.salt.slice(1)]) {
      assert.equal(await fits(scheme, password, { ...stored, salt }), false, `${scheme} ${salt}`);
    }
  }
});

test('an empty salt in a row is one, where it is hashed along', async () => {
  const hash = '2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b';
  assert.equal(await fits('salt,sha256', 'secret', { hash, salt: '' }), true);
  assert.equal(await fits('sha256,salt', 'secret', { hash, salt: '' }), true);
});

test('a hash that would take too long is not tried', async () => {
  const dear = ['$2b$31$abcdefghijklmnopqrstuu', '$2b$15$abcdefghijklmnopqrstuu'];
  for (const salt of dear) {
    const hash = salt + bcryptHash.slice(29);
    assert.equal(await fits('bcrypt', 'secret', { hash }), false, hash);
    assert.equal(await fits('salt,bcrypt', 'secret', { hash: bcryptHash, salt }), false, salt);
  }
  for (const salt of ['$2b$00$abcdefghijklmnopqrstuu', '$2b$03$abcdefghijklmnopqrstuu']) {
    assert.equal(await fits('bcrypt', 'secret', { hash: salt + bcryptHash.slice(29) }), false);
  }
  const costs = [
    'm=262145,t=1,p=1',
    'm=9999999,t=1,p=1',
    'm=262144,t=5,p=1',
    'm=256,t=9999999,p=1',
    'm=65536,t=2,p=17',
    'm=256,t=0,p=1',
    'm=256,t=2,p=0',
    'm=8,t=2,p=2',
    'm=0,t=2,p=1',
  ];
  for (const cost of costs) {
    const hash = `$argon2id$v=19$${cost}$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc`;
    assert.equal(await fits('argon2id', 'password', { hash }), false, cost);
  }
});

test('an argon2id hash with a tag that could be guessed fits nothing', async () => {
  const start = '$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$';
  for (const tag of ['', 'AA', 'bQk8UB', 'bQk8UB/VmZZF4Oo79iDXu']) {
    assert.equal(await fits('argon2id', 'password', { hash: start + tag }), false, tag);
  }
});

test('bcrypt takes no password that it would read in part', async () => {
  const scheme = schemeOf('bcrypt');
  const stored = { hash: bcryptHash };
  for (const bytes of [
    Buffer.from('secret\0'),
    Buffer.from('secret\0secret\0'),
    Buffer.concat([Buffer.from('secret'), Buffer.of(0xff)]),
  ]) {
    assert.equal(await verifyHash(scheme, bytes, stored), false);
  }
});

test('passwords of any bytes are told apart', async () => {
  const one = Buffer.of(0xff, 0xfe);
  const other = Buffer.of(0xfe, 0xff);
  const hash = createHash('sha256').update(one).digest('hex');
  assert.equal(await verifyHash(schemeOf('sha256'), one, { hash }), true);
  assert.equal(await verifyHash(schemeOf('sha256'), other, { hash }), false);
});

test('a stored password says itself how it was made', async () => {
  const forms: readonly StoredPassword[] = [
    await makeHash(Buffer.from('secret')),
    bcryptHash,
    bcryptHash.replace('$2b', '$2y'),
    // By Python: b'\x01\xfe\x80A' + sha256(b'\x01\xfe\x80A' + b'secret').hexdigest().encode()
    {
      scheme: 'sha256',
      value: '\x01\xfe\x80A5588e84fbe00f52b8be7922e0ef0003f7bceb6eec95846331dc32b4cb840b594',
    },
    ...['plain', 'md5', 'sha', 'sha256', 'sha512'].map((scheme) =>
      makeSalted(scheme, Buffer.from('secret')),
    ),
  ];
  for (const stored of forms) {
    const text = JSON.stringify(stored);
    assert.equal(await verifyStored(Buffer.from('secret'), stored), true, text);
    assert.equal(await verifyStored(Buffer.from('Secret'), stored), false, text);
    assert.equal(await verifyStored(Buffer.alloc(0), stored), false, text);
    // As a store would give it back.
    const again = JSON.parse(text) as StoredPassword;
    assert.equal(await verifyStored(Buffer.from('secret'), again), true, text);
  }
});

test('a stored password that nobody can read fits nothing [CVE-2018-12551]', async () => {
  const { value } = makeSalted('sha256', Buffer.from('secret'));
  const forms: readonly StoredPassword[] = [
    '',
    'secret',
    '$',
    '$2b$',
    '$argon2id$',
    '$argon2i$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc',
    { scheme: 'sha256', value: '' },
    { scheme: 'sha256', value: value.slice(0, 4) },
    { scheme: 'sha256', value: value.slice(0, -1) },
    { scheme: 'sha256', value: value.slice(4) },
    { scheme: 'sha256', value: `ā${value.slice(1)}` },
    { scheme: 'sha512', value },
    { scheme: 'plain', value },
    { scheme: 'plain', value: '' },
    { scheme: 'plain', value: 'secret' },
    { scheme: 'none', value },
    { scheme: 'salt,sha256', value },
    { scheme: 'bcrypt', value: bcryptHash },
  ];
  for (const stored of forms) {
    assert.equal(
      await verifyStored(Buffer.from('secret'), stored),
      false,
      JSON.stringify(stored).slice(0, 90),
    );
  }
});

test('a password is never hashed to the same text twice', async () => {
  const password = Buffer.from('x');
  assert.notEqual(await makeHash(password), await makeHash(password));
  assert.notEqual(makeSalted('sha', password).value, makeSalted('sha', password).value);
});

test('an empty password is not hashed, nor one by a scheme that is none', async () => {
  await assert.rejects(makeHash(Buffer.alloc(0)), /Cannot hash the password: it is empty/);
  assert.throws(() => makeSalted('sha256', Buffer.alloc(0)), /it is empty/);
  for (const scheme of ['bcrypt', 'salt,sha', 'md4', '']) {
    assert.throws(() => makeSalted(scheme, Buffer.from('x')), RangeError, scheme);
  }
});

test('digests are cheap, everything made to be slow is costly', () => {
  const texts = ['plain', 'sha512', 'salt,md5', 'bcrypt', 'pbkdf2,sha256,1000,20', 'argon2id'];
  assert.deepEqual(
    texts.map((text) => isCostly(schemeOf(text))),
    [false, false, false, true, true, true],
  );
});
