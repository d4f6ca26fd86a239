// Laws: what is printed reads back as the same tree, of the tables and of trees nobody thought of; and it
// is written in one way, with no parentheses but those the tree needs.

import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import fc from 'fast-check';
import type {
  AliasStep,
  BinaryOperator,
  Case,
  Constant,
  Expression,
  Field,
  PathStep,
  Statement,
  ValueField,
} from './ast.ts';
import { expressionCases, statementCases } from './cases-statements.ts';
import { parseSql } from './parser.ts';
import { printExpression, printSql } from './print.ts';
import { withoutPlaces } from './tree-fixture.ts';

const given = process.env['FUZZ_SEED'];
const seed: number = given === undefined ? (Math.random() * 0x7fff_ffff) | 0 : Number(given);

function effort(t: TestContext, numRuns: number): { seed: number; numRuns: number } {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  return { seed, numRuns };
}

// Trees at random: all and only such as the parser can make, places aside. Numbers carry their sign, there
// is one zero, and what is a list in the grammar has at least one item.

const at = 0;
const plain = fc.constantFrom(
  'a',
  'b',
  'payload',
  'x1',
  '_y',
  'mod',
  'like',
  'Größe',
  'a~',
  '__proto__',
);
const reserved = fc.constantFrom(
  'select',
  'FROM',
  'end',
  'in',
  'div',
  'true',
  'Null',
  '1',
  '5x',
  'a~=',
);
const anyText = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.string({ unit: 'binary', maxLength: 4 }),
  fc.constantFrom("'", '"', '`', "''", '--', '\n', '${a}', 'a.b', ';', '\ud800'),
);
const key = fc.oneof({ weight: 4, arbitrary: plain }, reserved, anyText);

const value: fc.Arbitrary<Constant['value']> = fc.oneof(
  anyText,
  fc.boolean(),
  fc.constant(null),
  fc.maxSafeInteger().map((whole) => (whole === 0 ? 0 : whole)),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((real) => (real === 0 ? 0 : real)),
  fc
    .bigInt({ min: 2n ** 53n, max: 10n ** 100n - 1n })
    .chain((large) => fc.constantFrom(large, -large)),
);

const operators: readonly BinaryOperator[] = [
  ...(['or', 'and', '=', '!=', '<', '>', '<=', '>=', '=~', '+', '-', '*', '/'] as const),
  ...(['div', 'mod'] as const),
];

const expressions: fc.Arbitrary<Expression> = fc.letrec<{ part: Expression }>((tie) => {
  const part = tie('part');
  const some = fc.array(part, { minLength: 1, maxLength: 3 });
  const constant = fc.record({
    kind: fc.constant('constant' as const),
    value,
    at: fc.constant(at),
  });
  const step: fc.Arbitrary<PathStep> = fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('key' as const), key }) },
    fc.record({ kind: fc.constant('index' as const), index: part }),
    fc.record({ kind: fc.constant('range' as const), from: part, to: part }),
  );
  const path = fc.tuple(key, fc.array(step, { maxLength: 3 })).map(([first, steps]): Expression => {
    return { kind: 'path', steps: [{ kind: 'key', key: first }, ...steps], at };
  });
  const call = fc.record({
    kind: fc.constant('call' as const),
    name: fc.constantFrom('f', 'mod', 'null', 'map_get', 'true', 'größe'),
    args: fc.array(part, { maxLength: 3 }),
    at: fc.constant(at),
  });
  const binary = fc.record({
    kind: fc.constant('binary' as const),
    operator: fc.constantFrom(...operators),
    left: part,
    right: part,
    at: fc.constant(at),
  });
  const membership = fc.record({
    kind: fc.constant('in' as const),
    value: part,
    among: some,
    isNegated: fc.boolean(),
    at: fc.constant(at),
  });
  const list = fc.record({
    kind: fc.constant('list' as const),
    items: fc.array(part, { maxLength: 3 }),
    at: fc.constant(at),
  });
  const range = fc.record({
    kind: fc.constant('range' as const),
    from: part,
    to: part,
    at: fc.constant(at),
  });
  const parts = [signed(part), call, binary, binary, membership, cases(part), list, range] as const;
  return { part: fc.oneof({ maxDepth: 6, depthSize: 'small' }, constant, path, ...parts) };
}).part;

/** A sign before a number is part of the number. */
function signed(part: fc.Arbitrary<Expression>): fc.Arbitrary<Expression> {
  return fc
    .tuple(fc.constantFrom('-' as const, '+' as const, 'not' as const), part)
    .map(([operator, operand]): Expression => {
      const isNumber =
        operand.kind === 'constant' &&
        (typeof operand.value === 'number' || typeof operand.value === 'bigint');
      return { kind: 'unary', operator: isNumber ? 'not' : operator, operand, at };
    });
}

function cases(part: fc.Arbitrary<Expression>): fc.Arbitrary<Case> {
  const branch = fc.tuple(part, part).map(([when, then]) => {
    // oxlint-disable-next-line unicorn/no-thenable -- the word of the grammar; nobody awaits a branch
    return { when, then };
  });
  return fc.record({
    kind: fc.constant('case' as const),
    subject: fc.option(part, { nil: undefined }),
    branches: fc.array(branch, { minLength: 1, maxLength: 3 }),
    otherwise: fc.option(part, { nil: undefined }),
    at: fc.constant(at),
  });
}

