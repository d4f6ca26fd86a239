// Statements and their trees, errors and their places, and the bounds. The tables are in cases-*.ts.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Statement } from './ast.ts';
import { errorCases } from './cases-errors.ts';
import { expressionCases, statementCases } from './cases-statements.ts';
import { tokensOf } from './lexer.ts';
import { parseSql, sqlHeightMax } from './parser.ts';
import { SqlError } from './sql-error.ts';
import { sqlCharactersMax, sqlItemsMax, sqlNestingMax } from './token-reader.ts';
import { placesOf, showStatement } from './tree-fixture.ts';

function errorOf(sql: string): SqlError {
  try {
    parseSql(sql);
  } catch (error) {
    assert.ok(error instanceof SqlError, String(error));
    return error;
  }
  assert.fail(`read: ${sql.slice(0, 200)}`);
}

test('every expression of the table becomes its tree', () => {
  for (const [sql, tree] of expressionCases) {
    const text = `SELECT ${sql} FROM "t"`;
    assert.equal(showStatement(parseSql(text)), `select ${tree} | from "t"`, text);
  }
});

test('every statement of the table becomes its tree', () => {
  for (const [sql, tree] of statementCases) assert.equal(showStatement(parseSql(sql)), tree, sql);
});

test('keywords are read in any case, names as they are written', () => {
  for (const [sql] of statementCases) {
    const tokens = tokensOf(sql).filter(({ kind, text }) => kind === 'sign' && /^[a-z]/.test(text));
    for (const spell of ['toUpperCase', 'toLowerCase'] as const) {
      const respelt = tokens.reduceRight(
        (text, { at, end }) => text.slice(0, at) + text.slice(at, end)[spell]() + text.slice(end),
        sql,
      );
      assert.equal(showStatement(parseSql(respelt)), showStatement(parseSql(sql)), respelt);
    }
  }
});

test('every text of the table is refused at its place with its words', () => {
  for (const [sql, line, column, said] of errorCases) {
    const error = errorOf(sql);
    const place = `line ${line}, column ${column}`;
    assert.equal(error.message, `Cannot read the SQL: ${place}: ${said}`, JSON.stringify(sql));
    assert.equal(error.line, line);
    assert.equal(error.column, column);
    assert.doesNotMatch(error.message, /\p{Cc}/u);
    assert.doesNotMatch(error.excerpt, /\p{Cc}/u);
  }
});

test('an error has what was found, what was expected and a drawing', () => {
  const error = errorOf('SELECT a\n  FORM "t"');
  assert.equal(error.found, '"FORM"');
  assert.deepEqual(error.expected, ['an operator', 'AS', '","', 'FROM']);
  assert.equal(error.hint, 'did you mean FROM?');
  assert.equal(error.drawing, '  FORM "t"\n  ^');
  assert.equal(error.at, 11);
  const other = errorOf('SELECT a FROM t;;');
  assert.equal(other.found, undefined);
  assert.deepEqual(other.expected, []);
  assert.equal(other.hint, undefined);
  assert.equal(errorOf('SELECT a b c FROM t').hint, undefined);
});

test('what was found is shortened and has no line breaks', () => {
  assert.equal(errorOf(`SELECT a '${'x'.repeat(100)}'`).found, `the text '${'x'.repeat(39)}…`);
  assert.equal(errorOf("SELECT a 'x\ny'").found, "the text 'x y'");
});

test('every part knows where it begins', () => {
  const sql =
    'SELECT  (a + b) * -c AS x, * FROM "t" WHERE NOT f(1) IN (CASE WHEN d THEN [1..2] END)';
  const statement = parseSql(sql);
  const spots = placesOf(statement).map((at) => String(sql.slice(at).split(/[\s,)]/, 1)[0]));
  const wanted = ['"t"', '(a', '*', 'NOT', 'f(1', 'CASE', '[1..2]', '2]', '1..2]', 'd', 'f(1', '1'];
  assert.deepEqual(spots.toSorted(), [...wanted, '(a', '-c', 'c', 'a', 'b', 'a'].toSorted());
});

test('every place of every statement of the table is the beginning of a word', () => {
  for (const [sql] of statementCases) {
    const begins = new Set(tokensOf(sql).map(({ at }) => at));
    for (const at of placesOf(parseSql(sql))) assert.ok(begins.has(at), `${at} in ${sql}`);
  }
});

test('a text of the greatest length is read, a longer one is not', () => {
  const sql = 'SELECT a FROM t'.padEnd(sqlCharactersMax);
  assert.equal(parseSql(sql).kind, 'select');
  assert.equal(
    errorOf(`${sql} `).message,
    'Cannot read the SQL: line 1, column 1: found 65537 characters, at most 65536 are allowed',
  );
});

const select = (expression: string): string => `SELECT ${expression} FROM t`;

