import assert from 'node:assert/strict';
import test from 'node:test';
import { ConfigError } from './config-error.ts';
import { loadSettings } from './load.ts';

const lines = [
  'module.subscription.2.topic=$queue/all',
  'module.subscription.1.topic=$client/%c/#',
  'module.subscription.1.qos=2',
  'module.rewrite.rule.10=y/+/z/# ^y/(.+)/z/(.+)$ y/z/$2',
  'module.rewrite.rule.9=x/#   ^x/y/(.+)$   z/y/$1',
];

function refused(...sets: string[]): string {
  try {
    loadSettings({ sets });
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message;
  }
  return 'accepted';
}

test('lines of modules hold in the order of their numbers, where the module is on', () => {
  const sets = [...lines, 'module.subscription=on', 'module.rewrite=on'];
  const { subscriptions, rewriteRules } = loadSettings({ sets }).modules;
  assert.deepEqual(subscriptions, [
    { topic: '$client/%c/#', qos: 2 },
    { topic: '$queue/all', qos: 1 },
  ]);
  assert.deepEqual(rewriteRules, [
    { number: 9, filter: 'x/#', regex: '^x/y/(.+)$', dest: 'z/y/$1' },
    { number: 10, filter: 'y/+/z/#', regex: '^y/(.+)/z/(.+)$', dest: 'y/z/$2' },
  ]);
  const off = loadSettings({ sets: lines }).modules;
  assert.deepEqual([off.subscriptions, off.rewriteRules], [[], []]);
});

test('a subscription of the module that is no filter is refused at the start', () => {
  const bad: readonly (readonly [string, RegExp])[] = [
    ['a/#/b', /found level "#"/],
    ['a/b+', /found level "b\+"/],
    ['$share/g', /no filter behind the share name/],
    ['$share//x', /share name ""/],
    ['$share/+/x', /share name "\+"/],
    ['$queue/$share/g/x', /inside another/],
    ['$queue/', /no filter behind/],
  ];
  for (const [topic, why] of bad)
    assert.match(refused(`module.subscription.1.topic=${topic}`), why);
  for (const topic of ['a/+/#', '#', '$share/g/+/x', '$queue/%c', '%u']) {
    assert.equal(refused(`module.subscription.1.topic=${topic}`), 'accepted', topic);
  }
  assert.match(
    refused('module.subscription.1.qos=1'),
    /expected a line module\.subscription\.1\.topic/,
  );
  assert.match(refused('module.subscription.1.qos=3'), /0, 1 or 2/);
});

test('a rewrite rule that cannot be used is refused at the start, with the reason', () => {
  const bad: readonly (readonly [string, RegExp])[] = [
    ['x/# ^x$', /a filter, a regular expression and a destination/],
    ['x/# ^x$ y z', /a filter, a regular expression and a destination/],
    ['x#/ ^x$ y', /filter "x#\/": found level/],
    ['$SYS/# ^(.*)$ y/$1', /not rewritten/],
    ['$share/g/x ^x$ y', /not rewritten/],
    ['x/# ^x/(.+$ y', /regular expression "\^x\/\(\.\+\$": a group is not closed/],
    ['x/# ^x/(.)\\1$ y', /back-references are not allowed/],
    ['x/# ^x/(.+)$ y/$2', /found \$2, the expression has 1 groups/],
    ['x/# ^x/(.+)$ y/$0', /found \$0/],
    ['x/# ^x$ $SYS/y', /no name may begin so/],
    ['x/# ^x$ $queue/y', /no name may begin so/],
    ['x/# ^x$ y/#', /wildcards are not allowed/],
  ];
  for (const [rule, why] of bad) assert.match(refused(`module.rewrite.rule.1=${rule}`), why, rule);
  // Nobody can wait for it, so it is no danger.
  assert.equal(refused('module.rewrite.rule.1=x/# ^(x+)+$ y'), 'accepted');
});
