// Functions of numbers. Law: what has no finite result raises; integers stay integers where they can.

import { arithmetic } from './arithmetic.ts';
import { equal } from './compare.ts';
import { raise } from './raise.ts';
import { type SqlFunction, sqlFunction } from './sql-function.ts';
import { finite, integerBitsMax, integerOf } from './value.ts';

type Numeric = number | bigint;

export const mathFunctions: readonly SqlFunction[] = [
  sqlFunction('Math', 'mod', {
    params: { x: 'integer', y: 'integer' },
    text: 'The remainder of a division of integers, with the sign of x.',
    examples: { 'mod(7, 3)': '1', 'mod(-7, 3)': '-1' },
    call: ({ x, y }) => arithmetic.mod(x, y),
  }),
  sqlFunction('Math', 'eq', {
    params: { x: 'any', y: 'any' },
    text: 'The same as x = y.',
    examples: { 'eq(1, 1.0)': 'true', "eq('a', 'b')": 'false' },
    call: ({ x, y }) => equal(x, y),
  }),
  sqlFunction('Math', 'abs', {
    params: { x: 'number' },
    text: 'The absolute value.',
    examples: { 'abs(-3)': '3', 'abs(-1.5)': '1.5' },
    call: ({ x }) => (x < 0 ? arithmetic['-'](0, x) : x),
  }),
  whole('ceil', 'The next integer up.', { 'ceil(1.2)': '2', 'ceil(-1.2)': '-1' }, Math.ceil),
  whole('floor', 'The next integer down.', { 'floor(1.8)': '1', 'floor(-1.2)': '-2' }, Math.floor),
  whole(
    'round',
    'The nearest integer, halves away from zero.',
    { 'round(2.5)': '3', 'round(-2.5)': '-3' },
    (x) => (x < 0 ? -Math.round(-x) : Math.round(x)),
  ),
  sqlFunction('Math', 'power', {
    params: { x: 'number', y: 'number' },
    text: 'x to the power of y.',
    examples: { 'power(2, 10)': '1024', 'power(2, -1)': '0.5' },
    call: ({ x, y }) => finite(Number(x) ** Number(y)),
  }),
  sqlFunction('Math', 'fmod', {
    params: { x: 'number', y: 'number' },
    text: 'The remainder of a division of any numbers, with the sign of x.',
    examples: { 'fmod(7.5, 2)': '1.5', 'fmod(-7.5, 2)': '-1.5' },
    call: ({ x, y }) => {
      if (Number(y) === 0) raise(() => 'division by zero');
      return finite(Number(x) % Number(y)) + 0;
    },
  }),
  real('exp', 'e to the power of x.', { 'exp(0)': '1', 'exp(1)': '2.718281828459045' }, Math.exp),
  real('sqrt', 'The square root.', { 'sqrt(9)': '3', 'sqrt(2.25)': '1.5' }, Math.sqrt),
  real('log', 'The natural logarithm.', { 'log(1)': '0', 'log(exp(2))': '2' }, Math.log),
  real('log10', 'The logarithm to base 10.', { 'log10(1000)': '3', 'log10(1)': '0' }, Math.log10),
  real('log2', 'The logarithm to base 2.', { 'log2(8)': '3', 'log2(0.5)': '-1' }, Math.log2),
  real(
    'sin',
    'The sine of an angle in radians.',
    { 'sin(0)': '0', 'round(sin(1) * 100)': '84' },
    Math.sin,
  ),
  real(
    'cos',
    'The cosine of an angle in radians.',
    { 'cos(0)': '1', 'round(cos(1) * 100)': '54' },
    Math.cos,
  ),
  real(
    'tan',
    'The tangent of an angle in radians.',
    { 'tan(0)': '0', 'round(tan(1) * 100)': '156' },
    Math.tan,
  ),
  real(
    'asin',
    'The arc sine, in radians.',
    { 'asin(0)': '0', 'round(asin(1) * 100)': '157' },
    Math.asin,
  ),
  real(
    'acos',
    'The arc cosine, in radians.',
    { 'acos(1)': '0', 'round(acos(0) * 100)': '157' },
    Math.acos,
  ),
  real(
    'atan',
    'The arc tangent, in radians.',
    { 'atan(0)': '0', 'round(atan(1) * 100)': '79' },
    Math.atan,
  ),
  real(
    'sinh',
    'The hyperbolic sine.',
    { 'sinh(0)': '0', 'round(sinh(1) * 100)': '118' },
    Math.sinh,
  ),
  real(
    'cosh',
    'The hyperbolic cosine.',
    { 'cosh(0)': '1', 'round(cosh(1) * 100)': '154' },
    Math.cosh,
  ),
  real(
    'tanh',
    'The hyperbolic tangent.',
    { 'tanh(0)': '0', 'round(tanh(1) * 100)': '76' },
    Math.tanh,
  ),
  real(
    'asinh',
    'The inverse of sinh.',
    { 'asinh(0)': '0', 'round(asinh(1) * 100)': '88' },
    Math.asinh,
  ),
  real(
    'acosh',
    'The inverse of cosh.',
    { 'acosh(1)': '0', 'round(acosh(2) * 100)': '132' },
    Math.acosh,
  ),
  real(
    'atanh',
    'The inverse of tanh.',
    { 'atanh(0)': '0', 'round(atanh(0.5) * 100)': '55' },
    Math.atanh,
  ),
  sqlFunction('Bits', 'bitnot', {
    params: { x: 'integer' },
    text: 'All bits inverted.',
    examples: { 'bitnot(0)': '-1', 'bitnot(5)': '-6' },
    call: ({ x }) => integerOf(~BigInt(x)),
  }),
  bits(
    'bitand',
    'The bits that both have.',
    { 'bitand(12, 10)': '8', 'bitand(-1, 7)': '7' },
    (x, y) => x & y,
  ),
  bits(
    'bitor',
    'The bits that one of both has.',
    { 'bitor(12, 10)': '14', 'bitor(1, 2)': '3' },
    (x, y) => x | y,
  ),
  bits(
    'bitxor',
    'The bits that only one of both has.',
    { 'bitxor(12, 10)': '6', 'bitxor(5, 5)': '0' },
    (x, y) => x ^ y,
  ),
  shift(
    'bitsl',
    'x shifted to the left by n bits.',
    { 'bitsl(1, 4)': '16', 'bitsl(1, 64)': '18446744073709551616' },
    (x, n) => x << n,
  ),
  shift(
    'bitsr',
    'x shifted to the right by n bits.',
    { 'bitsr(16, 4)': '1', 'bitsr(-1, 8)': '-1' },
    (x, n) => x >> n,
  ),
];

