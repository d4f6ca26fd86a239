// Reads expressions. Precedence from low to high: OR, AND, NOT, comparison and IN (which do not chain),
// + -, * / div mod, signs. Laws: a sign before a number becomes part of it; `mod` is an operator only
// where an operand follows it, because it is a function and may be a name, too.

import type {
  BinaryOperator,
  Call,
  Case,
  Constant,
  Expression,
  KeyStep,
  ListLiteral,
  Path,
  PathStep,
  RangeLiteral,
} from './ast.ts';
import type { Token } from './lexer.ts';
import type { TokenReader } from './token-reader.ts';

type Operand = (reader: TokenReader) => Expression;

const operator = 'an operator';
const comparisons: readonly BinaryOperator[] = ['=', '!=', '<', '>', '<=', '>=', '=~'];
const constants: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
  ['undefined', null],
]);

export function parseExpression(reader: TokenReader): Expression {
  reader.enter();
  const expression = chain(reader, ['or'], conjunction);
  reader.leave();
  return expression;
}

/** At least one. */
export function parseExpressions(reader: TokenReader, what: string): Expression[] {
  const items: Expression[] = [];
  do {
    reader.limit(items.length, what);
    items.push(parseExpression(reader));
  } while (reader.accept(','));
  return items;
}

function conjunction(reader: TokenReader): Expression {
  return chain(reader, ['and'], negation);
}

function negation(reader: TokenReader): Expression {
  const { at } = reader;
  if (!reader.isNext('not')) return comparison(reader);
  reader.take();
  reader.enter();
  const operand = negation(reader);
  reader.leave();
  return { kind: 'unary', operator: 'not', operand, at };
}

function comparison(reader: TokenReader): Expression {
  const { at } = reader;
  const left = sum(reader);
  const compared = acceptOperator(reader, comparisons);
  if (compared !== undefined) {
    return { kind: 'binary', operator: compared, left, right: sum(reader), at };
  }
  const second = reader.peekSecond();
  const isNegated = reader.isNext('not') && second.kind === 'sign' && second.text === 'in';
  if (isNegated) reader.take();
  if (!reader.accept('in', operator)) return left;
  if (!reader.accept('(')) reader.fail('contains(x, list) looks into a list');
  const among = parseExpressions(reader, 'values of IN');
  reader.expect(')');
  return { kind: 'in', value: left, among, isNegated, at };
}

function sum(reader: TokenReader): Expression {
  return chain(reader, ['+', '-'], product);
}

function product(reader: TokenReader): Expression {
  return chain(reader, ['*', '/', 'div', 'mod'], signed);
}

function chain(
  reader: TokenReader,
  operators: readonly BinaryOperator[],
  operand: Operand,
): Expression {
  const { at } = reader;
  let left = operand(reader);
  for (;;) {
    const found = acceptOperator(reader, operators);
    if (found === undefined) return left;
    left = { kind: 'binary', operator: found, left, right: operand(reader), at };
  }
}

function acceptOperator(
  reader: TokenReader,
  operators: readonly BinaryOperator[],
): BinaryOperator | undefined {
  const token = reader.peek();
  const { text } = token;
  const word = token.kind === 'name' && text.toLowerCase() === 'mod' ? 'mod' : text;
  const found = operators.find((each) => each === word);
  const isMeant = found === 'mod' ? isOperandStart(reader.peekSecond()) : token.kind === 'sign';
  if (found !== undefined && isMeant) {
    reader.take();
    return found;
  }
  reader.note(operator);
  return undefined;
}

/** Not of a list: `a mod[0]` gives `a` an alias. */
function isOperandStart({ kind, text }: Token): boolean {
  return kind === 'sign'
    ? ['(', '-', '+', 'case'].includes(text)
    : kind !== 'end' && kind !== 'bad';
}

function signed(reader: TokenReader): Expression {
  const { at } = reader;
  const isMinus = reader.isNext('-');
  if (!isMinus && !reader.isNext('+')) return primary(reader);
  reader.take();
  reader.enter();
  const operand = signed(reader);
  reader.leave();
  if (operand.kind !== 'constant' || !isNumber(operand.value)) {
    return { kind: 'unary', operator: isMinus ? '-' : '+', operand, at };
  }
  const { value } = operand;
  return { kind: 'constant', value: isMinus ? negative(value) : value, at };
}

