import assert from 'node:assert/strict';
import test from 'node:test';
import { AccessRules } from './access-rules.ts';

test('access rules let the first match decide', () => {
  const rules = new AccessRules([
    { allow: false, range: '10.1.2.3' },
    { allow: true, range: '10.1.0.0/16' },
    { allow: false, range: 'all' },
  ]);
  assert.equal(rules.allows('10.1.2.3'), false);
  assert.equal(rules.allows('10.1.2.4'), true);
  assert.equal(rules.allows('10.2.0.1'), false);
  assert.equal(rules.allows('::1'), false);
});

test('access rules accept when none matches', () => {
  const rules = new AccessRules([{ allow: false, range: '2001:db8::/32' }]);
  assert.equal(rules.allows('127.0.0.1'), true);
  assert.equal(rules.allows('2001:db9::1'), true);
  assert.equal(rules.allows('2001:db8:1::1'), false);
  assert.equal(new AccessRules([]).allows('127.0.0.1'), true);
});

test('access rules see an IPv4-mapped address as its IPv4 address', () => {
  const rules = new AccessRules([{ allow: false, range: '192.168.0.0/24' }]);
  assert.equal(rules.allows('::ffff:192.168.0.7'), false);
  assert.equal(rules.allows('::ffff:192.168.1.7'), true);
});

test('access rules refuse a range that is not one', () => {
  for (const range of ['localhost', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/x', '::/129', '']) {
    assert.throws(
      () => new AccessRules([{ allow: true, range }]),
      /Cannot read access rule/,
      range,
    );
  }
});
