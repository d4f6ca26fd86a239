import assert from 'node:assert/strict';
import test from 'node:test';
import { filterFor } from './standing-subscriptions.ts';

const client = { clientId: 'c1', username: 'ann' };

test('%c and %u are replaced where they are a whole level', () => {
  assert.equal(filterFor('$client/%c/#', client), '$client/c1/#');
  assert.equal(filterFor('%u/%c', client), 'ann/c1');
  assert.equal(filterFor('$share/g/%u/+', client), '$share/g/ann/+');
  assert.equal(filterFor('a-%c/%uu', client), 'a-%c/%uu');
});

test('a line with %u does not hold for a client without a username', () => {
  assert.equal(filterFor('u/%u', { clientId: 'c', username: undefined }), undefined);
  assert.equal(filterFor('u/%u', { clientId: 'c', username: '' }), undefined);
  assert.equal(filterFor('c/%c', { clientId: 'c', username: undefined }), 'c/c');
});

test('no name of a client becomes a wildcard, several levels or a prefix (CVE-2017-7650)', () => {
  for (const name of ['+', '#', 'a/b', 'a+', '#b', '/']) {
    assert.equal(filterFor('c/%c', { clientId: name, username: undefined }), undefined, name);
    assert.equal(filterFor('u/%u', { clientId: 'c', username: name }), undefined, name);
  }
  for (const name of ['$SYS', '$share', '$queue']) {
    assert.equal(filterFor('%c/#', { clientId: name, username: undefined }), undefined, name);
    assert.equal(filterFor('%c/g/x', { clientId: name, username: undefined }), undefined, name);
    assert.equal(filterFor('$share/g/%c/x', { clientId: name, username: undefined }), undefined);
    assert.equal(filterFor('c/%c', { clientId: name, username: undefined }), `c/${name}`);
  }
  assert.equal(filterFor('c/%c', { clientId: 'x'.repeat(65_535), username: undefined }), undefined);
});
