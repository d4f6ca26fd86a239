// Compiled statements against a naive interpreter of their trees, for trees that nobody would write.

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { BinaryOperator, Expression, Field, Statement } from '../sql/ast.ts';
import { printSql } from '../sql/print.ts';
import { parseSql } from '../sql/parser.ts';
import { compileStatement } from './compile.ts';
import { eventOf, sampleColumns } from './eval-fixture.ts';
import { interpret, NaiveRaise } from './interpreter-fixture.ts';

const at = 0;
const payload = {
  t: 12,
  s: '12',
  name: 'ann',
  flag: true,
  off: 'false',
  none: null,
  big: 9007199254740991,
  o: { a: { b: 7 }, __proto__: null },
  list: [1, 'a', [2], { x: 3 }],
  json: '{"a": [1, 2]}',
  topic: 't/a/b',
};
const columns = new Set(Object.keys(sampleColumns));

const operators: readonly BinaryOperator[] = [
  'or',
  'and',
  '=',
  '!=',
  '<',
  '>',
  '<=',
  '>=',
  '=~',
  '+',
  '-',
  '*',
  '/',
  'div',
  'mod',
];
const constant = fc
  .oneof(
    fc.constantFrom<string | number | bigint | boolean | null>(
      0,
      1,
      2,
      -1,
      0.5,
      12,
      1e300,
      9007199254740991,
      9007199254740993n,
      true,
      false,
      null,
      '',
      '12',
      '12.0',
      'ann',
      'true',
      'x',
      't/#',
      '+/a',
      't/a/b',
      '[1, 2]',
      '\u{1f600}',
      '\uffff',
    ),
    fc.integer(),
  )
  .map((value): Expression => ({ kind: 'constant', value, at }));
const key = fc.constantFrom(
  ...Object.keys(payload),
  'a',
  'b',
  'x',
  '1',
  'nothing',
  '__proto__',
  'constructor',
);

const { expression } = fc.letrec<{ expression: Expression }>((tie) => {
  const inner = tie('expression');
  const step = fc.oneof(
    { weight: 6, arbitrary: key.map((each) => ({ kind: 'key', key: each }) as const) },
    { weight: 2, arbitrary: inner.map((index) => ({ kind: 'index', index }) as const) },
    {
      weight: 1,
      arbitrary: fc.tuple(inner, inner).map(([from, to]) => ({ kind: 'range', from, to }) as const),
    },
  );
  const path = fc
    .tuple(
      fc.constantFrom('payload', 'payload', 'payload', 'topic', 'qos'),
      fc.array(step, { maxLength: 3 }),
    )
    .map(
      ([name, steps]): Expression => ({
        kind: 'path',
        steps: [{ kind: 'key', key: name }, ...steps],
        at,
      }),
    );
  // oxlint-disable-next-line unicorn/no-thenable -- the branch of a CASE has one
  const branch = fc.record({ when: inner, then: inner });
  return {
    expression: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      constant,
      path,
      fc
        .record({ operator: fc.constantFrom(...operators), left: inner, right: inner })
        .map((x): Expression => ({ kind: 'binary', ...x, at })),
      fc
        .record({ operator: fc.constantFrom('-', '+', 'not'), operand: inner })
        .map((x): Expression => ({ kind: 'unary', ...x, at })),
      fc
        .record({
          value: inner,
          among: fc.array(inner, { minLength: 1, maxLength: 3 }),
          isNegated: fc.boolean(),
        })
        .map((x): Expression => ({ kind: 'in', ...x, at })),
      fc
        .record({
          subject: fc.option(inner, { nil: undefined }),
          branches: fc.array(branch, { minLength: 1, maxLength: 2 }),
          otherwise: fc.option(inner, { nil: undefined }),
        })
        .map((x): Expression => ({ kind: 'case', ...x, at })),
      fc.array(inner, { maxLength: 3 }).map((items): Expression => ({ kind: 'list', items, at })),
      fc.record({ from: inner, to: inner }).map((x): Expression => ({ kind: 'range', ...x, at })),
      fc
        .tuple(fc.constantFrom('is_null', 'upper'), inner)
        .map(([name, arg]): Expression => ({ kind: 'call', name, args: [arg], at })),
      fc
        .array(inner, { maxLength: 3 })
        .map((args): Expression => ({ kind: 'call', name: 'coalesce', args, at })),
      fc
        .tuple(inner, inner)
        .map(([a, b]): Expression => ({ kind: 'call', name: 'nth', args: [a, b], at })),
    ),
  };
});

