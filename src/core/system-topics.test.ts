import assert from 'node:assert/strict';
import test from 'node:test';
import { isSystemTopic, isUnderSystem, mayReadSystem } from './system-topics.ts';

test('only what begins with $SYS/ is a system topic', () => {
  assert.ok(isSystemTopic('$SYS/brokers'));
  assert.ok(isSystemTopic('$SYS/#'));
  for (const topic of ['$SYS', '$SYSX/a', '$sys/a', 'a/$SYS/b', '', '$share/g/$SYS/#']) {
    assert.equal(isSystemTopic(topic), false, topic);
  }
});

test('under a mountpoint $SYS/ is an ordinary name', () => {
  assert.ok(isUnderSystem('', '$SYS/a'));
  assert.equal(isUnderSystem('tenant/', '$SYS/a'), false);
  assert.ok(isUnderSystem('$SYS/', 'a'));
});

test('system topics are read by clients of this machine and by the dashboard', () => {
  const reads = (address: string, username?: string): boolean =>
    mayReadSystem('local', { address, username });
  assert.ok(reads('127.0.0.1'));
  assert.ok(reads('127.4.5.6'));
  assert.ok(reads('::1'));
  assert.ok(reads('10.0.0.1', 'dashboard'));
  for (const address of ['10.0.0.1', '1.127.0.1', '::2', 'fe80::1', '']) {
    assert.equal(reads(address, 'someone'), false, address);
    assert.ok(mayReadSystem('all', { address, username: undefined }));
  }
});
