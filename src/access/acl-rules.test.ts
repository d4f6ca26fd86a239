import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { AccessAction } from '#core/access';
import { describeRule, parseAcl } from './acl-file.ts';
import { AclRules } from './acl-rules.ts';
import type { AclClient } from './acl-who-index.ts';

const ann: AclClient = { clientId: 'c1', username: 'ann', address: '10.0.0.1' };

/** What the rules say: the line of the rule with + or -, undefined where none matches. */
function ask(
  rules: string,
  action: AccessAction,
  topic: string,
  client: Partial<AclClient> = {},
): number | undefined {
  const decision = new AclRules(parseAcl(rules)).decide({ ...ann, ...client }, action, topic);
  if (decision === undefined) return undefined;
  assert.equal(decision.isAllowed, decision.rule.isAllowed);
  return decision.isAllowed ? decision.rule.line : -decision.rule.line;
}

test('CVE-2018-12550: without rules nothing is decided', () => {
  assert.equal(ask('', 'publish', 'a'), undefined);
  assert.equal(ask('%% {allow, all}.', 'subscribe', '#'), undefined);
  assert.deepEqual(new AclRules([]).rules, []);
});

test('the first rule that matches decides, and undefined where none does', () => {
  const rules = `{deny, {user, "ann"}, publish, ["a/secret"]}.
    {allow, all, publish, ["a/#"]}.
    {deny, {user, "ann"}, publish, ["a/b"]}.
    {allow, {client, "c1"}, subscribe, ["s"]}.
    {deny, all, pubsub, ["x"]}.`;
  assert.equal(ask(rules, 'publish', 'a/secret'), -1);
  assert.equal(ask(rules, 'publish', 'a/secret', { username: 'bob' }), 2);
  assert.equal(ask(rules, 'publish', 'a/b'), 2);
  assert.equal(ask(rules, 'subscribe', 'a/b'), undefined, 'the action counts');
  assert.equal(ask(rules, 'subscribe', 's'), 4);
  assert.equal(ask(rules, 'subscribe', 's', { clientId: 'c2' }), undefined);
  assert.equal(ask(rules, 'subscribe', 'x'), -5);
  assert.equal(ask(rules, 'publish', 'x'), -5);
  assert.equal(ask(rules, 'publish', 'y'), undefined);
});

test('a decision names the rule, which can be shown', () => {
  const rules = new AclRules(parseAcl('{deny, all, publish, "a"}.\n{allow, all}.'));
  const decision = rules.decide(ann, 'publish', 'a');
  assert.equal(decision?.rule, rules.rules[0]);
  assert.ok(decision !== undefined);
  assert.equal(describeRule(decision.rule), '{deny, all, publish, ["a"]}.');
});

test('{allow, all} reaches everything, and nothing behind it counts', () => {
  const rules =
    '{deny, all, publish, "a"}.\n{allow, all}.\n{deny, all}.\n{deny, all, publish, "b"}.';
  assert.equal(ask(rules, 'publish', 'a'), -1);
  assert.equal(ask(rules, 'publish', 'b'), 2);
  assert.equal(ask(rules, 'subscribe', '$SYS/#'), 2);
  assert.equal(ask(rules, 'subscribe', '#', { username: undefined, address: '' }), 2);
  assert.equal(ask('{deny, all}.', 'publish', 'a'), -1);
});

test('[MQTT-4.7.2-1] a wildcard at the beginning of a rule does not reach topics of the broker', () => {
  for (const filter of ['#', '+/x', '+/#']) {
    const rules = `{allow, all, pubsub, ["${filter}"]}.`;
    assert.equal(ask(rules, 'publish', 'a/x'), 1, filter);
    assert.equal(ask(rules, 'publish', '$SYS/x'), undefined, filter);
    assert.equal(ask(rules, 'subscribe', '$SYS/x'), undefined, filter);
  }
  assert.equal(ask('{allow, all, pubsub, ["$SYS/#"]}.', 'subscribe', '$SYS/x'), 1);
});

