// Calculating with numbers. Laws: integers stay exact however large (within their limit), everything else is
// a double; a result that is no finite number raises, so does what is no number to begin with.

import { raise } from './raise.ts';
import { bounded } from './json.ts';
import { describeValue, finite, integerOf, isInteger, type Value } from './value.ts';

type Numeric = number | bigint;
export type ArithmeticOperator = '+' | '-' | '*' | '/' | 'div' | 'mod';

export const arithmetic: Readonly<
  Record<ArithmeticOperator, (left: Value, right: Value) => Value>
> = {
  '+': (left, right) =>
    typeof left === 'string' && typeof right === 'string'
      ? bounded(left + right)
      : exact(
          '+',
          left,
          right,
          (a, b) => a + b,
          (a, b) => a + b,
        ),
  '-': (left, right) =>
    exact(
      '-',
      left,
      right,
      (a, b) => a - b,
      (a, b) => a - b,
    ),
  '*': (left, right) =>
    exact(
      '*',
      left,
      right,
      (a, b) => a * b,
      (a, b) => a * b,
    ),
  '/': (left, right) => {
    const [a, b] = [Number(numberOf('/', left)), Number(numberOf('/', right))];
    if (b === 0) raise(() => 'division by zero');
    return finite(a / b);
  },
  div: (left, right) =>
    whole(
      'div',
      left,
      right,
      (a, b) => (a - (a % b)) / b,
      (a, b) => a / b,
    ),
  mod: (left, right) =>
    whole(
      'mod',
      left,
      right,
      (a, b) => a % b,
      (a, b) => a % b,
    ),
};

export function negated(value: Value): Value {
  return arithmetic['-'](0, value);
}

function numberOf(operator: string, value: Value): Numeric {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  return raise(() => `${operator} cannot calculate with what is ${describeValue(value)}`);
}

function exact(
  operator: string,
  left: Value,
  right: Value,
  ofNumbers: (a: number, b: number) => number,
  ofBigs: (a: bigint, b: bigint) => bigint,
): Numeric {
  const [a, b] = [numberOf(operator, left), numberOf(operator, right)];
  if (typeof a === 'number' && typeof b === 'number') {
    const result = ofNumbers(a, b);
    if (Number.isSafeInteger(result)) return result + 0; // -0 becomes 0.
    if (!Number.isSafeInteger(a) || !Number.isSafeInteger(b)) return finite(result);
  }
  if (isExact(a) && isExact(b)) return integerOf(ofBigs(BigInt(a), BigInt(b)));
  return finite(ofNumbers(Number(a), Number(b)));
}

/** A double beyond 2^53 has digits that nobody wrote. */
function isExact(value: Numeric): boolean {
  return typeof value === 'bigint' || Number.isSafeInteger(value);
}

function whole(
  operator: string,
  left: Value,
  right: Value,
  ofNumbers: (a: number, b: number) => number,
  ofBigs: (a: bigint, b: bigint) => bigint,
): Numeric {
  const [a, b] = [numberOf(operator, left), numberOf(operator, right)];
  if (!isInteger(a) || !isInteger(b)) {
    raise(() => `${operator} wants integers, found ${describeValue(isInteger(a) ? b : a)}`);
  }
  if (Number(b) === 0) raise(() => 'division by zero');
  if (Number.isSafeInteger(a) && Number.isSafeInteger(b)) {
    return ofNumbers(a as number, b as number) + 0;
  }
  return integerOf(ofBigs(BigInt(a), BigInt(b)));
}
