// What an answer consists of, in the words and rows of the documentation.

import type { TSchema } from 'typebox';

export interface AnswerField {
  /** `listeners[].protocol` for a field of a field. */
  readonly name: string;
  readonly schema: TSchema;
  readonly isRequired: boolean;
}

interface Shape {
  readonly type?: string;
  readonly anyOf?: readonly TSchema[];
  readonly items?: TSchema;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
  readonly description?: string;
}

/** `an array of objects` */
export function answerKind(schema: TSchema): string {
  const { anyOf, description } = schema as Shape;
  const words = (anyOf ?? [schema]).map(kindOf).join(' or ');
  return description === undefined ? words : `${words}: ${description}`;
}

function kindOf(schema: TSchema): string {
  const { type, items } = schema as Shape;
  return type === 'array' ? `an array${itemsText(items)}` : wordOf(type);
}

function itemsText(items: TSchema | undefined): string {
  const { type } = (items ?? {}) as Shape;
  if (type === 'object') return ' of objects';
  return type === 'string' ? ' of texts' : '';
}

function wordOf(type: string | undefined): string {
  if (type === 'object') return 'an object';
  if (type === 'string') return 'a text';
  return type === undefined ? 'a value' : `a ${type}`;
}

/** Of an object or of the objects in an array, the fields of fields behind their own. */
export function answerFields(schema: TSchema, prefix = ''): AnswerField[] {
  const { type, anyOf, items, properties = {}, required = [] } = schema as Shape;
  if (anyOf !== undefined) return anyOf.flatMap((one) => answerFields(one, prefix));
  if (type === 'array') return items === undefined ? [] : answerFields(items, prefix);
  return Object.entries(properties).flatMap(([field, part]) => {
    const name = `${prefix}${field}`;
    const { type: inner } = part as Shape;
    const below = inner === 'array' ? `${name}[].` : `${name}.`;
    const own = { name, schema: part, isRequired: required.includes(field) };
    return [own, ...answerFields(part, below)];
  });
}
