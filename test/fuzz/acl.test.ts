// Access rules against texts nobody thought of. Laws: reading ends with rules or an AclError that points
// into the text; what was read is shown as a text that reads the same; and what was read decides.
// FUZZ_SEED repeats a run.

import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import fc from 'fast-check';
import { type AclRule, describeRule, parseAcl } from '#access/acl-file';
import { AclRules } from '#access/acl-rules';
import { AclError } from '#access/acl-terms';

const given = process.env['FUZZ_SEED'];
const seed: number = given === undefined ? (Math.random() * 0x7fff_ffff) | 0 : Number(given);

function effort(t: TestContext, numRuns: number): { seed: number; numRuns: number } {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  return { seed, numRuns };
}

const pieces = [
  ...[
    '{',
    '}',
    '[',
    ']',
    ',',
    '.',
    '"',
    "'",
    '<<',
    '>>',
    '/utf8',
    '%',
    '\\',
    '\n',
    '\r',
    ' ',
    '\0',
  ],
  ...['allow', 'deny', 'all', 'publish', 'subscribe', 'pubsub', 'user', 'client', 'ipaddr', 'eq'],
  ...["'and'", "'or'", '"a"', '"#"', '"+/b"', '"%c"', '"10.0.0.0/8"', '"::1/64"', '"\\x{1F600}"'],
  ...['{allow, all}.', '{deny, all, publish, ["a/#", {eq, "#"}]}.', '\uFEFF', '😀', '12', 'Who'],
];
const soup = fc.array(fc.constantFrom(...pieces), { maxLength: 40 }).map((drawn) => drawn.join(''));

const sound = [
  '{allow, {user, "dashboard"}, subscribe, ["$SYS/#"]}.',
  '{allow, {\'or\', [{ipaddr, "127.0.0.1"}, {\'and\', [{client, "c"}, all]}]}, pubsub, <<"a/%c"/utf8>>}.',
  '%% a comment\n{deny, all, subscribe, ["$SYS/#", {eq, "#"}]}.\n{allow, all}.\n',
].join('\n');
/** A sound file of which some places were overwritten, cut out or doubled. */
const damaged = fc
  .array(
    fc.tuple(fc.nat(sound.length), fc.nat(6), fc.oneof(fc.constantFrom(...pieces), fc.string())),
    { minLength: 1, maxLength: 4 },
  )
  .map((cuts) =>
    cuts.reduce(
      (text, [at, length, put]) => text.slice(0, at) + put + text.slice(at + length),
      sound,
    ),
  );

test('whatever the text, reading rules ends with rules or an AclError', (t) => {
  let readCount = 0;
  let refusedCount = 0;
  const any = fc.oneof(soup, damaged, damaged, fc.string({ unit: 'binary', maxLength: 80 }));
  const ends = fc.property(any, (text) => {
    const rules = rulesOf(text);
    if (rules === undefined) {
      refusedCount++;
      return;
    }
    readCount++;
    const shown = rules.map(describeRule);
    assert.deepEqual(parseAcl(shown.join('\n')).map(describeRule), shown);
    const client = { clientId: '#', username: undefined, address: '::1' };
    for (const topic of ['#', 'a', '$SYS/x']) {
      const decision = new AclRules(rules).decide(client, 'subscribe', topic);
      assert.ok(decision === undefined || rules.includes(decision.rule));
    }
  });
  fc.assert(ends, effort(t, 5000));
  assert.ok(readCount > 0 && refusedCount > 0, `${readCount} read, ${refusedCount} refused`);
});

/** Undefined: refused, as it should be. */
function rulesOf(text: string): readonly AclRule[] | undefined {
  try {
    return parseAcl(text);
  } catch (error) {
    assert.ok(error instanceof AclError, `${String(error)} for ${JSON.stringify(text)}`);
    const lines = text.split(/\r\n|[\r\n]/);
    for (const { line, column, text: said, excerpt } of error.faults) {
      assert.ok(line >= 1 && line <= lines.length, `line ${line}`);
      assert.ok(column >= 1 && column <= (lines[line - 1] ?? '').length + 1, `column ${column}`);
      assert.match(said, /^found [\s\S]+(, want |: )/);
      assert.doesNotMatch(excerpt, /[\r\n]/);
    }
    assert.doesNotMatch(error.message, /[\r\n]/);
    return undefined;
  }
}
