// Access rules asked before anybody tries: who may, and which rule says so.

import assert from 'node:assert/strict';
import test from 'node:test';
import { parseWho } from '#admin/acl-check';
import { RuledNode } from './acl-fixture.ts';

const rules = `%% rules
{allow, {user, "ann"}, pubsub, ["own/%c/#"]}.
{allow, {ipaddr, "10.0.0.0/8"}, subscribe, ["lan/#"]}.
{deny, all, subscribe, ["$SYS/#", {eq, "#"}]}.`;
const own = '{allow, {user, "ann"}, pubsub, ["own/%c/#"]}.';
const lan = '{allow, {ipaddr, "10.0.0.0/8"}, subscribe, ["lan/#"]}.';
const sys = '{deny, all, subscribe, ["$SYS/#", {eq, "#"}]}.';

for (const workers of [0, 2]) {
  test(`acl check names the rule that decides, ${workers} workers`, async () => {
    await using node = await RuledNode.start({
      workers,
      rules,
      settings: { 'zone.inner.enable_acl': 'off' },
    });
    const { managed, file } = node;
    await node.connect('c1', { username: 'ann' });
    const check = async (...words: string[]): Promise<string> => {
      const { stdout, stderr } = await managed.ctl('acl', 'check', ...words);
      return stdout + stderr;
    };
    for (const [words, wanted] of [
      [['c1', 'publish', 'own/c1/x'], `allow by ${file}:2 ${own}`],
      [['c1', 'subscribe', '$share/g/own/c1/+'], `allow by ${file}:2 ${own}`],
      [['c1', 'publish', 'own/c2/x'], 'deny by nomatch'],
      [['client=c2,user=ann', 'publish', 'own/c2/x'], `allow by ${file}:2 ${own}`],
      [['client=c1,user=ben', 'publish', 'own/c1/x'], 'deny by nomatch'],
      [['client=c1', 'publish', 'own/c1/x'], 'deny by nomatch'],
      [['ip=10.1.2.3', 'subscribe', 'lan/#'], `allow by ${file}:3 ${lan}`],
      [['user=ben', 'subscribe', 'lan/#'], 'deny by nomatch'],
      [['user=ben', 'subscribe', '#'], `deny by ${file}:4 ${sys}`],
      [['user=ben', 'subscribe', '$SYS/x'], `deny by ${file}:4 ${sys}`],
      [['user=ben', 'publish', '$SYS/x'], 'deny by system'],
      [['user=ben,zone=inner', 'publish', 'x'], 'allow by off'],
      [
        ['c1', 'publish', 'a/#'],
        'Cannot publish to "a/#": wildcard "#" is not allowed in a topic name',
      ],
      [['user=ben,zone=none', 'publish', 'x'], /^Cannot use zone = "none"/],
      [
        ['user=ben,user=ann', 'publish', 'x'],
        /^Cannot use "user=ben,user=ann": user is said twice/,
      ],
      [['nobody', 'publish', 'x'], /^Cannot find client "nobody"/],
    ] as const) {
      const said = (await check(...words)).trimEnd();
      if (typeof wanted === 'string') assert.equal(said, wanted, words.join(' '));
      else assert.match(said, wanted, words.join(' '));
    }
    const bad = await managed.ctl('acl', 'check', 'c1', 'read', 'x');
    assert.match(bad.stderr, /action/);
  });

  test(`GET /acl/check and explain name the rule, too, ${workers} workers`, async () => {
    await using node = await RuledNode.start({ workers, rules });
    const { managed, file } = node;
    await node.connect('c1', { username: 'ann' });
    const asked = await managed.get('/acl/check?client_id=c1&action=publish&topic=own/c1/x');
    assert.deepEqual(asked.body, {
      code: 0,
      data: {
        allow: true,
        by: 'acl_internal',
        rule: own,
        source: `${file}:2`,
        client_id: 'c1',
        username: 'ann',
        zone: 'external',
        mountpoint: '',
        ipaddress: '127.0.0.1',
        state: 'connected',
      },
    });
    const supposed = await managed.get('/acl/check?username=ben&action=subscribe&topic=lan/%23');
    const { allow, by, state, ipaddress } = supposed.body.data as Record<string, unknown>;
    assert.deepEqual([allow, by, state, ipaddress], [false, 'nomatch', 'supposed', '']);
    const missing = await managed.get('/acl/check?action=subscribe&topic=x');
    assert.equal(missing.body.code, 107);
    const publish = await managed.post('/explain/publish', { client_id: 'c1', topic: 'own/c1/x' });
    const acl = { allow: true, by: 'acl_internal', rule: own, source: `${file}:2` };
    assert.deepEqual((publish.body.data as { acl: unknown }).acl, acl);
    const subscribe = await managed.post('/explain/subscribe', { client_id: 'c1', topic: '#' });
    assert.deepEqual((subscribe.body.data as { acl: unknown }).acl, {
      allow: false,
      by: 'acl_internal',
      rule: sys,
      source: `${file}:4`,
    });
    const tree = (await managed.ctl('explain', 'publish', 'c1', 'own/c1/x')).stdout;
    assert.ok(tree.includes(`acl: allow by acl_internal: ${own} at ${file}:2`), tree);
  });
}

test('who is asked about is a client id, or what is said of one', () => {
  for (const [who, wanted] of [
    ['sensor-1', { clientId: 'sensor-1' }],
    ['a,user=b', { clientId: 'a,user=b' }],
    ['user=b', { zone: 'external', username: 'b' }],
    [
      'client=a,b,user=c=d,ip=::1',
      { zone: 'external', clientId: 'a,b', username: 'c=d', ip: '::1' },
    ],
    ['client=user=x', { zone: 'external', clientId: 'user=x' }],
    ['ip=10.0.0.1,zone=inner', { zone: 'inner', ip: '10.0.0.1' }],
  ] as const) {
    assert.deepEqual(parseWho(who), wanted, who);
  }
  assert.throws(() => parseWho('ip=1,ip=2'), /ip is said twice/);
});
