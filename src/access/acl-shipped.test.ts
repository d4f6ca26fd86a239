import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import type { AccessAction } from '#core/access';
import { describeRule, parseAcl } from './acl-file.ts';
import { AclRules } from './acl-rules.ts';
import type { AclClient } from './acl-who-index.ts';

const rules = new AclRules(parseAcl(readFileSync('etc/acl.conf', 'utf8')));

const remote: AclClient = { clientId: 'c', username: undefined, address: '192.0.2.1' };
const local: AclClient = { ...remote, address: '127.0.0.1' };
const dashboard: AclClient = { ...remote, username: 'dashboard' };

function isAllowed(client: AclClient, action: AccessAction, topic: string): boolean | undefined {
  return rules.decide(client, action, topic)?.isAllowed;
}

test('the shipped rules let the dashboard and local clients subscribe to $SYS, nobody else', () => {
  for (const filter of ['$SYS/#', '$SYS/brokers', '$SYS/brokers/+/version']) {
    assert.equal(isAllowed(dashboard, 'subscribe', filter), true, filter);
    assert.equal(isAllowed(local, 'subscribe', filter), true, filter);
    assert.equal(isAllowed({ ...local, address: '::1' }, 'subscribe', filter), true, filter);
    assert.equal(isAllowed({ ...local, address: '::ffff:127.0.0.1' }, 'subscribe', filter), true);
    assert.equal(isAllowed(remote, 'subscribe', filter), false, filter);
    assert.equal(isAllowed({ ...remote, clientId: 'dashboard' }, 'subscribe', filter), false);
  }
});

test('the shipped rules let nobody but local clients subscribe to #', () => {
  assert.equal(isAllowed(local, 'subscribe', '#'), true);
  assert.equal(isAllowed(dashboard, 'subscribe', '#'), false);
  assert.equal(isAllowed(remote, 'subscribe', '#'), false);
});

test('the shipped rules allow everybody everything else', () => {
  for (const topic of ['a', 'a/b', '+', 'a/#', '$other/x']) {
    assert.equal(isAllowed(remote, 'subscribe', topic), true, topic);
  }
  for (const topic of ['a', 'a/b', '$other/x']) {
    assert.equal(isAllowed(remote, 'publish', topic), true, topic);
  }
});

test('the shipped rules decide always, and are these', () => {
  assert.deepEqual(rules.rules.map(describeRule), [
    '{allow, {user, "dashboard"}, subscribe, ["$SYS/#"]}.',
    '{allow, {\'or\', [{ipaddr, "127.0.0.1"}, {ipaddr, "::1"}]}, pubsub, ["$SYS/#", "#"]}.',
    '{deny, all, subscribe, ["$SYS/#", {eq, "#"}]}.',
    '{allow, all}.',
  ]);
});
