import assert from 'node:assert/strict';
import test from 'node:test';
import { Hooks } from '#hooks/runner';
import type { ClientInfo } from '#hooks/table';
import { AclHook, aclOwner } from './acl-hook.ts';

const client = { clientId: 'c', username: 'u', address: '127.0.0.1' } as ClientInfo;

function setUp(isRechecked = true): { hooks: Hooks; acl: AclHook } {
  const hooks = new Hooks((hook, owner, error) =>
    assert.fail(`${hook} of ${owner}: ${String(error)}`),
  );
  return { hooks, acl: new AclHook({ hooks, isRechecked }) };
}

test('rules answer for what they speak of, and pass on the rest', () => {
  const { hooks, acl } = setUp();
  acl.set('{allow, {user, "u"}, publish, "yes"}.\n{deny, all, publish, "no"}.');
  const ask = (topic: string) => hooks.ask('client.check_acl', 'deny', client, 'publish', topic);
  assert.deepEqual([ask('yes'), ask('no'), ask('other')], ['allow', 'deny', 'ignore']);
  const ofRetained = (topic: string) => hooks.ask('message.check_retained', 'deny', client, topic);
  assert.deepEqual(
    [ofRetained('yes'), ofRetained('no'), ofRetained('other')],
    ['allow', 'deny', 'ignore'],
  );
  assert.deepEqual(acl.ruleFor(client, 'publish', 'no'), {
    line: 2,
    text: '{deny, all, publish, ["no"]}.',
  });
  assert.equal(acl.ruleFor(client, 'subscribe', 'no'), undefined);
});

test('rules take the place of others at once, behind all plugins, and nobody finds the chain without them', () => {
  const { hooks, acl } = setUp();
  acl.set('{deny, all}.');
  hooks.on('client.check_acl', 'plugin', () => 'ignore');
  const owners = (): string[] =>
    hooks.listeners('client.check_acl')?.map(({ owner }) => owner) ?? [];
  assert.deepEqual(owners(), ['plugin', aclOwner]);
  let changes = 0;
  hooks.onChange = () => {
    changes++;
    assert.deepEqual(owners(), ['plugin', aclOwner]);
  };
  acl.set('{allow, all}.');
  assert.equal(changes, 1);
  assert.equal(hooks.ask('client.check_acl', 'deny', client, 'publish', 't'), 'allow');
});

test('CVE-2017-7652: text that is no rules changes nothing', () => {
  const { hooks, acl } = setUp();
  acl.set('{deny, all}.');
  const { rules } = acl;
  assert.throws(() => acl.set('{allow, all'), { name: 'AclError' });
  assert.equal(acl.rules, rules);
  assert.equal(hooks.ask('client.check_acl', 'deny', client, 'publish', 't'), 'deny');
});

test('without rules nobody is asked, and without acl.recheck nobody about what was retained', () => {
  const { hooks, acl } = setUp(false);
  acl.set('{deny, all}.');
  assert.deepEqual(
    [hooks.has('client.check_acl'), hooks.has('message.check_retained')],
    [true, false],
  );
  acl.set('%% none');
  assert.equal(hooks.has('client.check_acl'), false);
});