function isNumber(value: Constant['value']): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** There is one zero. */
function negative(value: number | bigint): number | bigint {
  return value === 0 ? 0 : -value;
}

function primary(reader: TokenReader): Expression {
  const { at } = reader;
  const token = reader.peek();
  if (token.kind === 'name') return named(reader);
  if (token.kind === 'quoted name') return path(reader);
  if (token.kind === 'number') return { kind: 'constant', value: reader.take().value, at };
  if (token.kind === 'text' || token.kind === 'double text') {
    return { kind: 'constant', value: reader.take().text, at };
  }
  if (reader.isNext('case')) return parseCase(reader);
  if (reader.isNext('[')) return list(reader);
  if (reader.isNext('(')) {
    reader.take();
    const inner = parseExpression(reader);
    reader.expect(')');
    return inner;
  }
  reader.note('an expression');
  return reader.fail();
}

function named(reader: TokenReader): Expression {
  const { at, text } = reader.peek();
  const second = reader.peekSecond();
  const follows = second.kind === 'sign' ? second.text : '';
  if (follows === '(') return call(reader);
  const value = constants.get(text.toLowerCase());
  if (value === undefined || follows === '.' || follows === '[') return path(reader);
  reader.take();
  return { kind: 'constant', value, at };
}

function call(reader: TokenReader): Call {
  const { at, text } = reader.take();
  reader.take();
  const args = reader.accept(')') ? [] : parseExpressions(reader, 'arguments');
  if (args.length > 0) reader.expect(')');
  return { kind: 'call', name: text.toLowerCase(), args, at };
}

function path(reader: TokenReader): Path {
  const { at, text } = reader.take();
  const steps: [KeyStep, ...PathStep[]] = [{ kind: 'key', key: text }];
  while (reader.isNext('.') || reader.isNext('[')) {
    reader.limit(steps.length, 'steps of a path');
    const isKey = reader.take().text === '.';
    steps.push(isKey ? { kind: 'key', key: parseKey(reader) } : indexOrRange(reader));
  }
  return { kind: 'path', steps, at };
}

/** What follows the dot of a step. */
export function parseKey(reader: TokenReader): string {
  const { kind } = reader.peek();
  if (kind !== 'name' && kind !== 'quoted name' && kind !== 'text' && kind !== 'double text') {
    reader.note('a key');
    reader.fail();
  }
  return reader.take().text;
}

function indexOrRange(reader: TokenReader): PathStep {
  const from = parseExpression(reader);
  if (!reader.accept('..')) {
    reader.expect(']');
    return { kind: 'index', index: from };
  }
  const to = parseExpression(reader);
  reader.expect(']');
  return { kind: 'range', from, to };
}

function list(reader: TokenReader): ListLiteral | RangeLiteral {
  const { at } = reader.take();
  if (reader.accept(']')) return { kind: 'list', items: [], at };
  const from = parseExpression(reader);
  if (reader.accept('..')) {
    const to = parseExpression(reader);
    reader.expect(']');
    return { kind: 'range', from, to, at };
  }
  const items = reader.accept(',') ? [from, ...parseExpressions(reader, 'items')] : [from];
  reader.expect(']');
  return { kind: 'list', items, at };
}

function parseCase(reader: TokenReader): Case {
  const { at } = reader.take();
  const subject = reader.isNext('when') ? undefined : parseExpression(reader);
  const branches: Case['branches'][number][] = [];
  reader.expect('when');
  do {
    reader.limit(branches.length, 'branches');
    const when = parseExpression(reader);
    reader.expect('then');
    // oxlint-disable-next-line unicorn/no-thenable -- the word of the grammar; nobody awaits a branch
    branches.push({ when, then: parseExpression(reader) });
  } while (reader.accept('when'));
  const otherwise = reader.accept('else') ? parseExpression(reader) : undefined;
  reader.expect('end');
  return { kind: 'case', subject, branches, otherwise, at };
}
