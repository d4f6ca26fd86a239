// Examples of calls and their answers, as functions of the schemas: a request has what its schema requires,
// an answer what its result always has. What cannot be derived stands in api-example-calls.ts.

import type { TSchema } from 'typebox';
import { Value } from 'typebox/value';
import type { ApiEntry } from './api-docs-entries.ts';
import { exampleCalls, fieldValues } from './api-example-calls.ts';
import type { ExampleCall } from './operation.ts';

export interface Example {
  readonly curl: string;
  /** As curl prints it. */
  readonly answer: string;
}

/** Undefined: there is only a command. */
export function exampleOf(entry: ApiEntry): Example | undefined {
  if (entry.http === undefined) return undefined;
  const { name, example = {} } = entry.operation;
  const call = exampleCalls[name] ?? example;
  return { curl: curlOf(entry, call), answer: answerOf(entry, call) };
}

function curlOf(entry: ApiEntry, { params, curl, pipe = '' }: ExampleCall): string {
  const { http } = entry;
  const given = { ...requiredParams(entry), ...params };
  const named = (place: 'path' | 'query' | 'body'): [string, unknown][] =>
    entry.params
      .filter(({ name, in: where }) => where === place && given[name] !== undefined)
      .map(({ name }) => [name, given[name]]);
  const path = named('path').reduce(
    (text, [name, value]) => text.replace(`{${name}}`, inPath(String(value))),
    entry.path,
  );
  const query = new URLSearchParams(named('query').map(([name, value]) => [name, String(value)]));
  const body = Object.fromEntries(named('body'));
  const sent = http?.bodyAs === undefined ? body : body[http.bodyAs];
  const hasBody = Object.keys(body).length > 0;
  const isDashboard = http?.port === 'dashboard';
  const words = [
    'curl -s',
    ...(curl === undefined ? [] : [curl]),
    ...(http?.isOpen === true ? [] : [isDashboard ? '-u "$DASHBOARD_USER"' : '-u "$APP"']),
    ...(http?.method === 'GET' ? [] : [`-X ${http?.method ?? ''}`]),
    ...(hasBody ? [`-d ${quoted(JSON.stringify(sent))}`] : []),
    quoted(
      `http://127.0.0.1:${isDashboard ? 18083 : 8080}${path}${query.size > 0 ? `?${query}` : ''}`,
    ),
  ];
  return words.join(' ') + pipe;
}

/** Kept as people write it: a node's name has an @. */
function inPath(text: string): string {
  return encodeURIComponent(text).replaceAll('%40', '@').replaceAll('%3A', ':');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function requiredParams({ params, isPaged }: ApiEntry): Record<string, unknown> {
  const required = params
    .filter(({ isRequired }) => isRequired)
    .map(({ name, schema }) => [name, exampleValue(name, schema)] as const);
  return { ...Object.fromEntries(required), ...(isPaged && { _limit: 1 }) };
}

function answerOf({ operation, http, isPaged }: ApiEntry, { data }: ExampleCall): string {
  if (http?.produces !== undefined) return typeof data === 'string' ? data : '…';
  const { result } = operation;
  const shown = data ?? (result && exampleValue('', result));
  return JSON.stringify({
    code: 0,
    ...(shown !== undefined && { data: shown }),
    ...(isPaged && { meta: { page: 1, limit: 1, count: 1 } }),
  });
}

interface Shape {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly TSchema[];
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
  readonly items?: TSchema;
  readonly maxItems?: number;
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
}

/** Something that the schema allows, and that looks like what stands in a field of that name. */
function exampleValue(name: string, schema: TSchema): unknown {
  const shape = schema as Shape;
  const usual = [...(shape.examples ?? []), ...(fieldValues[name] ?? [])];
  const fitting = usual.find((value) => Value.Check(schema, value));
  if (fitting !== undefined) return fitting;
  if ('const' in shape) return shape.const;
  if (shape.default !== undefined) return shape.default;
  if (shape.enum !== undefined) return shape.enum[0];
  if (shape.anyOf?.[0] !== undefined) return exampleValue(name, shape.anyOf[0]);
  if (shape.type === 'array') {
    const isEmpty = shape.items === undefined || shape.maxItems === 0;
    return isEmpty ? [] : [exampleValue(singular(name), shape.items)];
  }
  if (shape.type === 'object') {
    const fields = Object.entries(shape.properties ?? {}).filter(
      ([field]) => shape.required?.includes(field) === true,
    );
    return Object.fromEntries(fields.map(([field, part]) => [field, exampleValue(field, part)]));
  }
  if (shape.type === 'integer' || shape.type === 'number') return shape.minimum ?? 0;
  if (shape.type === 'boolean') return true;
  return shape.type === 'string' ? (name === '' ? 'text' : name) : null;
}

function singular(name: string): string {
  return name.replace(/s$/, '');
}
