// Reading inside values. Laws: only own keys; a list is counted from 1, from the end where the index is
// negative; what is not there is missing, never a raise. A text on the way is opened by who reads: it may be
// the payload, which was read as JSON already.

import { jsonOrMissing } from './json.ts';
import { isList, isMap, isMissing, ownKey, type Value } from './value.ts';

export function readKey(value: Value, key: string): Value {
  if (isMap(value)) return ownKey(value, key);
  if (isList(value) && /^[0-9]{1,9}$/.test(key)) return value[Number(key) - 1];
  return undefined;
}

export function readKeys(value: Value, keys: readonly string[]): Value {
  let inner = value;
  for (const key of keys) {
    inner = readKey(typeof inner === 'string' ? jsonOrMissing(inner) : inner, key);
    if (isMissing(inner)) return inner;
  }
  return inner;
}

/** An index that is a text is the key of an object. */
export function readIndex(value: Value, index: Value): Value {
  if (typeof index === 'string') return readKey(value, index);
  if (!isList(value) || typeof index !== 'number' || !Number.isInteger(index)) return undefined;
  return index === 0 ? undefined : value.at(index > 0 ? index - 1 : index);
}

/** Both ends included, what is outside of the list left out. */
export function readRange(value: Value, from: Value, to: Value): Value {
  if (!isList(value) || !Number.isSafeInteger(from) || !Number.isSafeInteger(to)) return undefined;
  const place = (index: number): number => (index < 0 ? value.length + index : index - 1);
  const start = Math.max(0, place(from as number));
  return value.slice(start, Math.max(start, place(to as number) + 1));
}
