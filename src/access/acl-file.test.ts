import assert from 'node:assert/strict';
import test from 'node:test';
import { describeRule, parseAcl } from './acl-file.ts';
import { AclError } from './acl-terms.ts';

function errorOf(text: string): AclError {
  try {
    parseAcl(text);
  } catch (error) {
    assert.ok(error instanceof AclError);
    return error;
  }
  return assert.fail(`it was accepted: ${text}`);
}

const wantedRule = '{allow|deny, all} or {allow|deny, who, subscribe|publish|pubsub, topics}';
const wantedWho =
  'all, {user, "name"}, {client, "id"}, {ipaddr, "address"}, {\'and\', […]} or {\'or\', […]}';

test('every form of a rule is read, and shown in its one form', () => {
  for (const [written, shown = written] of [
    ['{allow, all}.'],
    ['{deny, all}.'],
    ['{deny, all, subscribe, ["$SYS/#", {eq, "#"}]}.'],
    ['{allow, {user, "ann"}, publish, ["a/b"]}.'],
    ['{allow, {client, "c1"}, pubsub, ["a/+/#"]}.'],
    ['{allow, {user, "all"}, pubsub, ["a"]}.'],
    ['{allow, {ipaddr, "10.1.2.3/8"}, pubsub, ["a"]}.'],
    ['{allow, {ipaddr, "2001:db8::/32"}, pubsub, ["a"]}.'],
    ['{allow, {\'and\', [{user, "a"}, {\'or\', [all, {client, "b"}]}]}, pubsub, ["a"]}.'],
    ['{allow, all, publish, ["devices/%c/%u/%x"]}.'],
    ['{allow, all, publish, ["say \\"hi\\" \\\\ \\x{9}"]}.'],
    ['{allow,{user,all},publish,<<"a">>}.', '{allow, all, publish, ["a"]}.'],
    ['{allow, {client, all}, publish, "a"}.', '{allow, all, publish, ["a"]}.'],
    ['{allow, all, publish, {eq, <<"a"/utf8>>}} .', '{allow, all, publish, [{eq, "a"}]}.'],
    ['{allow, {or, [all]}, publish, ["\\x{e4}"]}.', '{allow, {\'or\', [all]}, publish, ["ä"]}.'],
  ]) {
    assert.ok(written !== undefined);
    assert.deepEqual(parseAcl(written).map(describeRule), [shown], written);
    assert.deepEqual(parseAcl(shown ?? '').map(describeRule), [shown], 'and read again');
  }
});

test('a rule knows what it says and where it stands', () => {
  const [first, second] = parseAcl(
    '%% rules\n{allow, {user, "u"},\n pubsub, ["a", {eq, "#"}]}.\n{deny, all}.',
  );
  assert.deepEqual(first, {
    isAllowed: true,
    who: { kind: 'user', name: 'u' },
    actions: ['publish', 'subscribe'],
    topics: [
      { filter: 'a', isLiteral: false },
      { filter: '#', isLiteral: true },
    ],
    line: 2,
  });
  assert.deepEqual(second, {
    isAllowed: false,
    who: { kind: 'all' },
    actions: ['publish', 'subscribe'],
    topics: undefined,
    line: 4,
  });
});

test('CVE-2018-12550: a file that is empty, or has nothing but comments, has no rules', () => {
  for (const text of ['', '\n\n', '%% {allow, all}.', '\uFEFF', '%% {allow, all}.\n\n']) {
    assert.deepEqual(parseAcl(text), [], JSON.stringify(text));
  }
});