type Examples = Readonly<Record<string, string>>;

function whole(
  name: string,
  text: string,
  examples: Examples,
  of: (x: number) => number,
): SqlFunction {
  return sqlFunction('Math', name, {
    params: { x: 'number' },
    text,
    examples,
    call: ({ x }) => (typeof x === 'bigint' ? x : of(x) + 0),
  });
}

function real(
  name: string,
  text: string,
  examples: Examples,
  of: (x: number) => number,
): SqlFunction {
  return sqlFunction('Math', name, {
    params: { x: 'number' },
    text,
    examples,
    call: ({ x }) => finite(of(Number(x))) + 0,
  });
}

function bits(
  name: string,
  text: string,
  examples: Examples,
  of: (x: bigint, y: bigint) => bigint,
): SqlFunction {
  return sqlFunction('Bits', name, {
    params: { x: 'integer', y: 'integer' },
    text,
    examples,
    call: ({ x, y }) => integerOf(of(BigInt(x), BigInt(y))),
  });
}

function shift(
  name: string,
  text: string,
  examples: Examples,
  of: (x: bigint, n: bigint) => bigint,
): SqlFunction {
  return sqlFunction('Bits', name, {
    params: { x: 'integer', n: 'count' },
    text,
    examples,
    call: ({ x, n }): Numeric => {
      if (n < 0 || n > integerBitsMax)
        raise(() => `cannot shift by ${n} bits: 0 to ${integerBitsMax} are allowed`);
      return integerOf(of(BigInt(x), BigInt(n)));
    },
  });
}
