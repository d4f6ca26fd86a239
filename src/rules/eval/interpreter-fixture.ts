// For tests: says what an expression gives by walking its tree anew each time, with rules of its own, so that
// it shares no code with the compiler but the table of functions.

import type { Expression } from '../sql/ast.ts';

export type Names = ReadonlyMap<string, unknown>;

export class NaiveRaise extends Error {}

const raise = (): never => {
  throw new NaiveRaise('raised');
};

const numeric = (x: unknown): x is number | bigint =>
  typeof x === 'number' || typeof x === 'bigint';
const missing = (x: unknown): boolean => x === null || x === undefined;

/** Same value, no conversion: by printing, with the keys of objects in order. */
export function isSame(a: unknown, b: unknown): boolean {
  return printed(a) === printed(b);
}

function printed(x: unknown): string {
  if (missing(x)) return 'nothing';
  if (numeric(x)) return `n${Number.isInteger(x) || typeof x === 'bigint' ? BigInt(x) : x}`;
  if (typeof x === 'string') return `s${JSON.stringify(x)}`;
  if (Array.isArray(x)) return `[${x.map(printed).join()}]`;
  if (typeof x === 'boolean') return x ? 'yes' : 'no';
  const entries = Object.entries(x as object).map(
    ([key, value]) => `${JSON.stringify(key)}:${printed(value)}`,
  );
  return `{${entries.sort().join()}}`;
}

function parsed(text: string): number | undefined {
  return /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined;
}

function isEqual(a: unknown, b: unknown): boolean {
  if (typeof a === 'string' && numeric(b)) return isSame(parsed(a), b);
  if (numeric(a) && typeof b === 'string') return isSame(a, parsed(b));
  if (typeof a === 'string' && typeof b === 'boolean') return a === `${b}`;
  if (typeof a === 'boolean' && typeof b === 'string') return `${a}` === b;
  return isSame(a, b);
}

/** [is less, is greater]; both false: equal, or no order at all. */
function isOrdered(a: unknown, b: unknown): { less: boolean; greater: boolean; equal: boolean } {
  const none = { less: false, greater: false, equal: false };
  let [x, y] = [a, b];
  if (typeof x === 'string' && numeric(y)) x = parsed(x);
  else if (numeric(x) && typeof y === 'string') y = parsed(y);
  if (missing(x) || missing(y) || (typeof x !== typeof y && !(numeric(x) && numeric(y))))
    return none;
  if (typeof x === 'object') return none;
  if (typeof x === 'string') {
    const sign = Buffer.compare(Buffer.from(x), Buffer.from(y as string));
    return { less: sign < 0, greater: sign > 0, equal: sign === 0 };
  }
  const [p, q] = [x as number, y as number];
  return { less: p < q, greater: p > q, equal: !(p < q) && !(p > q) };
}

function calculated(operator: string, a: unknown, b: unknown): unknown {
  if (operator === '+' && typeof a === 'string' && typeof b === 'string') return a + b;
  if (!numeric(a) || !numeric(b)) return raise();
  const isWhole = [a, b].every((x) => typeof x === 'bigint' || Number.isSafeInteger(x));
  if (operator === '/') return Number(b) === 0 ? raise() : finite(Number(a) / Number(b));
  if (operator === 'div' || operator === 'mod') {
    if (![a, b].every((x) => typeof x === 'bigint' || Number.isInteger(x)) || Number(b) === 0)
      return raise();
    return shrunk(operator === 'div' ? BigInt(a) / BigInt(b) : BigInt(a) % BigInt(b));
  }
  if (isWhole) {
    const [x, y] = [BigInt(a), BigInt(b)];
    return shrunk(operator === '+' ? x + y : operator === '-' ? x - y : x * y);
  }
  const [x, y] = [Number(a), Number(b)];
  return finite(operator === '+' ? x + y : operator === '-' ? x - y : x * y);
}

function shrunk(x: bigint): unknown {
  return Number.isSafeInteger(Number(x)) ? Number(x) : x;
}

function finite(x: number): number {
  return Number.isFinite(x) ? (x === 0 ? 0 : x) : raise();
}

function opened(x: unknown): unknown {
  if (typeof x !== 'string') return x;
  try {
    return JSON.parse(x);
  } catch {
    return undefined;
  }
}