test('a subscription is allowed only where the rule covers all of its filter', () => {
  for (const [entry, asked, isCovered] of [
    ['t/#', 't/+/x', true],
    ['t/#', 't/#', true],
    ['t/#', 't', true],
    ['t/+', 't/+', true],
    ['t/+', 't/a', true],
    ['t/+', 't/#', false],
    ['t/a', 't/+', false],
    ['t/a', 't/#', false],
    ['+', '#', false],
    ['+/#', '#', false],
    ['#', '#', true],
    ['#', '+/#', true],
    ['t/+/#', 't/#', false],
  ] as const) {
    const said = ask(`{allow, all, subscribe, ["${entry}"]}.`, 'subscribe', asked);
    assert.equal(said, isCovered ? 1 : undefined, `${entry} for ${asked}`);
  }
});

test('{eq, …} means the very text', () => {
  const rules = '{deny, all, subscribe, [{eq, "#"}, {eq, "a/+"}, {eq, "d/%c"}]}.';
  assert.equal(ask(rules, 'subscribe', '#'), -1);
  assert.equal(ask(rules, 'subscribe', 'a/+'), -1);
  assert.equal(ask(rules, 'subscribe', 'd/%c'), -1);
  for (const other of ['+', 'a', '+/#', 'a/b', 'a/#', 'd/c1', '$SYS/#']) {
    assert.equal(ask(rules, 'subscribe', other), undefined, other);
  }
});

test('%c and %u stand for the client where they are a whole level', () => {
  const rules = '{allow, all, pubsub, ["dev/%c/up", "u/%u/#", "dev-%c", "%u", "x/%c/%u/+"]}.';
  for (const [topic, isNamed] of [
    ['dev/c1/up', true],
    ['dev/c2/up', false],
    ['dev/%c/up', false],
    ['u/ann', true],
    ['u/ann/a/b', true],
    ['u/bob/a', false],
    ['dev-c1', false],
    ['dev-%c', true],
    ['ann', true],
    ['%u', false],
    ['x/c1/ann/y', true],
    ['x/ann/c1/y', false],
  ] as const) {
    assert.equal(ask(rules, 'publish', topic), isNamed ? 1 : undefined, topic);
    assert.equal(ask(rules, 'subscribe', topic), isNamed ? 1 : undefined, topic);
  }
  assert.equal(ask(rules, 'subscribe', 'u/ann/#'), 1);
  assert.equal(ask(rules, 'subscribe', 'u/+/#'), undefined);
  assert.equal(ask(rules, 'subscribe', 'u/#'), undefined);
  assert.equal(ask(rules, 'subscribe', 'dev/+/up'), undefined);
});

test('%u matches nothing for a client without a username, not even itself', () => {
  const rules = '{allow, all, pubsub, ["u/%u/x", "ok"]}.';
  for (const topic of ['u/%u/x', 'u//x', 'u/undefined/x', 'u/+/x']) {
    assert.equal(ask(rules, 'subscribe', topic, { username: undefined }), undefined, topic);
  }
  assert.equal(ask(rules, 'publish', 'ok', { username: undefined }), 1);
});

test('CVE-2017-7650: a client id or username is never taken for a wildcard or several levels', () => {
  const rules = '{allow, all, pubsub, ["c/%c/#", "u/%u", "%c/in", "%u/in"]}.';
  for (const name of ['+', '#', '+/+', 'a/b', '/', 'a+', 'a#', '#/x', 'bob/#']) {
    const client = { clientId: name, username: name };
    const asked = [
      `c/${name}/x`,
      `c/${name}`,
      `u/${name}`,
      `${name}/in`,
      'c/victim/x',
      'u/victim',
      'c/a/b',
    ];
    for (const topic of [...asked, '#', 'c/+/x', 'c/#', 'u/+', 'u/#', 'victim/in', '+/in']) {
      for (const action of ['publish', 'subscribe'] as const) {
        assert.equal(ask(rules, action, topic, client), undefined, `${name}: ${action} ${topic}`);
      }
    }
  }
  const other = { clientId: 'fine', username: '+' };
  assert.equal(ask(rules, 'publish', 'c/fine/x', other), 1, 'the id is good where the name is not');
});

