import assert from 'node:assert/strict';
import test from 'node:test';
import { readHeader } from './token.ts';
import { encode, makeToken } from './token-fixture.ts';

test('readHeader leaves to others what has no readable header', () => {
  const others = [
    '',
    '.',
    'secret',
    'a.b.c',
    'pass.word',
    `${encode({ alg: 'HS256' })}`,
    `${encode([])}.x.y`,
    `${encode('text')}.x.y`,
    `${encode(null)}.x.y`,
    `${encode(7)}.x.y`,
    ` ${makeToken({})}`,
    `${'A'.repeat(1_000_000)}.x.y`,
    `${Buffer.from('{"alg"').toString('base64url')}.x.y`,
  ];
  for (const text of others) assert.equal(readHeader(text), undefined, text.slice(0, 40));
});

test('readHeader finds a token in whatever has one, whatever follows', () => {
  const found = readHeader(makeToken({}, { header: { kid: 'k1' } }));
  assert.deepEqual(found, { algorithm: 'HS256', keyId: 'k1', isCritical: false });
  assert.ok(readHeader(`${encode({})}.`));
  assert.equal(readHeader(`${encode({ crit: null })}.x.y`)?.isCritical, true);
  for (const kid of [7, null, {}, 'x'.repeat(600)]) {
    assert.equal(readHeader(`${encode({ kid })}.x.y`)?.keyId, undefined);
  }
});
