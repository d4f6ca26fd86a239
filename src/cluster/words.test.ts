import assert from 'node:assert/strict';
import test from 'node:test';
import type { SessionHead } from '#core/store-port';
import { packHead, unpackHead } from './words.ts';

const head: SessionHead = {
  clientId: 'c',
  username: 'u',
  provenUsername: 'u',
  mountpoint: 'm/',
  zone: 'external',
  createdAtMs: 1,
  expirySeconds: 60,
  leftAtMs: 2,
  sentSeq: 2 ** 48 - 1,
};

for (const [what, one] of [
  ['with everything', head],
  ['that never expires', { ...head, expirySeconds: Number.POSITIVE_INFINITY }],
  ['that ends with its connection', { ...head, expirySeconds: 0 }],
  ['of nobody in particular', { ...head, username: undefined, provenUsername: undefined }],
  ['that is not left', { ...head, leftAtMs: undefined }],
] as const) {
  test(`the head of a session ${what} is the same behind a link`, () => {
    const got = unpackHead(JSON.parse(JSON.stringify(packHead(one))));
    assert.deepEqual(got, one);
    assert.deepEqual(Object.keys(got).toSorted(), Object.keys(one).toSorted());
  });
}