test('a client id or username is never taken for another placeholder, nor for a topic of the broker', () => {
  const rules = '{allow, all, pubsub, ["%c/#", "x/%c", "x/%u/y"]}.';
  assert.equal(ask(rules, 'publish', '$SYS/x', { clientId: '$SYS' }), undefined);
  assert.equal(ask(rules, 'subscribe', '$SYS/#', { clientId: '$SYS' }), undefined);
  assert.equal(ask(rules, 'publish', 'x/$SYS', { clientId: '$SYS' }), 1);
  assert.equal(ask(rules, 'publish', 'ann/x', { clientId: '%u' }), undefined);
  assert.equal(ask(rules, 'publish', '%u/x', { clientId: '%u' }), 1);
});

test('{ipaddr, …} holds for addresses of its range, however a socket writes them', () => {
  const from = (range: string, address: string): number | undefined =>
    ask(`{allow, {ipaddr, "${range}"}, publish, "a"}.`, 'publish', 'a', { address });
  assert.equal(from('127.0.0.1', '127.0.0.1'), 1);
  assert.equal(from('127.0.0.1', '::ffff:127.0.0.1'), 1);
  assert.equal(from('127.0.0.1', '127.0.0.2'), undefined);
  assert.equal(from('10.9.9.9/8', '10.1.2.3'), 1, 'host bits are masked');
  assert.equal(from('10.0.0.0/8', '11.0.0.1'), undefined);
  assert.equal(from('0.0.0.0/0', '8.8.8.8'), 1);
  assert.equal(from('0.0.0.0/0', '2001:db8::1'), undefined);
  assert.equal(from('2001:db8::/32', '2001:DB8:1::1'), 1);
  assert.equal(from('::1', '0:0:0:0:0:0:0:1'), 1);
  assert.equal(from('::/0', '8.8.8.8'), 1);
  assert.equal(from('::/0', ''), undefined, 'where there is no address');
});

test("'and' and 'or' hold for all and for one of their members", () => {
  const who = (text: string, client: Partial<AclClient> = {}): number | undefined =>
    ask(`{allow, ${text}, publish, "a"}.`, 'publish', 'a', client);
  const both = `{'and', [{user, "ann"}, {ipaddr, "10.0.0.0/8"}]}`;
  assert.equal(who(both), 1);
  assert.equal(who(both, { username: 'bob' }), undefined);
  assert.equal(who(both, { address: '11.0.0.1' }), undefined);
  const either = `{'or', [{user, "ann"}, {ipaddr, "10.0.0.0/8"}]}`;
  assert.equal(who(either, { username: 'bob' }), 1);
  assert.equal(who(either, { address: '11.0.0.1' }), 1);
  assert.equal(who(either, { username: 'bob', address: '11.0.0.1' }), undefined);
  assert.equal(who(`{'or', [{user, "bob"}, {'and', [all, {client, "c1"}]}]}`), 1);
  assert.equal(who(`{'or', [{user, "bob"}, {client, all}]}`), 1);
  assert.equal(who(`{'and', [{user, all}, {client, all}]}`, { username: undefined }), 1);
  assert.equal(who(`{'and', [${both}, {client, "c2"}]}`), undefined);
});

test('names of users and clients are compared as they are', () => {
  const rules = '{allow, {user, "c1"}, publish, "a"}.\n{allow, {client, "ann"}, publish, "a"}.';
  assert.equal(ask(rules, 'publish', 'a'), undefined, 'a name is not an id');
  assert.equal(ask('{allow, {user, "Ann"}, publish, "a"}.', 'publish', 'a'), undefined);
  assert.equal(ask('{allow, {user, "__proto__"}, publish, "a"}.', 'publish', 'a'), undefined);
  assert.equal(ask('{allow, {client, "#"}, publish, "a"}.', 'publish', 'a', { clientId: '#' }), 1);
});