/** Each as `count` levels inside each other, the SELECT's own level included. */
const nests: readonly (readonly [string, (count: number) => string])[] = [
  ['parentheses', (count) => `${'('.repeat(count - 1)}a${')'.repeat(count - 1)}`],
  ['calls', (count) => `${'f('.repeat(count - 1)}a${')'.repeat(count - 1)}`],
  ['lists', (count) => `${'['.repeat(count - 1)}a${']'.repeat(count - 1)}`],
  ['indexes', (count) => `${'a['.repeat(count - 1)}a${']'.repeat(count - 1)}`],
  ['ranges', (count) => `${'a[1..'.repeat(count - 1)}a${']'.repeat(count - 1)}`],
  ['INs', (count) => `${'a in ('.repeat(count - 1)}a${')'.repeat(count - 1)}`],
  ['NOTs', (count) => `${'not '.repeat(count - 1)}a`],
  ['signs', (count) => `${'- '.repeat(count - 1)}a`],
  ['subjects', (count) => `${'case '.repeat(count - 1)}a${' when 1 then 2 end'.repeat(count - 1)}`],
  ['conditions', (count) => `${'case when '.repeat(count - 1)}a${' then 2 end'.repeat(count - 1)}`],
  ['branches', (count) => `${'case when a then '.repeat(count - 1)}a${' end'.repeat(count - 1)}`],
  ['ELSEs', (n) => `${'case when a then b else '.repeat(n - 1)}a${' end'.repeat(n - 1)}`],
];

test('nesting is bounded, whatever nests', () => {
  for (const [name, nest] of nests) {
    assert.equal(parseSql(select(nest(sqlNestingMax))).kind, 'select', name);
    const { message } = errorOf(select(nest(sqlNestingMax + 1)));
    assert.match(message, /: nested deeper than 128 levels$/, name);
    errorOf(select(nest(3000)));
  }
});

test('operators in a row are bounded, because they make the tree as high as nesting does', () => {
  for (const operator of ['+', '*', 'and', 'or', 'mod']) {
    const row = (count: number): string => select(`a${` ${operator} a`.repeat(count)}`);
    assert.equal(parseSql(row(sqlHeightMax - 1)).kind, 'select');
    assert.equal(
      errorOf(row(sqlHeightMax)).message,
      'Cannot read the SQL: line 1, column 8: more than 512 operators in a row or inside each other',
    );
  }
  const long = `a${'+ a'.repeat(sqlHeightMax)}`;
  const clauses = ['SELECT *, ?', 'FOREACH ?', 'FOREACH a DO ?', 'FOREACH a INCASE ?'];
  const sqls = clauses.map((clause) => `${clause} FROM t`);
  for (const sql of [...sqls, 'SELECT a FROM t WHERE ?', 'FOREACH a FROM t WHERE ?']) {
    const { message, at } = errorOf(sql.replace('?', long));
    assert.match(message, /more than 512 operators/);
    assert.equal(at, sql.indexOf('?'));
  }
});

test('every list is bounded', () => {
  const rows: readonly (readonly [string, (list: string) => string, string])[] = [
    ['fields', (list) => `SELECT ${list} FROM t`, 'a'],
    ['events', (list) => `SELECT a FROM ${list}`, 'a'],
    ['arguments', (list) => select(`f(${list})`), 'a'],
    ['values of IN', (list) => select(`a in (${list})`), 'a'],
    ['items', (list) => select(`[a, ${list}]`), 'a'],
  ];
  for (const [what, sql, item] of rows) {
    const list = Array(sqlItemsMax).fill(item).join(', ');
    assert.equal(parseSql(sql(list)).kind, 'select', what);
    assert.match(errorOf(sql(`${list}, a`)).message, new RegExp(`: found more than 1024 ${what}$`));
  }
  const others: readonly (readonly [string, (count: number) => string])[] = [
    ['steps of a path', (count) => select(`a${'.b'.repeat(count - 1)}`)],
    ['steps of an alias', (count) => select(`a as a${'.b'.repeat(count - 1)}`)],
    ['branches', (count) => select(`case${' when a then b'.repeat(count)} end`)],
  ];
  for (const [what, sql] of others) {
    assert.equal(parseSql(sql(sqlItemsMax)).kind, 'select', what);
    const { message } = errorOf(sql(sqlItemsMax + 1));
    assert.match(message, new RegExp(`: found more than 1024 ${what}$`));
  }
});

test('numbers are bounded', () => {
  const long = '9'.repeat(100);
  assert.equal(showStatement(parseSql(select(long))), `select ${long}n | from "t"`);
  assert.match(errorOf(select(`${long}9`)).message, /found 101 digits, at most 100 are allowed$/);
  assert.match(errorOf(select(`${long}x`)).message, /"9{40}…x" is no number, and a name/);
  assert.match(errorOf(select(`${long}.`)).message, /"9{40}…\." is no number, a digit is wanted/);
  assert.match(errorOf(select(`1${'x'.repeat(99)}`)).message, /"1x{40}" is no number/);
});

test('a statement is a plain tree, whatever its names are', () => {
  const statement: Statement = parseSql(
    'SELECT __proto__.constructor AS __proto__.x FROM __proto__',
  );
  assert.equal(
    showStatement(statement),
    'select __proto__.constructor->__proto__.x | from "__proto__"',
  );
  assert.equal(Object.getPrototypeOf(statement), Object.prototype);
});
