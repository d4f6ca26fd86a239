// Hashes that other programs have made: digests and pbkdf2 by Python's hashlib, bcrypt by crypt(3) of
// libxcrypt, argon2id by the tests of the reference implementation.

import type { StoredHash } from './password-hash.ts';

export interface HashCase {
  readonly scheme: string;
  readonly password: string;
  readonly stored: StoredHash;
}

const a = 'secret';
const b = 'pässwörd ☂';
const saltA = 's4lt';
const saltB = 'NaCl-0815';

const unsalted: readonly (readonly [string, string, string])[] = [
  ['plain', a, 'secret'],
  ['plain', b, 'pässwörd ☂'],
  ['md5', a, '5ebe2294ecd0e0f08eab7690d2a6ee69'],
  ['md5', b, 'fddf8fe7c08a11295a8769e4f5482b4e'],
  ['sha', a, 'e5e9fa1ba31ecd1ae84f75caaa474f3a663f05f4'],
  ['sha', b, '854bd89a83f6fc6da84fbf934fbd963a09af5262'],
  ['sha256', a, '2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b'],
  ['sha256', b, '3377d58b44e18492c8a24cad278a5c78872046892bcf256394d84821e1701f28'],
  [
    'sha512',
    a,
    'bd2b1aaf7ef4f09be9f52ce2d8d599674d81aa9d6a4421696dc4d93dd0619d682ce56b4d64a9ef097761ced99e0f67265b5f76085e5b0ee7ca4696b2ad6fe2b2',
  ],
  [
    'sha512',
    b,
    '01375895baca7d2497e4faf382e3a5d2c279f0a101d70aafbdcdd0f53fcaa745beac518f6430d933340499ec450a0612af14747664005adf75b89423d24bd1db',
  ],
  ['bcrypt', a, '$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a'],
  ['bcrypt', b, '$2y$06$abcdefghijklmnopqrstuuNMrTLKoz0XXmz67xWVz2ii5eP4iIuta'],
  [
    'argon2id',
    'password',
    '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
  ],
  [
    'argon2id',
    'password',
    '$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc',
  ],
];

const salted: readonly (readonly [string, string, string, string])[] = [
  ['salt,md5', a, saltA, '479b80a052d9ed7c9c9ee178b84d19f6'],
  ['salt,md5', b, saltB, 'e32ada6fecf4ebd651855a000360d8cd'],
  ['md5,salt', a, saltA, '79a8ffb5a7a404ab62e757c94582818f'],
  ['md5,salt', b, saltB, 'eb8715eed6d363d08ccec55bd806c5ff'],
  ['salt,sha', a, saltA, '29acd6287bbcbaa53dc5ed18803e514e97f10479'],
  ['salt,sha', b, saltB, '86fd32a12b9836e9bbf66e00ff8cb755d44bdeb8'],
  ['sha,salt', a, saltA, '1ad2b97c839fc59193c12ad97884e7830bc753b0'],
  ['sha,salt', b, saltB, '5dfa1d5e22bd7d0be7604f6a99bbc7673f1800ee'],
  ['salt,sha256', a, saltA, '56fb59a0918a8e898cc46532428936acd1717e608c197eef668b7c6ef2f3c655'],
  ['salt,sha256', b, saltB, 'dbb671c44fd957b951734321e50767ee42807e041554fd563b48827a76ce2e28'],
  ['sha256,salt', a, saltA, '96d1d6fd3676b1d199e85516233edbfc74c98dd9253ec9b940cda372f96ff74a'],
  ['sha256,salt', b, saltB, '4f5ef2c3d88b2fc5bb165e9f3f6cdc3cea3251baccf47abdacc4bfdc69e0e4fd'],
  [
    'salt,sha512',
    a,
    saltA,
    'db69765faa2d485daef3791a8601f95f4b82a36dfbed081c3e9c794a697f0ba88a18b81e91381d08a3f9c27c882f5a9f9ae3614877611d726d171aa4668ec3a9',
  ],
  [
    'sha512,salt',
    b,
    saltB,
    'aba592bf1a9f41b5e06f89c478a4556d0ec81e527e936cd3a647e77f880b207e5e5f4a142ae85897f57a8564247faa0d32dceae6587d1e1da12ad660ba208a0e',
  ],
  [
    'salt,bcrypt',
    a,
    '$2b$05$abcdefghijklmnopqrstuu',
    '$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a',
  ],
  // Four bits of a salt's last character count; the hash has them written another way.
  [
    'bcrypt,salt',
    a,
    '$2a$04$abcdefghijklmnopqrstuv',
    '$2a$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW',
  ],
  ['pbkdf2,sha256,1000,20', a, saltA, '590d642fa9984365939005bdce394a62db7eba9b'],
  ['pbkdf2,sha256,1000,20', b, saltB, '612d4a5177f0210318d14f41b71d686254c9a225'],
  ['pbkdf2,md5,2,16', a, saltA, 'd059c5c3e5225558f993ab0256e41666'],
  ['pbkdf2,md5,2,16', b, saltB, '84d33129ce1409fdf0909b954bd882fe'],
  ['pbkdf2,ripemd160,7,20', a, saltA, 'aeba6c542af8b33e48efbec69ff6a160fc068df9'],
  ['pbkdf2,ripemd160,7,20', b, saltB, 'c8df76eb8f9e0f76648a138dfbefb7a96ff85bee'],
  ['pbkdf2,sha,4096,20', a, saltA, '6a4ed0c338e43cf91a65e148112ce2fea0fd39af'],
  ['pbkdf2,sha,4096,20', b, saltB, 'bbe5cde8d3292ccef891423bc75038ec386c18df'],
  ['pbkdf2,sha224,3,28', a, saltA, 'f354e6b7ba4edd17d0dc866c97ba7c9ab0a6098840d544def1e2adf5'],
  ['pbkdf2,sha224,3,28', b, saltB, 'db26ac6d3c46384f92fbd47ab99cf7001f8d81311f0ef6a590d99bdb'],
  [
    'pbkdf2,sha384,5,48',
    a,
    saltA,
    '4316b7763596c29f83c84a68e546c53656fa9a04a796745279d93ba01e8c984f85cafd6abfac6cf4dac02228989c8d0a',
  ],
  [
    'pbkdf2,sha384,5,48',
    b,
    saltB,
    'a9ce30aa0b9d8a8d59f4e85859f64d9f47c6ff78d4c2f877765fdbc31e626be70e1fe6c6dccc5573aa756c72d885f15b',
  ],
  [
    'pbkdf2,sha512,1000,64',
    a,
    saltA,
    '805199f5775d8ee16726f5846baf34e51bf73f5029632ec699751e48149a63e3b725c37e6338ad75912ffdd437ec653c358d32088b5a7571631e2450bb139a1b',
  ],
  [
    'pbkdf2,sha512,1000,64',
    b,
    saltB,
    '4a6e63960806879a526ac9d62c404af5fefb7511b06a0f8776399b272ed7b825eec8883afc692f694f92763d3fe70bd67690db8a7903ce81328e73684fb399e5',
  ],
];

export const hashCases: readonly HashCase[] = [
  ...unsalted.map(([scheme, password, hash]) => ({ scheme, password, stored: { hash } })),
  ...salted.map(([scheme, password, salt, hash]) => ({
    scheme,
    password,
    stored: { hash, salt },
  })),
];
