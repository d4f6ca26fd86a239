// Functions from one kind of value to another, and those that ask for the kind. Law: what cannot be
// converted without guessing raises.

import { randomUUID } from 'node:crypto';
import { parseJson } from './json.ts';
import { raise } from './raise.ts';
import { type SqlFunction, sqlFunction } from './sql-function.ts';
import {
  describeValue,
  finite,
  isInteger,
  isList,
  isMap,
  isMissing,
  numberOfText,
  type Value,
} from './value.ts';
import { textOf, textOfNumber } from './value-text.ts';

export const conversionFunctions: readonly SqlFunction[] = [
  sqlFunction('Conversion', 'str', {
    params: { x: 'value' },
    text: 'As text: numbers with at most 10 decimals, lists and objects as JSON.',
    examples: { 'str(0.1 + 0.2)': '"0.3"', 'str(json_decode(\'{"a": 1}\'))': '"{\\"a\\":1}"' },
    call: ({ x }) => textOf(x),
  }),
  sqlFunction('Conversion', 'str_utf8', {
    params: { x: 'value' },
    text: 'The same as str(x): text is always UTF-8.',
    examples: { 'str_utf8(1)': '"1"', "str_utf8('é')": '"é"' },
    call: ({ x }) => textOf(x),
  }),
  sqlFunction('Conversion', 'bool', {
    params: { x: 'value' },
    text: "As boolean: true, 'true', 1 and false, 'false', 0.",
    examples: { "bool('true')": 'true', 'bool(0)': 'false' },
    call: ({ x }) => {
      if (x === true || x === 'true' || x === 1) return true;
      if (x === false || x === 'false' || x === 0) return false;
      return raise(() => `${describeValue(x)} is no boolean`);
    },
  }),
  sqlFunction('Conversion', 'int', {
    params: { x: 'value' },
    text: 'As integer: rounded down; true is 1, false is 0; a text that writes a number.',
    examples: { "int('42')": '42', 'int(-1.5)': '-2', 'int(true)': '1' },
    call: ({ x }) => {
      const number = numberOf(x);
      return typeof number === 'bigint' ? number : Math.floor(number);
    },
  }),
  sqlFunction('Conversion', 'float', {
    params: { x: 'value' },
    text: 'As number with a fraction: a number or a text that writes one.',
    examples: { "float('1.5')": '1.5', 'float(2)': '2' },
    call: ({ x }) => {
      if (typeof x === 'boolean') raise(() => 'a boolean is no number');
      return finite(Number(numberOf(x)));
    },
  }),
  sqlFunction('Conversion', 'float2str', {
    params: { x: 'number', decimals: 'count' },
    text: 'As text with at most so many decimals.',
    examples: { 'float2str(3.14159, 2)': '"3.14"', 'float2str(2.5, 4)': '"2.5"' },
    call: ({ x, decimals }) => {
      if (decimals < 0 || decimals > 100)
        raise(() => `cannot write ${decimals} decimals: 0 to 100 are allowed`);
      return typeof x === 'bigint' ? String(x) : textOfNumber(x, decimals);
    },
  }),
  sqlFunction('Conversion', 'map', {
    params: { x: 'value' },
    text: 'As object: one, or a text that is the JSON of one.',
    examples: { 'map(\'{"a": 1}\')': '{"a":1}', "map_get('msg', map(payload))": '"hello"' },
    call: ({ x }) => {
      const map = typeof x === 'string' ? parseJson(x) : x;
      return isMap(map) ? map : raise(() => `${describeValue(map)} is no object`);
    },
  }),
  test(
    'is_null',
    'Whether it is missing or null.',
    { 'is_null(payload.nothing)': 'true', 'is_null(0)': 'false' },
    isMissing,
  ),
  test(
    'is_not_null',
    'Whether it is there.',
    { 'is_not_null(payload.msg)': 'true', 'is_not_null(null)': 'false' },
    (x) => !isMissing(x),
  ),
  test(
    'is_str',
    'Whether it is a text.',
    { "is_str('1')": 'true', 'is_str(1)': 'false' },
    (x) => typeof x === 'string',
  ),
  test(
    'is_bool',
    'Whether it is a boolean.',
    { 'is_bool(false)': 'true', "is_bool('false')": 'false' },
    (x) => typeof x === 'boolean',
  ),
  test(
    'is_int',
    'Whether it is a number without a fraction.',
    { 'is_int(1)': 'true', 'is_int(1.5)': 'false' },
    isInteger,
  ),
  test(
    'is_float',
    'Whether it is a number with a fraction.',
    { 'is_float(1.5)': 'true', 'is_float(1)': 'false' },
    (x) => typeof x === 'number' && !Number.isInteger(x),
  ),
  test(
    'is_num',
    'Whether it is a number.',
    { 'is_num(1.5)': 'true', "is_num('1')": 'false' },
    (x) => typeof x === 'number' || typeof x === 'bigint',
  ),
  test(
    'is_map',
    'Whether it is an object.',
    { "is_map(json_decode('{}'))": 'true', 'is_map([])': 'false' },
    isMap,
  ),
  test(
    'is_array',
    'Whether it is a list.',
    { 'is_array([1])': 'true', "is_array('[1]')": 'false' },
    isList,
  ),
  sqlFunction('Other', 'null', {
    params: {},
    text: 'Nothing: written as null, where a missing value is not written at all.',
    examples: { 'null()': 'null', 'is_null(null())': 'true' },
    call: () => null,
  }),
  sqlFunction('Other', 'coalesce', {
    params: { values: 'any*' },
    text: 'The first of them that is not missing.',
    examples: { "coalesce(payload.nothing, 'none')": '"none"', 'coalesce(1, 2)': '1' },
    call: ({ values }) => values.find((value) => !isMissing(value)),
  }),
  sqlFunction('Other', 'random', {
    params: {},
    text: 'A number from 0 to 1, without 1.',
    examples: { 'random()': undefined, 'random() < 1': 'true' },
    call: () => Math.random(),
  }),
  sqlFunction('Other', 'uuid_v4', {
    params: {},
    text: 'A random UUID.',
    examples: { 'uuid_v4()': undefined, 'strlen(uuid_v4())': '36' },
    call: () => randomUUID(),
  }),
  sqlFunction('Other', 'uuid_v4_no_hyphen', {
    params: {},
    text: 'A random UUID without hyphens.',
    examples: { 'uuid_v4_no_hyphen()': undefined, 'strlen(uuid_v4_no_hyphen())': '32' },
    call: () => randomUUID().replaceAll('-', ''),
  }),
];

function test(
  name: string,
  text: string,
  examples: Readonly<Record<string, string>>,
  is: (x: Value) => boolean,
): SqlFunction {
  return sqlFunction('Type tests', name, {
    params: { x: 'any' },
    text,
    examples,
    call: ({ x }) => is(x),
  });
}

function numberOf(x: Value): number | bigint {
  if (typeof x === 'number' || typeof x === 'bigint') return x;
  if (typeof x === 'boolean') return x ? 1 : 0;
  const number = typeof x === 'string' ? numberOfText(x.trim()) : undefined;
  return number ?? raise(() => `${describeValue(x)} is no number`);
}
