// The one place where parameters are checked, whichever face they came through: what is text and should
// be a number or a truth value becomes one, defaults are filled in, and what the operation does not know
// is left out. Law: `run` sees what its schema says, and a refusal names the field, what was found and
// what is wanted; what is secret is not repeated.

import type { Static, TObject, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { type FailureName, OperatingError } from './failures.ts';
import { wantedText } from './wanted-text.ts';

type Raw = Readonly<Record<string, unknown>>;

/**
 * Throws OperatingError: `missing` names all that are missing, `invalid` the first that is wrong; `wrong`
 * stands for both where an operation has a failure of its own.
 */
export function checkParams<P extends TObject>(
  schema: P,
  raw: Raw,
  wrong?: FailureName,
): Static<P> {
  const params = coerced(schema, raw);
  const missing = (schema.required ?? []).filter((name) => !Object.hasOwn(params, name));
  if (missing.length > 0) {
    const names = missing.map((name) => `'${name}'`).join(', ');
    throw new OperatingError(wrong ?? 'missing', `missing mandatory params: [${names}]`);
  }
  const checked = Value.Default(schema, params);
  if (!Value.Check(schema, checked)) {
    throw new OperatingError(wrong ?? 'invalid', faultOf(schema, checked as Raw));
  }
  return checked;
}

/** Of what the schema names; defaults stand where a field is required and has one. */
function coerced(schema: TObject, raw: Raw): Record<string, unknown> {
  // Without a prototype, so that a field may have any name.
  const params = Object.create(null) as Record<string, unknown>;
  const isOpen = 'additionalProperties' in schema && schema.additionalProperties !== false;
  if (isOpen) Object.assign(params, raw);
  for (const [name, part] of Object.entries(schema.properties)) {
    const value = Object.hasOwn(raw, name) ? coerce(part, raw[name]) : undefined;
    if (value !== undefined) params[name] = value;
    else if ('default' in part) params[name] = structuredClone(part.default);
    else delete params[name];
  }
  return { ...params };
}

interface Shape {
  readonly type?: string;
  readonly anyOf?: readonly TSchema[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
}

/** Undefined: as if it had not been said, which is what null says where it is no value. */
function coerce(schema: TSchema, value: unknown): unknown {
  if (value === null) return Value.Check(schema, null) ? null : undefined;
  if (typeof value !== 'string' || Value.Check(schema, value)) return value;
  const { type, anyOf, const: only, enum: some } = schema as Shape;
  const options = only === undefined ? (some ?? []) : [only];
  const option = options.find((one) => isPlain(one) && String(one) === value);
  if (option !== undefined) return option;
  if (anyOf !== undefined) {
    const fitting = anyOf.map((one) => coerce(one, value));
    return fitting.find((one, i) => Value.Check(anyOf[i] as TSchema, one)) ?? value;
  }
  if ((type === 'integer' || type === 'number') && decimal.test(value)) return Number(value);
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  return value;
}

/** Not what else JavaScript takes for a number: '', ' 1', 0x10. */
const decimal = /^-?\d+(\.\d+)?$/;

function isPlain(value: unknown): value is number | boolean {
  return typeof value === 'number' || typeof value === 'boolean';
}

function faultOf(schema: TObject, params: Raw): string {
  const paths = [...Value.Errors(schema, params)].map(({ instancePath }) => instancePath);
  // The deepest path of the first field that is wrong says most.
  const [, field = ''] = (paths[0] ?? '').split('/');
  const ofField = paths.filter((path) => path === `/${field}` || path.startsWith(`/${field}/`));
  const path = ofField.reduce((a, b) => (b.length > a.length ? b : a), `/${field}`);
  const steps = path.split('/').slice(1).map(unescaped);
  const { part, found } = follow(schema, params, steps);
  const name = steps.map((step, i) => (/^\d+$/.test(step) ? `[${step}]` : i ? `.${step}` : step));
  const said = isSecret(steps) ? '' : ` = ${shown(found)}`;
  const wanted = part === undefined ? 'a value that the schema allows' : wantedText(part);
  return `Cannot use ${name.join('')}${said}: expected ${wanted}`;
}

function unescaped(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}

interface Found {
  readonly part: TSchema | undefined;
  readonly found: unknown;
}

function follow(schema: TSchema, value: unknown, steps: readonly string[]): Found {
  let part: TSchema | undefined = schema;
  let found = value;
  for (const step of steps) {
    const { properties, items } = (part ?? {}) as {
      readonly properties?: Readonly<Record<string, TSchema>>;
      readonly items?: TSchema;
    };
    part = properties?.[step] ?? items;
    found = (found as Raw | undefined)?.[step];
  }
  return { part, found };
}

function isSecret(steps: readonly string[]): boolean {
  return steps.some((step) => /password|passwd|pwd|secret/i.test(step));
}

const shownCharsMax = 60;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= shownCharsMax ? text : `${text.slice(0, shownCharsMax)}…`;
}
