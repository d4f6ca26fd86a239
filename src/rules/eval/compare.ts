// Equality and order of values. Laws: a comparison never raises; what cannot be compared is neither equal nor
// in any order, so a missing value is greater than nothing; numbers compare by value whatever holds them,
// texts by their UTF-8 bytes; the work of comparing two values is bounded.

import { builtDepthMax } from './json.ts';
import { raise } from './raise.ts';
import {
  isBytes,
  isList,
  isMap,
  isMissing,
  numberOfText,
  ownKey,
  type Value,
  type ValueMap,
} from './value.ts';

/** Parts of lists and objects that one comparison looks at, and how deep it goes. */
const partsMax = 100_000;

/** `=`: a text may stand for the number or boolean that it writes. */
export function equal(left: Value, right: Value): boolean {
  if (left === right) return true;
  if (typeof left === 'string') return equalText(left, right);
  if (typeof right === 'string') return equalText(right, left);
  return same(left, right);
}

function equalText(text: string, other: Value): boolean {
  switch (typeof other) {
    case 'string':
      return text === other;
    case 'number':
    case 'bigint': {
      const number = numberOfText(text);
      return number !== undefined && isSameNumber(number, other);
    }
    case 'boolean':
      return text === String(other);
    default:
      return isBytes(other) && other.equals(Buffer.from(text));
  }
}

/** `IN` and simple CASE: no text stands for anything but itself. */
export function same(left: Value, right: Value): boolean {
  return isSame(left, right, { left: partsMax }, 0);
}

function isSame(left: Value, right: Value, budget: { left: number }, depth: number): boolean {
  if (left === right) return true;
  if (isMissing(left) || isMissing(right)) return isMissing(left) && isMissing(right);
  if (isNumber(left) && isNumber(right)) return isSameNumber(left, right);
  if (isBytes(left) || isBytes(right)) return isSameBytes(left, right);
  if (typeof left !== 'object' || typeof right !== 'object') return false;
  if (--budget.left < 0) raise(() => `cannot compare values of more than ${partsMax} parts`);
  if (depth > builtDepthMax) raise(() => `cannot compare values more than ${builtDepthMax} deep`);
  if (isList(left)) {
    if (!isList(right) || left.length !== right.length) return false;
    return left.every((item, i) => isSame(item, right[i], budget, depth + 1));
  }
  return isMap(right) && isSameMap(left as ValueMap, right, budget, depth + 1);
}

function isSameMap(
  left: ValueMap,
  right: ValueMap,
  budget: { left: number },
  depth: number,
): boolean {
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  return keys.every(
    (key) => Object.hasOwn(right, key) && isSame(left[key], ownKey(right, key), budget, depth),
  );
}

function isSameBytes(left: Value, right: Value): boolean {
  const [a, b] = [bytesOf(left), bytesOf(right)];
  return a !== undefined && b !== undefined && a.equals(b);
}

function isNumber(value: Value): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

function isSameNumber(left: number | bigint, right: number | bigint): boolean {
  return !(left < right) && !(left > right);
}

/** Less than, equal to or greater than 0; undefined: there is no order between the two. */
export function order(left: Value, right: Value): number | undefined {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  if (typeof left === 'string' && typeof right === 'string') return orderTexts(left, right);
  if (isNumber(left) && isNumber(right)) return orderNumbers(left, right);
  if (isNumber(left) && typeof right === 'string') {
    const number = numberOfText(right);
    return number === undefined ? undefined : orderNumbers(left, number);
  }
  if (typeof left === 'string' && isNumber(right)) {
    const number = numberOfText(left);
    return number === undefined ? undefined : orderNumbers(number, right);
  }
  if (typeof left === 'boolean' && typeof right === 'boolean') return Number(left) - Number(right);
  if (!isBytes(left) && !isBytes(right)) return undefined;
  const [a, b] = [bytesOf(left), bytesOf(right)];
  return a === undefined || b === undefined ? undefined : Buffer.compare(a, b);
}

function orderNumbers(left: number | bigint, right: number | bigint): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** As their UTF-8 bytes would compare: UTF-16 units differ from it in surrogates only. */
function orderTexts(left: string, right: string): number {
  if (left === right) return 0;
  const end = Math.min(left.length, right.length);
  for (let i = 0; i < end; i++) {
    const [a, b] = [left.charCodeAt(i), right.charCodeAt(i)];
    if (a !== b) return rank(a) - rank(b);
  }
  return left.length - right.length;
}

/** A surrogate stands for a code point above all others. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

function bytesOf(value: Value): Buffer | undefined {
  if (typeof value === 'string') return Buffer.from(value);
  return isBytes(value) ? value : undefined;
}
