// JSON in and out. Laws: what is read is bounded in length and in depth, so that whoever goes through it may
// call itself; integers keep all their digits, both ways; what is written is bounded too, also where parts
// are shared so often that they would unfold to more than memory holds.

import { RuleRaise, raise } from './raise.ts';
import {
  integerBitsMax,
  isBytes,
  isList,
  textMax,
  textOfBytes,
  type Value,
  type WritableMap,
  setKey,
} from './value.ts';

export const jsonCharactersMax: number = 4 * 2 ** 20;
export const jsonDepthMax = 128;
/** Values inside values of one output. */
const partsMax = 100_000;

/** The value that a text writes; undefined where it is no JSON, or more than the limits allow. */
export function jsonOrMissing(text: string): Value {
  // Most texts that are no JSON are told by one character; throwing would cost microseconds.
  if (!/^[\s]*["{[\-0-9tfn]/.test(text)) return undefined;
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof RuleRaise) return undefined;
    throw error;
  }
}

/** Raises where it is no JSON. */
export function parseJson(text: string, depthMax: number = jsonDepthMax): Value {
  if (text.length > jsonCharactersMax) {
    raise(() => `the JSON has more than ${jsonCharactersMax} characters`);
  }
  if (text.length > 2 * depthMax && depthOf(text) > depthMax) {
    raise(() => `the JSON is nested more than ${depthMax} deep`);
  }
  try {
    return longNumbers.test(text) ? JSON.parse(text, exact as Reviver) : JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) raise(() => 'it is no JSON');
    throw error;
  }
}

/** The typings know neither of the two. */
type Reviver = (key: string, value: unknown) => unknown;
const { rawJSON } = JSON as unknown as { rawJSON(this: void, text: string): object };

/** Too many digits for a number, or an exponent that may be beyond all of them; also some in texts. */
const longNumbers = /[0-9]{16}|[0-9][eE]\+?[0-9]{3,}\s*(?:[,}\]]|$)/;
const wholeNumber = /^-?[0-9]+$/;

function exact(_key: string, value: unknown, { source }: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  if (!Number.isFinite(value)) raise(() => 'the JSON has a number that is too large');
  // More digits than integers have here: the nearest number is all there is.
  if (source === undefined || !wholeNumber.test(source) || source.length > digitsMax) return value;
  return BigInt(source);
}

const digitsMax: number = Math.floor(integerBitsMax * Math.log10(2));

/** How deep brackets nest outside of texts; of what is no JSON it says something, but ends. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) {
      for (i++; i < text.length && text.charCodeAt(i) !== 0x22; i++) {
        if (text.charCodeAt(i) === 0x5c) i++;
      }
    } else if (code === 0x5b || code === 0x7b) {
      if (++depth > deepest) deepest = depth;
    } else if (code === 0x5d || code === 0x7d) depth--;
  }
  return deepest;
}

/** Bytes are written as the text they are, else in base64. */
export function toJson(value: Value): string {
  const text = JSON.stringify(measure(value) ? plain(value) : (value ?? null));
  if (text.length > jsonCharactersMax) {
    raise(() => `the JSON has more than ${jsonCharactersMax} characters`);
  }
  return text;
}

/** Raises where a value unfolds to too many parts; whether some of them are such as JSON does not know. */
export function measure(value: Value): boolean {
  const budget = { parts: partsMax, characters: jsonCharactersMax, isOdd: false };
  spend(value, budget, 0);
  return budget.isOdd;
}

/** The same, as characters that it takes, about. */
export function weightOf(value: Value): number {
  const budget = { parts: partsMax, characters: jsonCharactersMax, isOdd: false };
  spend(value, budget, 0);
  return jsonCharactersMax - budget.characters + partCharacters * (partsMax - budget.parts);
}

/** What a value takes besides its own characters. */
const partCharacters = 16;

interface Budget {
  parts: number;
  characters: number;
  isOdd: boolean;
}

/** Deeper than what is read, as statements put values into each other. */
export const builtDepthMax: number = 8 * jsonDepthMax;

function spend(value: Value, budget: Budget, depth: number): void {
  if (--budget.parts < 0) raise(() => `the value has more than ${partsMax} parts`);
  if (typeof value === 'string') {
    budget.characters -= value.length;
    if (budget.characters < 0)
      raise(() => `the value has more than ${jsonCharactersMax} characters`);
  } else if (typeof value === 'bigint') budget.isOdd = true;
  else if (typeof value === 'object' && value !== null) {
    if (depth > builtDepthMax) raise(() => `the value is nested more than ${builtDepthMax} deep`);
    if (isBytes(value)) {
      budget.isOdd = true;
      budget.characters -= value.length;
    } else if (isList(value)) for (const item of value) spend(item, budget, depth + 1);
    else {
      for (const key of Object.keys(value)) {
        budget.characters -= key.length;
        spend(value[key], budget, depth + 1);
      }
    }
  }
}

/** For bytes in JSON and in templates. */
export function printableBytes(bytes: Buffer): string {
  return textOfBytes(bytes) ?? bytes.toString('base64');
}

/** What `JSON.stringify` writes of a value that was measured. */
export function plain(value: Value): unknown {
  if (typeof value === 'bigint') return rawJSON(String(value));
  if (typeof value !== 'object' || value === null) return value;
  if (isBytes(value)) return printableBytes(value);
  if (isList(value)) return value.map(plain);
  const copy: WritableMap = {};
  for (const key of Object.keys(value)) setKey(copy, key, plain(value[key]) as Value);
  return copy;
}

/** A text or bytes that a function made. */
export function bounded<T extends string | Buffer>(made: T): T {
  if (made.length > textMax) raise(() => `the text has more than ${textMax} characters`);
  return made;
}
