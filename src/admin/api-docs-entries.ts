// An operation as its readers see it: where each parameter stands, what comes back, which command does
// the same. OpenAPI, the page and docs/api.md are three ways to write this down.

import type { TSchema } from 'typebox';
import { facesOf } from './catalogue.ts';
import { commandText } from './console-usage.ts';
import type { AnyOperation, HttpFace } from './operation.ts';

export interface ApiParam {
  readonly name: string;
  /** `argument`: of a command that is nothing else. */
  readonly in: 'path' | 'query' | 'body' | 'argument';
  readonly schema: TSchema;
  readonly isRequired: boolean;
}

export interface ApiEntry {
  /** The operation's name, with a number behind it where the name is taken. */
  readonly id: string;
  readonly operation: AnyOperation;
  readonly descr: string;
  /** Undefined: there is only a command. */
  readonly http: HttpFace | undefined;
  /** Whole, with `{name}` for parameters. */
  readonly path: string;
  readonly params: readonly ApiParam[];
  readonly isPaged: boolean;
  /** `broker_ctl clients show <ClientId>` */
  readonly commands: readonly string[];
}

export interface ApiGroup {
  readonly tag: string;
  readonly entries: readonly ApiEntry[];
}

/** Tags by their names; within one, operations as they stand in the catalogue. */
export function apiGroups(operations: readonly AnyOperation[]): ApiGroup[] {
  const byTag = Map.groupBy(apiEntries(operations), ({ operation }) => operation.tag);
  return [...byTag]
    .map(([tag, entries]) => ({ tag, entries }))
    .sort((a, b) => (a.tag < b.tag ? -1 : 1));
}

export function apiEntries(operations: readonly AnyOperation[]): ApiEntry[] {
  const seen = new Map<string, number>();
  return operations.map((operation) => {
    const { name, descr, http, params } = operation;
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return {
      id: count === 1 ? name : `${name}_${count}`,
      operation,
      descr: descr.trim(),
      http,
      path: http === undefined ? '' : pathOf(http),
      params: paramsOf(operation),
      isPaged: '_page' in params.properties,
      commands: facesOf(operation).map((face) => `broker_ctl ${commandText(face)}`),
    };
  });
}

function pathOf({ path, root }: HttpFace): string {
  const whole = root === true ? path : `/api/v3${path === '/' ? '' : path}`;
  return whole.replaceAll(/:([^/]+)/g, '{$1}');
}

function paramsOf({ http, params }: AnyOperation): ApiParam[] {
  const required = new Set<string>(params.required ?? []);
  const isBody = http?.method === 'POST' || http?.method === 'PUT';
  const placeOf = (name: string): ApiParam['in'] => {
    if (http === undefined) return 'argument';
    if (http.path.split('/').includes(`:${name}`)) return 'path';
    if (http.bodyAs !== undefined) return name === http.bodyAs ? 'body' : 'query';
    return isBody ? 'body' : 'query';
  };
  return Object.entries<TSchema>(params.properties).map(([name, schema]) => {
    const place = placeOf(name);
    return {
      name,
      in: place,
      schema,
      isRequired: place === 'path' || (required.has(name) && !('default' in schema)),
    };
  });
}
