// What expressions work with. Laws: null and undefined are both *missing* and behave alike; integers that a
// number cannot hold exactly are bigints, all others numbers; of objects only own keys are ever seen, and
// `__proto__` is a key like any other; nobody changes a list or an object that came from elsewhere.

import { raise } from './raise.ts';

export type Value =
  | string
  | number
  | bigint
  | boolean
  | null
  | undefined
  | Buffer
  | ValueList
  | ValueMap;
export type ValueList = readonly Value[];
export interface ValueMap {
  readonly [key: string]: Value;
}
export type WritableMap = Record<string, Value>;

/** Longest text or bytes that a function makes, in characters or bytes. */
export const textMax: number = 2 ** 20;
/** Longest list that a function or a literal makes. */
export const listMax = 10_000;
/** Integers beyond this many bits are refused: calculating with them must not take long. */
export const integerBitsMax = 1024;
const bigMax = 1n << BigInt(integerBitsMax);

export function isMissing(value: Value): value is null | undefined {
  return value === undefined || value === null;
}

export function isBytes(value: Value): value is Buffer {
  return value instanceof Uint8Array;
}

export function isList(value: Value): value is ValueList {
  return Array.isArray(value);
}

export function isMap(value: Value): value is ValueMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isBytes(value);
}

export function isInteger(value: Value): value is number | bigint {
  return typeof value === 'bigint' || Number.isInteger(value);
}

export function ownKey(map: ValueMap, key: string): Value {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

export function setKey(map: WritableMap, key: string, value: Value): void {
  if (key !== '__proto__') {
    map[key] = value;
    return;
  }
  Object.defineProperty(map, key, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

/** What calculating gave, as the one form that an integer has. */
export function integerOf(value: bigint): number | bigint {
  if (value >= -9007199254740991n && value <= 9007199254740991n) return Number(value);
  if (value > bigMax || value < -bigMax) {
    raise(() => `the integer has more than ${integerBitsMax} bits`);
  }
  return value;
}

export function finite(value: number): number {
  if (!Number.isFinite(value))
    raise(() => `the result is ${Number.isNaN(value) ? 'no' : 'too large a'} number`);
  return value;
}

const numeric = /^[+-]?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,4})?$/;

/** The number that a text writes; undefined: none. */
export function numberOfText(text: string): number | bigint | undefined {
  if (text.length > 1000) return undefined;
  const found = numeric.exec(text);
  if (found === null) return undefined;
  const number = Number(text);
  const isWhole = found[1] === undefined && found[2] === undefined;
  if (isWhole && !Number.isSafeInteger(number)) {
    const big = BigInt(text.startsWith('+') ? text.slice(1) : text);
    return big > bigMax || big < -bigMax ? undefined : big;
  }
  return Number.isFinite(number) ? number : undefined;
}

/** Text of bytes; undefined where they are not UTF-8. */
export function textOfBytes(bytes: Buffer): string | undefined {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return undefined; // The decoder throws for nothing else.
  }
}

/** Bytes as the text they are, else as they are. */
export function textOrBytes(bytes: Buffer): string | Buffer {
  return textOfBytes(bytes) ?? bytes;
}

// NOTE Without ignoreBOM the decoder would swallow three bytes that belong to the value.
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** For messages: `missing`, `text "abc"`, `a list of 3`. */
export function describeValue(value: Value): string {
  if (isMissing(value)) return 'missing';
  if (typeof value === 'string') {
    return `text ${JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)}`;
  }
  if (isBytes(value)) return `${value.length} bytes`;
  if (isList(value)) return `a list of ${value.length}`;
  if (typeof value === 'object') return 'an object';
  return `${typeof value === 'boolean' ? 'boolean' : 'number'} ${value}`;
}
