// Values as text: in templates, in str() and concat(). Law: a number is written as a person would write it,
// an object or a list as JSON, a missing value as `null`, so that a template of JSON stays JSON.

import { printableBytes, toJson } from './json.ts';
import { isBytes, type Value } from './value.ts';

const decimals = 10;

export function textOf(value: Value): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
      return textOfNumber(value, decimals);
    case 'bigint':
    case 'boolean':
      return String(value);
    default:
      if (value === null || value === undefined) return 'null';
      return isBytes(value) ? printableBytes(value) : toJson(value);
  }
}

/** At most so many decimals, without zeros at the end. */
export function textOfNumber(value: number, decimalsMax: number): string {
  if (Number.isInteger(value)) return String(value === 0 ? 0 : value);
  const fixed = value.toFixed(decimalsMax);
  const text = fixed.includes('.') ? fixed.replace(/\.?0+$/, '') : fixed;
  return text === '-0' ? '0' : text;
}