const event = eventOf({ payload: JSON.stringify(payload) });
const names = new Map(Object.entries(event.columns()));

function interpreted(
  part: Expression,
  known: ReadonlyMap<string, unknown>,
): { value: unknown } | undefined {
  try {
    return { value: interpret(part, known) };
  } catch (error) {
    if (error instanceof NaiveRaise) return undefined;
    throw error;
  }
}

function select(fields: readonly Field[], where: Expression | undefined): Statement {
  return { kind: 'select', fields, from: [{ name: 'message.publish', at }], where };
}

const field = (value: Expression, alias: string): Field => ({
  kind: 'value',
  value,
  alias: [{ kind: 'key', key: alias }],
  at,
});

const runs = { numRuns: 3000 };

test('a compiled expression gives what the interpreter gives', () => {
  fc.assert(
    fc.property(expression, (value) => {
      const matches = compileStatement(select([field(value, 'x')], undefined), { columns }).run(
        event,
      );
      const expected = interpreted(value, names);
      const output =
        expected === undefined
          ? undefined
          : expected.value === undefined
            ? [{}]
            : [{ x: expected.value }];
      assert.deepEqual(matches, output);
    }),
    runs,
  );
});

test('a compiled WHERE matches when the interpreter says true, with aliases and without', () => {
  fc.assert(
    fc.property(
      expression,
      expression,
      fc.constantFrom('topic', 'payload', 'x'),
      (value, where, alias) => {
        const matches = compileStatement(select([field(value, alias)], where), { columns }).run(
          event,
        );
        const selected = interpreted(value, names);
        const known = new Map([...names, [alias, selected?.value]]);
        const isMatch = selected !== undefined && interpreted(where, known)?.value === true;
        assert.equal(matches !== undefined, isMatch);
      },
    ),
    runs,
  );
});

test('FOREACH gives what the interpreter gives for each element', () => {
  fc.assert(
    fc.property(expression, expression, expression, (list, each, incase) => {
      const statement: Statement = {
        kind: 'foreach',
        fields: [field(list, 'topic')],
        each: [field(each, 'qos')],
        incase,
        from: [{ name: 'message.publish', at }],
        where: undefined,
      };
      const matches = compileStatement(statement, { columns }).run(event);
      const collection = interpreted(list, names);
      if (collection === undefined) {
        assert.equal(matches, undefined);
        return;
      }
      const value =
        typeof collection.value === 'string' ? jsonOf(collection.value) : collection.value;
      const expected: unknown[] = [];
      for (const element of Array.isArray(value) ? value : []) {
        const known = new Map([...names, ['topic', element]]);
        const made = interpreted(each, known);
        if (made === undefined) continue;
        if (interpreted(incase, new Map([...known, ['qos', made.value]]))?.value !== true) continue;
        expected.push(made.value === undefined ? {} : { qos: made.value });
      }
      assert.deepEqual(matches, expected);
    }),
    runs,
  );
});

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

test('a statement that was printed and read again gives the same', () => {
  fc.assert(
    fc.property(expression, expression, (value, where) => {
      const statement = select([field(value, 'x')], where);
      const again = parseSql(printSql(statement));
      assert.deepEqual(
        compileStatement(again, { columns }).run(event),
        compileStatement(statement, { columns }).run(event),
      );
    }),
    { numRuns: 500 },
  );
});

test('what is explained is what was run, and every miss has a reason', () => {
  fc.assert(
    fc.property(expression, expression, (value, where) => {
      const statement = compileStatement(select([field(value, 'x')], where), { columns });
      const { matches, misses } = statement.explain(event);
      assert.deepEqual(matches, statement.run(event));
      assert.equal(misses.length, matches === undefined ? 1 : 0);
      for (const { reason } of misses) assert.notEqual(reason, '');
    }),
    { numRuns: 500 },
  );
});