test('what is no rule is refused with its place, what was found and what is wanted', () => {
  const list = `a list of one or more of ${wantedWho}`;
  const topic = 'a topic filter in quotes, or {eq, "filter"}';
  for (const [text, expected] of [
    ['allow.', `1:1 found allow, want ${wantedRule}`],
    ['{}.', `1:1 found an empty tuple, want ${wantedRule}`],
    ['[allow, all].', `1:1 found a list of 2, want ${wantedRule}`],
    ['{allow}.', `1:1 found a tuple of 1, want ${wantedRule}`],
    ['{allow, all, publish}.', `1:1 found a tuple of 3, want ${wantedRule}`],
    ['{allow, all, publish, "a", "b"}.', `1:1 found a tuple of 5, want ${wantedRule}`],
    ['{permit, all}.', '1:2 found permit, want allow or deny'],
    ['{"allow", all}.', '1:2 found "allow", want allow or deny'],
    ['{allow, {user, "x"}}.', '1:9 found a tuple of 2, want all in a rule of two parts'],
    ['{allow, none, publish, "a"}.', `1:9 found none, want ${wantedWho}`],
    ['{allow, \'N o\', publish, "a"}.', `1:9 found atom "N o", want ${wantedWho}`],
    ['{allow, {user}, publish, "a"}.', `1:9 found a tuple of 1, want ${wantedWho}`],
    ['{allow, {user, "a", "b"}, publish, "a"}.', `1:9 found a tuple of 3, want ${wantedWho}`],
    [
      '{allow, {username, "a"}, publish, "a"}.',
      "1:10 found username, want user, client, ipaddr, 'and' or 'or'",
    ],
    ['{allow, {user, ann}, publish, "a"}.', '1:16 found ann, want a text in quotes, or all'],
    [
      '{allow, {user, ""}, publish, "a"}.',
      '1:16 found an empty text, want a text in quotes, or all',
    ],
    [
      '{allow, {ipaddr, all}, publish, "a"}.',
      '1:18 found all, want an address or a CIDR in quotes',
    ],
    [
      '{allow, {ipaddr, "localhost"}, publish, "a"}.',
      '1:18 found "localhost", want an address or a CIDR',
    ],
    [
      '{allow, {ipaddr, "1.2.3.4/33"}, publish, "a"}.',
      '1:18 found "1.2.3.4/33", want a prefix of 0 to 32',
    ],
    ['{allow, {\'and\', []}, publish, "a"}.', `1:17 found an empty list, want ${list}`],
    ['{allow, {\'or\', all}, publish, "a"}.', `1:16 found all, want ${list}`],
    ['{allow, {\'or\', [all, x]}, publish, "a"}.', `1:22 found x, want ${wantedWho}`],
    ['{allow, all, read, "a"}.', '1:14 found read, want subscribe, publish or pubsub'],
    ['{allow, all, publish, []}.', '1:23 found an empty list, want one or more topic filters'],
    ['{allow, all, publish, all}.', `1:23 found all, want ${topic}`],
    ['{allow, all, publish, ["a", {eq}]}.', `1:29 found a tuple of 1, want ${topic}`],
    ['{allow, all, publish, [{ne, "a"}]}.', `1:24 found a tuple of 2, want ${topic}`],
    ['{allow, all, publish, [{eq, a}]}.', `1:29 found a, want ${topic}`],
    ['{allow, all, publish, [""]}.', `1:24 found an empty text, want ${topic}`],
    [
      '{allow, all, publish, ["a/#/b"]}.',
      '1:24 found "a/#/b": wildcard "#" is allowed only as the whole last level',
    ],
    [
      '{allow, all, publish, [{eq, "a+"}]}.',
      '1:29 found "a+": wildcard "+" is allowed only as a whole level',
    ],
    [
      '{deny, all, subscribe, ["$share/g/t"]}.',
      '1:25 found "$share/g/t": a shared subscription is checked by the filter inside it, want "t"',
    ],
    [
      '{deny, all, subscribe, ["$queue/t"]}.',
      '1:25 found "$queue/t": a shared subscription is checked by the filter inside it, want "t"',
    ],
  ] as const) {
    const { line, column, text: said } = errorOf(text);
    assert.equal(`${line}:${column} ${said}`, expected, text);
  }
});

test('all rules at fault are told at once, and a fault of notation ends the reading', () => {
  const error = errorOf(
    '{allow, x}.\n{deny, all}.\n{deny, all, publish, "#a"}.\n{oops, all}.\n{x\ny, z}.',
  );
  assert.deepEqual(
    error.faults.map(({ line, column }) => [line, column]),
    [
      [1, 9],
      [3, 22],
      [4, 2],
      [6, 1],
    ],
  );
  assert.equal(error.line, 1);
  assert.equal(
    error.message,
    'Cannot read access rules: line 1, column 9: found x, want all in a rule of two parts: {allow, x}. (and 3 more)',
  );
  assert.equal(errorOf('{x, all}.\n'.repeat(1000)).faults.length, 20);
});

test('a long text is cut short in an error', () => {
  const { text } = errorOf(`{allow, all, publish, "${'x/'.repeat(30_000)}#a"}.`);
  assert.ok(text.length < 200, text);
});

test('one rule more than a million is refused', () => {
  const { line, text } = errorOf('{deny, all}.\n'.repeat(1_000_001));
  assert.deepEqual(
    [line, text],
    [1_000_001, 'found more than 1000000 rules, want at most so many'],
  );
});
