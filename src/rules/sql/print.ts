// Writes a tree as SQL, on one line and in one way. Law: what the parser made reads back as the same tree,
// places aside; parentheses stand only where the tree needs them.

import type {
  AliasStep,
  Binary,
  BinaryOperator,
  Case,
  Constant,
  Expression,
  Field,
  Path,
  PathStep,
  Statement,
} from './ast.ts';
import { isPlainKey, isPlainName } from './lexer.ts';

/** How tightly an expression holds together; a part that holds less tightly goes into parentheses. */
const binding = { or: 0, and: 1, not: 2, comparison: 3, sum: 4, product: 5, sign: 6, whole: 7 };

const bindings: Readonly<Record<BinaryOperator, number>> = {
  or: binding.or,
  and: binding.and,
  '=': binding.comparison,
  '!=': binding.comparison,
  '<': binding.comparison,
  '>': binding.comparison,
  '<=': binding.comparison,
  '>=': binding.comparison,
  '=~': binding.comparison,
  '+': binding.sum,
  '-': binding.sum,
  '*': binding.product,
  '/': binding.product,
  div: binding.product,
  mod: binding.product,
};

export function printSql(statement: Statement): string {
  const from = `FROM ${statement.from.map(({ name }) => quoted(name, '"')).join(', ')}`;
  const where = clause('WHERE', statement.where);
  if (statement.kind === 'select') return `SELECT ${fields(statement.fields)} ${from}${where}`;
  const each = statement.each === undefined ? '' : ` DO ${fields(statement.each)}`;
  const incase = clause('INCASE', statement.incase);
  return `FOREACH ${fields(statement.fields)}${each}${incase} ${from}${where}`;
}

/** Also names what a condition or a field without an alias is, for those who read it. */
export function printExpression(expression: Expression): string {
  switch (expression.kind) {
    case 'constant':
      return constant(expression.value);
    case 'path':
      return path(expression);
    case 'call':
      return `${expression.name}(${list(expression.args)})`;
    case 'unary': {
      const operand = within(expression.operand, bindingOf(expression));
      if (expression.operator === 'not') return `NOT ${operand}`;
      // NOTE `--` is a comment.
      return `${expression.operator}${/^[-+]/.test(operand) ? ' ' : ''}${operand}`;
    }
    case 'binary':
      return binary(expression);
    case 'in': {
      const value = within(expression.value, binding.sum);
      return `${value}${expression.isNegated ? ' NOT' : ''} IN (${list(expression.among)})`;
    }
    case 'case':
      return cases(expression);
    case 'list':
      return `[${list(expression.items)}]`;
    case 'range':
      return `[${printExpression(expression.from)}..${printExpression(expression.to)}]`;
  }
}

function clause(keyword: string, condition: Expression | undefined): string {
  return condition === undefined ? '' : ` ${keyword} ${printExpression(condition)}`;
}

function fields(all: readonly Field[]): string {
  return all.map(field).join(', ');
}

function field(one: Field): string {
  if (one.kind === 'all') return '*';
  const { value, alias } = one;
  return (
    printExpression(value) + (alias === undefined ? '' : ` AS ${alias.map(aliasStep).join('')}`)
  );
}

function aliasStep(step: AliasStep, place: number): string {
  if (step.kind === 'index') return `[${step.isFromEnd ? '-' : ''}${step.index}]`;
  if (place > 0) return `.${isPlainKey(step.key) ? step.key : quoted(step.key, '"')}`;
  return isPlainName(step.key) ? step.key : quoted(step.key, '"');
}

function bindingOf(expression: Expression): number {
  if (expression.kind === 'binary') return bindings[expression.operator];
  if (expression.kind === 'in') return binding.comparison;
  if (expression.kind !== 'unary') return binding.whole;
  return expression.operator === 'not' ? binding.not : binding.sign;
}

function within(part: Expression, bindingMin: number): string {
  const text = printExpression(part);
  return bindingOf(part) < bindingMin ? `(${text})` : text;
}

function binary(expression: Binary): string {
  const { operator, left, right } = expression;
  const own = bindings[operator];
  // Comparisons do not chain; all others are read from left to right.
  const first = within(left, own === binding.comparison ? own + 1 : own);
  const word = operator === 'or' || operator === 'and' ? operator.toUpperCase() : operator;
  const second = within(right, own + 1);
  // NOTE `a mod [0]` gives `a` an alias.
  const isAlias = operator === 'mod' && second.startsWith('[');
  return `${first} ${word} ${isAlias ? `(${second})` : second}`;
}

function list(items: readonly Expression[]): string {
  return items.map(printExpression).join(', ');
}

function cases({ subject, branches, otherwise }: Case): string {
  const of = subject === undefined ? '' : ` ${printExpression(subject)}`;
  const inner = branches.map(
    ({ when, then }) => ` WHEN ${printExpression(when)} THEN ${printExpression(then)}`,
  );
  return `CASE${of}${inner.join('')}${clause('ELSE', otherwise)} END`;
}

function path({ steps: [first, ...steps] }: Path): string {
  const name = isPlainName(first.key) && !isConstantName(first.key, steps[0]);
  return (name ? first.key : quoted(first.key, '`')) + steps.map(pathStep).join('');
}

/** `true` alone is no column, `true.x` is one. */
function isConstantName(key: string, next: PathStep | undefined): boolean {
  return next === undefined && /^(?:true|false|null|undefined)$/i.test(key);
}

function pathStep(step: PathStep): string {
  if (step.kind === 'key') return `.${isPlainKey(step.key) ? step.key : quoted(step.key, "'")}`;
  if (step.kind === 'index') return `[${printExpression(step.index)}]`;
  return `[${printExpression(step.from)}..${printExpression(step.to)}]`;
}

function constant(value: Constant['value']): string {
  if (typeof value === 'string') return quoted(value, "'");
  // An integer without an exponent reads back as a bigint.
  const isBeyond = Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === 'number' && isBeyond ? value.toExponential() : String(value);
}

function quoted(text: string, quote: string): string {
  return quote + text.replaceAll(quote, quote + quote) + quote;
}
