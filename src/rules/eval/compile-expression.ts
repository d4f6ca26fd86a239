// Expressions as closures, made once and run for every event. Laws: AND and OR stop as soon as they know;
// conditions are true or not, nothing but `true` counts as true; NOT of what is no boolean is false.

import { matches } from '#topics/match';
import type { Binary, BinaryOperator, Case, Expression, Membership, Unary } from '../sql/ast.ts';
import { type ArithmeticOperator, arithmetic, negated } from './arithmetic.ts';
import { equal, order, same } from './compare.ts';
import { compileCall } from './compile-call.ts';
import { compilePath } from './compile-path.ts';
import { RuleRaise, raise } from './raise.ts';
import type { Evaluate, Scope } from './scope.ts';
import { describeValue, listMax, type Value } from './value.ts';

export function compileExpression(expression: Expression, scope: Scope): Evaluate {
  const compile = (part: Expression): Evaluate => compileExpression(part, scope);
  switch (expression.kind) {
    case 'constant': {
      const { value } = expression;
      return () => value;
    }
    case 'path':
      return compilePath(expression, scope, compile);
    case 'call':
      return compileCall(expression, expression.args.map(compile));
    case 'unary':
      return compileUnary(expression, compile(expression.operand));
    case 'binary':
      return compileBinary(expression, compile(expression.left), compile(expression.right));
    case 'in':
      return compileMembership(expression, compile);
    case 'case':
      return compileCase(expression, compile);
    case 'list': {
      const items = expression.items.map(compile);
      return (frame) => items.map((item) => item(frame) ?? null);
    }
    case 'range':
      return compileRange(compile(expression.from), compile(expression.to), expression.at);
  }
}

function compileUnary({ operator, at }: Unary, operand: Evaluate): Evaluate {
  if (operator === 'not') return (frame) => operand(frame) === false;
  const change = operator === '-' ? negated : (value: Value) => arithmetic['+'](0, value);
  return (frame) => {
    const value = operand(frame);
    return placed(at, () => change(value));
  };
}

/** Comparisons that want a closer look than one function can give, by operator. */
const comparisons: Readonly<
  Record<
    Exclude<BinaryOperator, ArithmeticOperator | 'and' | 'or'>,
    (a: Value, b: Value) => boolean
  >
> = {
  '=': equal,
  '!=': (a, b) => !equal(a, b),
  // No order at all is undefined, which is neither below nor above 0.
  '<': (a, b) => (order(a, b) as number) < 0,
  '>': (a, b) => (order(a, b) as number) > 0,
  '<=': (a, b) => (order(a, b) as number) <= 0,
  '>=': (a, b) => (order(a, b) as number) >= 0,
  '=~': (topic, filter) =>
    typeof topic === 'string' && typeof filter === 'string' && matches(filter, topic),
};

function compileBinary({ operator, at }: Binary, left: Evaluate, right: Evaluate): Evaluate {
  switch (operator) {
    case 'and':
      return (frame) => left(frame) === true && right(frame) === true;
    case 'or':
      return (frame) => left(frame) === true || right(frame) === true;
    case '+':
    case '-':
    case '*':
    case '/':
    case 'div':
    case 'mod': {
      const calculate = arithmetic[operator];
      return (frame) => {
        const [a, b] = [left(frame), right(frame)];
        return placed(at, () => calculate(a, b));
      };
    }
    default: {
      const compare = comparisons[operator];
      return (frame) => compare(left(frame), right(frame));
    }
  }
}

function placed(at: number, calculate: () => Value): Value {
  try {
    return calculate();
  } catch (error) {
    if (error instanceof RuleRaise) error.at ??= at;
    throw error;
  }
}

function compileMembership(
  { value, among, isNegated }: Membership,
  compile: (part: Expression) => Evaluate,
): Evaluate {
  const wanted = compile(value);
  const members = among.map(compile);
  return (frame) => {
    const found = wanted(frame);
    for (const member of members) if (same(found, member(frame))) return !isNegated;
    return isNegated;
  };
}

function compileCase(
  { subject, branches, otherwise }: Case,
  compile: (part: Expression) => Evaluate,
): Evaluate {
  const of = subject === undefined ? undefined : compile(subject);
  const whens = branches.map(({ when }) => compile(when));
  const thens = branches.map(({ then }) => compile(then));
  const last = otherwise === undefined ? () => undefined : compile(otherwise);
  return (frame) => {
    const wanted = of?.(frame);
    for (let i = 0; i < whens.length; i++) {
      const found = (whens[i] as Evaluate)(frame);
      const fits = of === undefined ? found === true : same(wanted, found);
      if (fits) return (thens[i] as Evaluate)(frame);
    }
    return last(frame);
  };
}

function compileRange(from: Evaluate, to: Evaluate, at: number): Evaluate {
  return (frame) => {
    const [first, last] = [from(frame), to(frame)];
    return placed(at, () => rangeOf(first, last));
  };
}

function rangeOf(first: Value, last: Value): Value {
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last)) {
    const wrong = Number.isSafeInteger(first) ? last : first;
    raise(() => `a range goes from integer to integer, found ${describeValue(wrong)}`);
  }
  const [low, high] = [first as number, last as number];
  if (high - low >= listMax) raise(() => `a range has at most ${listMax} elements`);
  return Array.from({ length: Math.max(0, high - low + 1) }, (_, i) => low + i);
}
