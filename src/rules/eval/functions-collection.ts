// Functions of objects and lists. Laws: nothing that is given is changed; lists are counted from 1.

import { same } from './compare.ts';
import { readKeys } from './path-read.ts';
import { written } from './path-write.ts';
import { raise } from './raise.ts';
import { type SqlFunction, sqlFunction } from './sql-function.ts';
import { isMissing, ownKey, type Value, type ValueList, type ValueMap } from './value.ts';

/** Keys inside keys of one dotted key. */
const stepsMax = 64;

export const collectionFunctions: readonly SqlFunction[] = [
  sqlFunction('Map', 'map_get', {
    params: { key: 'text', map: 'map', otherwise: 'any?' },
    text: 'What an object has at a dotted key, or something else where it has nothing there.',
    examples: {
      'map_get(\'a.b\', json_decode(\'{"a": {"b": 1}}\'))': '1',
      "map_get('x', payload, 'none')": '"none"',
    },
    call: ({ key, map, otherwise }) => present(readKeys(map, keysOf(key)), otherwise),
  }),
  sqlFunction('Map', 'map_put', {
    params: { key: 'text', value: 'any', map: 'map' },
    text: 'The object with a value at a dotted key.',
    examples: {
      "map_put('b', 2, json_decode('{\"a\": 1}'))": '{"a":1,"b":2}',
      "map_put('a.b', 1, map_new())": '{"a":{"b":1}}',
    },
    call: ({ key, value, map }) => put(map, keysOf(key), value),
  }),
  sqlFunction('Map', 'map_new', {
    params: {},
    text: 'An empty object.',
    examples: { 'map_new()': '{}', "mput('a', 1, map_new())": '{"a":1}' },
    call: () => ({}),
  }),
  sqlFunction('Map', 'mget', {
    params: { key: 'text', map: 'map', otherwise: 'any?' },
    text: 'What an object has at a key, dots being part of the key.',
    examples: {
      "mget('a.b', json_decode('{\"a.b\": 1}'))": '1',
      "mget('x', payload, 0)": '0',
    },
    call: ({ key, map, otherwise }) => present(ownKey(map, key), otherwise),
  }),
  sqlFunction('Map', 'mput', {
    params: { key: 'text', value: 'any', map: 'map' },
    text: 'The object with a value at a key, dots being part of the key.',
    examples: {
      "mput('a.b', 1, map_new())": '{"a.b":1}',
      "mput('a', 2, json_decode('{\"a\": 1}'))": '{"a":2}',
    },
    call: ({ key, value, map }) => put(map, [key], value),
  }),
  sqlFunction('List', 'nth', {
    params: { n: 'count', list: 'list' },
    text: 'The n-th element; there must be one.',
    examples: { 'nth(1, [7, 8])': '7', "nth(2, '[7, 8]')": '8' },
    call: ({ n, list }) => (n >= 1 && n <= list.length ? list[n - 1] : outside(n, list)),
  }),
  sqlFunction('List', 'length', {
    params: { list: 'list' },
    text: 'How many elements it has.',
    examples: { 'length([1, 2])': '2', 'length([])': '0' },
    call: ({ list }) => list.length,
  }),
  sqlFunction('List', 'sublist', {
    params: { start: 'count', length: 'any', list: 'list?' },
    text: 'sublist(length, list) from the first, sublist(start, length, list) from another element on.',
    examples: { 'sublist(2, [1, 2, 3])': '[1,2]', 'sublist(2, 5, [1, 2, 3])': '[2,3]' },
    call: ({ start, length, list }) =>
      list === undefined
        ? sublist(1, start, Array.isArray(length) ? length : undefined)
        : sublist(start, length, list),
  }),
  sqlFunction('List', 'first', {
    params: { list: 'list' },
    text: 'The first element; there must be one.',
    examples: { 'first([7, 8])': '7', "first(split('a,b', ','))": '"a"' },
    call: ({ list }) => (list.length > 0 ? list[0] : outside(1, list)),
  }),
  sqlFunction('List', 'last', {
    params: { list: 'list' },
    text: 'The last element; there must be one.',
    examples: { 'last([7, 8])': '8', "last(split('a,b', ','))": '"b"' },
    call: ({ list }) => (list.length > 0 ? list.at(-1) : outside(1, list)),
  }),
  sqlFunction('List', 'contains', {
    params: { element: 'any', list: 'list' },
    text: 'Whether a list has an element, compared as by IN.',
    examples: { 'contains(2, [1, 2])': 'true', "contains('2', [1, 2])": 'false' },
    call: ({ element, list }) => list.some((each) => same(element, each)),
  }),
];

function keysOf(dotted: string): readonly string[] {
  const keys = dotted.split('.', stepsMax + 1);
  if (keys.length > stepsMax) raise(() => `the key has more than ${stepsMax} parts`);
  return keys;
}

function present(found: Value, otherwise: Value): Value {
  return isMissing(found) && otherwise !== undefined ? otherwise : found;
}

function put(map: ValueMap, keys: readonly string[], value: Value): Value {
  const steps = keys.map((key) => ({ kind: 'key', key }) as const);
  return isMissing(value) ? map : written(map, steps, 0, value);
}

function sublist(start: number, length: Value, list: ValueList | undefined): Value {
  if (list === undefined) raise(() => 'the last argument is no list');
  if (typeof length !== 'number' || !Number.isSafeInteger(length) || length < 0) {
    raise(() => 'a length of 0 or more is wanted');
  }
  if (start < 1) raise(() => `cannot begin at ${start}: 1 or more is wanted`);
  return list.slice(start - 1, start - 1 + length);
}

function outside(n: number, list: ValueList): never {
  return raise(() => `there is no element ${n} in a list of ${list.length}`);
}