function step(value: unknown, key: unknown): unknown {
  const inner = opened(value);
  if (Array.isArray(inner)) {
    const index = typeof key === 'string' && /^\d+$/.test(key) ? Number(key) : key;
    if (typeof index !== 'number' || !Number.isInteger(index) || index === 0) return undefined;
    return inner[index > 0 ? index - 1 : inner.length + index];
  }
  if (typeof inner !== 'object' || inner === null || typeof key !== 'string') return undefined;
  return Object.entries(inner).find(([own]) => own === key)?.[1];
}

export function interpret(expression: Expression, names: Names): unknown {
  const of = (part: Expression): unknown => interpret(part, names);
  switch (expression.kind) {
    case 'constant':
      return expression.value;
    case 'path': {
      const [first, ...steps] = expression.steps;
      let value = names.get(first.key);
      for (const each of steps) {
        if (missing(opened(value))) return undefined;
        if (each.kind === 'key') value = step(value, each.key);
        else if (each.kind === 'index') {
          const index = of(each.index);
          value = step(value, index);
        } else {
          const [from, to] = [of(each.from), of(each.to)];
          value = range(opened(value), from, to);
        }
      }
      return value;
    }
    case 'unary': {
      const value = of(expression.operand);
      if (expression.operator === 'not') return value === false;
      if (!numeric(value)) return raise();
      return expression.operator === '+' ? value : calculated('-', 0, value);
    }
    case 'binary':
      return binary(expression.operator, expression.left, expression.right, of);
    case 'in': {
      const value = of(expression.value);
      return expression.among.some((each) => isSame(value, of(each))) !== expression.isNegated;
    }
    case 'case': {
      const subject = expression.subject === undefined ? true : of(expression.subject);
      const found = expression.branches.find(({ when }) =>
        expression.subject === undefined ? of(when) === true : isSame(subject, of(when)),
      );
      if (found !== undefined) return of(found.then);
      return expression.otherwise === undefined ? undefined : of(expression.otherwise);
    }
    case 'list':
      return expression.items.map((item) => of(item) ?? null);
    case 'range': {
      const [from, to] = [of(expression.from), of(expression.to)];
      if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to)) return raise();
      if ((to as number) - (from as number) >= 10_000) return raise();
      const all: number[] = [];
      for (let i = from as number; i <= (to as number); i++) all.push(i);
      return all;
    }
    case 'call':
      return called(expression.name, expression.args.map(of));
  }
}

/** Some functions, written again. */
function called(name: string, args: readonly unknown[]): unknown {
  const [a, b] = args;
  switch (name) {
    case 'is_null':
      return missing(a);
    case 'upper':
      return typeof a === 'string' ? a.toUpperCase() : raise();
    case 'coalesce':
      return args.find((x) => !missing(x));
    case 'nth': {
      const list = opened(b);
      if (!Array.isArray(list) || !Number.isSafeInteger(a)) return raise();
      return (a as number) >= 1 && (a as number) <= list.length ? list[(a as number) - 1] : raise();
    }
    default:
      throw new Error(`the interpreter has no ${name}`);
  }
}

function range(list: unknown, from: unknown, to: unknown): unknown {
  if (!Array.isArray(list) || !Number.isSafeInteger(from) || !Number.isSafeInteger(to))
    return undefined;
  const at = (i: number): number => (i < 0 ? list.length + i + 1 : i);
  return list.filter((_, i) => i + 1 >= at(from as number) && i + 1 <= at(to as number));
}

function binary(
  operator: string,
  left: Expression,
  right: Expression,
  of: (part: Expression) => unknown,
): unknown {
  if (operator === 'and') return of(left) === true && of(right) === true;
  if (operator === 'or') return of(left) === true || of(right) === true;
  const [a, b] = [of(left), of(right)];
  const { less, greater, equal } = isOrdered(a, b);
  switch (operator) {
    case '=':
      return isEqual(a, b);
    case '!=':
      return !isEqual(a, b);
    case '<':
      return less;
    case '>':
      return greater;
    case '<=':
      return less || equal;
    case '>=':
      return greater || equal;
    case '=~':
      return (
        typeof a === 'string' && typeof b === 'string' && isTopicMatch(b.split('/'), a.split('/'))
      );
    default:
      return calculated(operator, a, b);
  }
}

function isTopicMatch(filter: readonly string[], topic: readonly string[]): boolean {
  if (topic[0]?.startsWith('$') && (filter[0] === '+' || filter[0] === '#')) return false;
  const [f, ...filters] = filter;
  const [t, ...topics] = topic;
  if (f === '#' && filters.length === 0) return true;
  if (f === undefined || t === undefined) return f === t;
  if (f !== '+' && f !== t) return false;
  return isTopicMatch(filters, topics.length === 0 && filters.length === 0 ? [] : topics);
}