const aliasStep: fc.Arbitrary<AliasStep> = fc.oneof(
  fc.record({ kind: fc.constant('key' as const), key }),
  fc.record({
    kind: fc.constant('index' as const),
    index: fc.nat(65_535),
    isFromEnd: fc.boolean(),
  }),
);
const alias = fc
  .tuple(key, fc.array(aliasStep, { maxLength: 3 }))
  .map(([first, steps]): AliasStep[] => [{ kind: 'key', key: first }, ...steps]);

const valueField: fc.Arbitrary<ValueField> = fc.record({
  kind: fc.constant('value' as const),
  value: expressions,
  alias: fc.option(alias, { nil: undefined }),
  at: fc.constant(at),
});
const fields = fc.array(
  fc.oneof({ weight: 5, arbitrary: valueField }, fc.constant<Field>({ kind: 'all', at })),
  { minLength: 1, maxLength: 4 },
);
const from = fc.array(
  fc.record({
    name: fc.oneof(fc.constantFrom('message.publish', 't/#'), fc.string({ minLength: 1 })),
    at: fc.constant(at),
  }),
  { minLength: 1, maxLength: 3 },
);
const condition = fc.option(expressions, { nil: undefined });

const statements: fc.Arbitrary<Statement> = fc.oneof(
  fc.record({ kind: fc.constant('select' as const), fields, from, where: condition }),
  fc.record({
    kind: fc.constant('foreach' as const),
    fields: fc.tuple(fields, valueField).map(([before, last]) => [...before, last]),
    each: fc.option(fields, { nil: undefined }),
    incase: condition,
    from,
    where: condition,
  }),
);

function reread(statement: Statement): Statement {
  return withoutPlaces(parseSql(printSql(statement)));
}

test('every statement of the tables reads back as the same tree', () => {
  const wrapped = expressionCases.map(([sql]) => `SELECT ${sql} FROM "t"`);
  for (const sql of [...wrapped, ...statementCases.map(([one]) => one)]) {
    const statement = parseSql(sql);
    assert.deepEqual(reread(statement), withoutPlaces(statement), sql);
  }
});

test('any tree reads back as the same tree', (t) => {
  const law = fc.property(statements, (statement) => {
    assert.deepEqual(reread(statement), withoutPlaces(statement), printSql(statement));
  });
  fc.assert(law, effort(t, 3000));
});

test('what is printed and read is printed the same again', (t) => {
  const law = fc.property(expressions, (value) => {
    const text = `SELECT ${printExpression(value)} FROM "t"`;
    assert.equal(printSql(parseSql(text)), text);
  });
  fc.assert(law, effort(t, 1000));
});

test('a statement is printed on one line and in one way', () => {
  const rows: readonly (readonly [string, string])[] = [
    ['select\n*\nfrom t;', 'SELECT * FROM "t"'],
    ['select a b, c "select" from t', 'SELECT a AS b, c AS "select" FROM "t"'],
    ['select a as u.\'x y\'[-0][2]."1" from t', 'SELECT a AS u."x y"[-0][2].1 FROM "t"'],
    ['select a from "x""y"', 'SELECT a FROM "x""y"'],
    [
      'foreach l as s do s.a incase s.b <> 1 from a, b where c',
      'FOREACH l AS s DO s.a INCASE s.b != 1 FROM "a", "b" WHERE c',
    ],
    ['foreach l from t', 'FOREACH l FROM "t"'],
    ['select ((a)) + (b * c) from t', 'SELECT a + b * c FROM "t"'],
    ['select (a + b) * c from t', 'SELECT (a + b) * c FROM "t"'],
    ['select a - (b - c) from t', 'SELECT a - (b - c) FROM "t"'],
    ['select (a = b) = c from t', 'SELECT (a = b) = c FROM "t"'],
    ['select a = (b in (c)) from t', 'SELECT a = (b IN (c)) FROM "t"'],
    ['select (not a) in (not b) from t', 'SELECT (NOT a) IN (NOT b) FROM "t"'],
    ['select not (not a = b) from t', 'SELECT NOT NOT a = b FROM "t"'],
    ['select not (a or b) and c or d from t', 'SELECT NOT (a OR b) AND c OR d FROM "t"'],
    ['select -(-a), - -1, -(a + b) from t', 'SELECT - -a, 1, -(a + b) FROM "t"'],
    ['select a - -1, a mod 2 div 3 from t', 'SELECT a - -1, a mod 2 div 3 FROM "t"'],
    ["select \"a'b\", 'c' from t", "SELECT 'a''b', 'c' FROM \"t\""],
    [
      'select a."b c".d[1][i..j], `true`, true from t',
      'SELECT a.\'b c\'.d[1][i..j], `true`, true FROM "t"',
    ],
    ['select `select`.`from`, true.x from t', 'SELECT `select`.from, true.x FROM "t"'],
    [
      'select 1e300, 9007199254740992.0, 9007199254740992, 1.50, .5, 1e-9 from t',
      'SELECT 1e+300, 9.007199254740992e+15, 9007199254740992, 1.5, 0.5, 1e-9 FROM "t"',
    ],
    [
      'select case when a then 1 end, case a when 1 then 2 else 3 end from t',
      'SELECT CASE WHEN a THEN 1 END, CASE a WHEN 1 THEN 2 ELSE 3 END FROM "t"',
    ],
    [
      'select F( ), g(1,[ ],[a,b],[1 .. 2]) from t',
      'SELECT f(), g(1, [], [a, b], [1..2]) FROM "t"',
    ],
    ['select * from t where a not in (1,2)', 'SELECT * FROM "t" WHERE a NOT IN (1, 2)'],
  ];
  for (const [sql, printed] of rows) assert.equal(printSql(parseSql(sql)), printed);
});
