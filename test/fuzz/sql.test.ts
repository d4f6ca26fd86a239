// The SQL of rules against texts nobody thought of. Laws: reading ends with a tree or a SqlError that
// points into the text; what was read is printed as a text that reads the same. FUZZ_SEED repeats a run.

import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import fc from 'fast-check';
import type { Statement } from '#rules/sql/ast';
import { errorCases } from '#rules/sql/cases-errors';
import { expressionCases, statementCases } from '#rules/sql/cases-statements';
import { tokensOf } from '#rules/sql/lexer';
import { parseSql } from '#rules/sql/parser';
import { printSql } from '#rules/sql/print';
import { SqlError } from '#rules/sql/sql-error';
import { placesOf, withoutPlaces } from '#rules/sql/tree-fixture';
import { fuzzSeed } from './random.ts';

function effort(t: TestContext, numRuns: number): { seed: number; numRuns: number } {
  t.diagnostic(`FUZZ_SEED=${fuzzSeed}`);
  return { seed: fuzzSeed, numRuns };
}

const words =
  'select from where and or not in as case when then else end foreach do incase div mod true null';
const marks =
  '* + - / = != <> < <= > >= =~ ~= ( ) [ ] , . .. ; \' " ` -- ~ $ @ ! % || && == \\ /* {';
const pieces: readonly string[] = [
  ...words.split(' '),
  ...marks.split(' '),
  ...[' ', '\n', '\r', '\t', '\0', '\ud800', '\uFEFF', '😀', 'ä', '温度', '’', '\u2028'],
  ...['a', 'payload.x', 'f(', '"t/#"', "'x'", '`y`', '1', '0.5', '.5', '1e5', '1e999', '007', '5x'],
  ...['SELECT * FROM "t"', 'like', 'is null', 'group by', 'between', 'distinct', '[1..3]', "''"],
];
const piece = fc.constantFrom(...pieces);
const soup = fc
  .tuple(fc.array(piece, { maxLength: 40 }), fc.constantFrom('', ' '))
  .map(([drawn, between]) => drawn.join(between));

/** What is in the tables with some places overwritten, cut out or doubled. */
const sound: readonly string[] = [
  ...statementCases.map(([sql]) => sql),
  ...expressionCases.map(([sql]) => `SELECT ${sql} FROM t`),
  ...errorCases.map(([sql]) => sql),
];
const damaged = fc
  .tuple(
    fc.constantFrom(...sound),
    fc.array(fc.tuple(fc.nat(200), fc.nat(6), fc.oneof(piece, fc.string())), { maxLength: 3 }),
  )
  .map(([whole, cuts]) =>
    cuts.reduce((text, [place, length, put]) => {
      const at = place % (text.length + 1);
      return text.slice(0, at) + put + text.slice(at + length);
    }, whole),
  );
const any = fc.oneof(soup, damaged, damaged, fc.string({ unit: 'binary', maxLength: 80 }));

test('whatever the text, reading a statement ends with a tree or a SqlError', (t) => {
  let readCount = 0;
  let refusedCount = 0;
  const ends = fc.property(any, (text) => {
    const statement = statementOf(text);
    if (statement === undefined) {
      refusedCount += 1;
      return;
    }
    readCount += 1;
    const printed = printSql(statement);
    assert.deepEqual(withoutPlaces(parseSql(printed)), withoutPlaces(statement), printed);
    assert.equal(printSql(parseSql(printed)), printed);
    const begins = new Set(tokensOf(text).map(({ at }) => at));
    for (const at of placesOf(statement)) assert.ok(begins.has(at), `place ${at}`);
  });
  fc.assert(ends, effort(t, 8000));
  assert.ok(readCount > 0 && refusedCount > 0, `${readCount} read, ${refusedCount} refused`);
});

/** Undefined: refused, as it should be. */
function statementOf(text: string): Statement | undefined {
  try {
    return parseSql(text);
  } catch (error) {
    assert.ok(error instanceof SqlError, `${String(error)} for ${JSON.stringify(text)}`);
    const lines = text.split(/\r\n|[\r\n]/);
    const { line, column, message, excerpt, caret } = error;
    assert.ok(line >= 1 && line <= lines.length, `line ${line}`);
    assert.ok(column >= 1 && column <= (lines[line - 1] ?? '').length + 1, `column ${column}`);
    assert.ok(caret <= excerpt.length, `caret ${caret}`);
    assert.ok(excerpt.length <= 82 && message.length < 500, message);
    assert.doesNotMatch(message + excerpt, /[\p{Cc}\u2028\u2029]/u);
    return undefined;
  }
}

test('words cover a text without overlapping, and what is between them is blank or a comment', (t) => {
  const covers = fc.property(any, (text) => {
    let end = 0;
    for (const token of tokensOf(text)) {
      assert.ok(token.at >= end && token.end >= token.at, `${token.at} after ${end}`);
      assert.match(text.slice(end, token.at), /^(?:\s|--[^\r\n]*)*$/);
      end = token.end;
      if (token.kind === 'end') assert.equal(end, text.length);
    }
  });
  fc.assert(covers, effort(t, 4000));
});

test('a hostile text of the greatest length is answered', () => {
  let refusedCount = 0;
  const units = ['(', '[', 'a[', 'f(', 'not ', '- ', 'a+', "'", "''", '"', '--', '--\n', '..', '.'];
  const more = [
    'a.',
    '1',
    '1.',
    'case ',
    'case when a then ',
    'a,',
    'a in (',
    '\n',
    'ä',
    '~',
    'a or ',
  ];
  for (const unit of [...units, ...more, 'mod ', '1e', 'SELECT ', 'a b, ', '😀', '\r']) {
    for (const start of [
      '',
      'SELECT ',
      'FOREACH a DO ',
      'SELECT a FROM ',
      'SELECT a FROM t WHERE ',
    ]) {
      const text = (start + unit.repeat(65_536 / unit.length)).slice(0, 65_536);
      if (statementOf(text) === undefined) refusedCount += 1;
    }
  }
  // The other eight are one long text or name, where one may stand.
  assert.equal(refusedCount, 31 * 5 - 8);
});