test('a decision among 10 000 rules looks at one of them', () => {
  const text = Array.from(
    { length: 10_000 },
    (_, i) => `{allow, {user, "u${i}"}, publish, ["#"]}.\n{allow, all, publish, ["a/${i}/+"]}.`,
  );
  let looks = 0;
  const watched = new Proxy(parseAcl(text.join('\n')), {
    get: (rules, key, receiver): unknown => {
      looks++;
      return Reflect.get(rules, key, receiver);
    },
  });
  const rules = new AclRules(watched);
  looks = 0;
  assert.equal(rules.decide(ann, 'publish', 'a/9999/x')?.rule.line, 20_000);
  assert.equal(looks, 1);
  const late = { ...ann, username: 'u9998' };
  assert.equal(rules.decide(late, 'publish', 'a/9999/x')?.rule.line, 19_997);
  assert.equal(rules.decide(late, 'publish', '$a'), undefined);
  assert.equal(looks, 2);
});

test('topics and rules of 65 535 levels are decided', () => {
  const deep = '/'.repeat(65_534);
  const rules = `{deny, all, publish, ["${deep}"]}.\n{allow, all, publish, ["+/+/#"]}.`;
  assert.equal(ask(rules, 'publish', deep), -1);
  assert.equal(ask(rules, 'publish', `${deep}a`), 2);
});

test('rules decide as one looked at after the other', (t) => {
  const seed = Date.now() | 0;
  t.diagnostic(`seed ${seed}`);
  const asked = fc.tuple(
    fc.constantFrom<AccessAction>('publish', 'subscribe'),
    fc.oneof(topicText, topicText, filterText),
  );
  const agrees = fc.property(
    fc.array(rule, { maxLength: 25 }),
    fc.array(client, { minLength: 1, maxLength: 4 }),
    fc.array(asked, { minLength: 1, maxLength: 12 }),
    (drawn, clients, questions) => {
      const parsed = parseAcl(drawn.map(textOf).join('\n'));
      assert.deepEqual(parsed.map(describeRule), drawn.map(textOf));
      const rules = new AclRules(parsed);
      for (const [action, topic] of questions) {
        for (const one of clients) {
          const found = rules.decide(one, action, topic);
          const expected = drawn.findIndex((each) => speaks(each, one, action, topic));
          assert.equal(found && parsed.indexOf(found.rule), expected < 0 ? undefined : expected);
          assert.equal(found?.isAllowed, drawn[expected]?.isAllowed);
        }
      }
    },
  );
  fc.assert(agrees, { seed, numRuns: 3000 });
});

/** A rule of the property: nothing of it comes from the code that it judges. */
interface Drawn {
  readonly isAllowed: boolean;
  readonly who: DrawnWho;
  readonly action: 'publish' | 'subscribe' | 'pubsub';
  /** Undefined: {allow, all}. */
  readonly topics: readonly (readonly [filter: string, isLiteral: boolean])[] | undefined;
}

type DrawnWho =
  | readonly ['all']
  | readonly ['user' | 'client' | 'ipaddr', string]
  | readonly ['and' | 'or', readonly DrawnWho[]];

/** Which of the addresses drawn are in which range, by hand. */
const inRange: Readonly<Record<string, readonly string[]>> = {
  '10.0.0.1': ['10.0.0.1', '::ffff:10.0.0.1'],
  '10.0.0.9/24': ['10.0.0.1', '::ffff:10.0.0.1', '10.0.0.2'],
  '0.0.0.0/0': ['10.0.0.1', '::ffff:10.0.0.1', '10.0.0.2'],
  '::1': ['::1'],
  '::/0': ['10.0.0.1', '::ffff:10.0.0.1', '10.0.0.2', '::1'],
};

const name = fc.constantFrom('a', 'b', '$s', '%c', '%u', '+', '#', 'a/b', '+/a');
const client: fc.Arbitrary<AclClient> = fc.record({
  clientId: name,
  username: fc.option(name, { nil: undefined }),
  address: fc.constantFrom('10.0.0.1', '::ffff:10.0.0.1', '10.0.0.2', '::1', ''),
});
const level = fc.constantFrom('', 'a', 'b', '$s', '%c', '%u');
const topicText = fc
  .array(level, { minLength: 1, maxLength: 4 })
  .map((levels) => levels.join('/'))
  .filter((text) => text !== '');
