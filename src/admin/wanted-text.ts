// What a schema wants, in words, for whoever sent something else: `an integer from 1 to 65535`.

import type { TSchema } from 'typebox';

interface Shape {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly TSchema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
}

export function wantedText(schema: TSchema): string {
  const shape = schema as Shape;
  if ('const' in shape) return JSON.stringify(shape.const);
  if (shape.enum !== undefined) return oneOf(shape.enum.map((value) => JSON.stringify(value)));
  if (shape.anyOf !== undefined) return oneOf([...new Set(shape.anyOf.map(wantedText))]);
  const { type } = shape;
  if (type === 'integer') return `an integer${range(shape.minimum, shape.maximum, '')}`;
  if (type === 'number') return `a number${range(shape.minimum, shape.maximum, '')}`;
  if (type === 'string') return textWanted(shape);
  if (type === 'array') return `an array${range(shape.minItems, shape.maxItems, ' items')}`;
  if (type === 'boolean') return 'true or false';
  return type === 'object' ? 'an object' : 'another value';
}

function textWanted({ minLength, maxLength, pattern }: Shape): string {
  if (pattern !== undefined) return `text of the form ${pattern}`;
  // Nobody sends too short a text but the empty one.
  if (minLength === 1 && maxLength === undefined) return 'text that is not empty';
  return `text${range(minLength, maxLength, ' characters')}`;
}

function oneOf(texts: readonly string[]): string {
  const last = texts.at(-1) ?? 'nothing';
  return texts.length < 2 ? last : `${texts.slice(0, -1).join(', ')} or ${last}`;
}

function range(least: number | undefined, most: number | undefined, unit: string): string {
  if (least !== undefined && most !== undefined) return ` from ${least} to ${most}${unit}`;
  if (least !== undefined) return ` of at least ${least}${unit}`;
  return most === undefined ? '' : ` of at most ${most}${unit}`;
}