const filterText = fc
  .tuple(fc.array(fc.oneof(level, fc.constant('+')), { maxLength: 4 }), fc.boolean())
  .map(([levels, isOpen]) => [...levels, ...(isOpen ? ['#'] : [])].join('/'))
  .filter((text) => text !== '');
const { who } = fc.letrec<{ who: DrawnWho; leaf: DrawnWho; group: DrawnWho }>((tie) => ({
  who: fc.oneof({ maxDepth: 3, depthSize: 'small' }, tie('leaf'), tie('leaf'), tie('group')),
  leaf: fc.oneof(
    fc.constant<DrawnWho>(['all']),
    fc.tuple(fc.constantFrom('user', 'client'), name),
    fc.tuple(fc.constant('ipaddr'), fc.constantFrom(...Object.keys(inRange))),
  ),
  group: fc.tuple(
    fc.constantFrom('and', 'or'),
    fc.array(tie('who'), { minLength: 1, maxLength: 3 }),
  ),
}));
const rule: fc.Arbitrary<Drawn> = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.record({
      isAllowed: fc.boolean(),
      who,
      action: fc.constantFrom('publish', 'subscribe', 'pubsub'),
      topics: fc.array(fc.tuple(filterText, fc.boolean()), { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      isAllowed: fc.boolean(),
      who: fc.constant<DrawnWho>(['all']),
      action: fc.constant('pubsub'),
      topics: fc.constant(undefined),
    }),
  },
);

function textOf({ isAllowed, who: whom, action, topics }: Drawn): string {
  const verdict = isAllowed ? 'allow' : 'deny';
  if (topics === undefined) return `{${verdict}, all}.`;
  const texts = topics.map(([filter, isLiteral]) =>
    isLiteral ? `{eq, "${filter}"}` : `"${filter}"`,
  );
  return `{${verdict}, ${whoText(whom)}, ${action}, [${texts.join(', ')}]}.`;
}

function whoText(whom: DrawnWho): string {
  const [kind, value] = whom;
  if (value === undefined) return kind;
  if (typeof value === 'string') return `{${kind}, "${value}"}`;
  return `{'${kind}', [${value.map(whoText).join(', ')}]}`;
}

function speaks(drawn: Drawn, of: AclClient, action: AccessAction, topic: string): boolean {
  if (drawn.topics === undefined) return true;
  if (drawn.action !== 'pubsub' && drawn.action !== action) return false;
  if (!isOneOf(drawn.who, of)) return false;
  return drawn.topics.some(([filter, isLiteral]) =>
    isLiteral ? filter === topic : covers(filter, topic, of),
  );
}

function isOneOf([kind, value]: DrawnWho, of: AclClient): boolean {
  if (kind === 'all') return true;
  if (kind === 'and') return value.every((one) => isOneOf(one, of));
  if (kind === 'or') return value.some((one) => isOneOf(one, of));
  if (kind === 'ipaddr') return inRange[value]?.includes(of.address) === true;
  return value === (kind === 'user' ? of.username : of.clientId);
}

function covers(filter: string, topic: string, of: AclClient): boolean {
  const wanted = filter.split('/');
  const asked = topic.split('/');
  if (asked[0]?.startsWith('$') && ['+', '#', '%c', '%u'].includes(wanted[0] ?? '')) return false;
  const values = { '%c': of.clientId, '%u': of.username };
  for (const [i, each] of wanted.entries()) {
    if (each === '#') return asked.length >= i;
    if (i >= asked.length) return false;
    if (each === '+') {
      if (asked[i] === '#') return false;
    } else if (each === '%c' || each === '%u') {
      const value = values[each];
      if (value === undefined || /[+#/]/.test(value) || value !== asked[i]) return false;
    } else if (each !== asked[i]) {
      return false;
    }
  }
  return wanted.length === asked.length;
}
