// A resource as it is kept, and how one comes from what somebody sends. Law: secrets come in and are kept, as
// plain as the store that keeps them, and never go out again; whoever sends the mark that stands for one means
// the one that is there.

import { randomHex } from '#base/ids';
import { checkParams, type Params, type ParamSpecs } from '../actions/param-spec.ts';
import { RuleFault } from '../rule-fault.ts';
import type { ExportedResource, ResourceSpec } from './resource-service.ts';
import { type ResourceType } from './resource-type.ts';
import { resourceTypeNamed } from './type-table.ts';

export interface ResourceRecord {
  readonly id: string;
  /** Its place among all. */
  readonly order: number;
  readonly name?: string | undefined;
  readonly type: string;
  readonly config: Params;
  readonly description: string;
}

const mark = '******';
const textMax = 4096;
const configCharactersMax = 64 * 1024;
/** Not a step of a path: it could not be asked for, and its buffer would be somebody else's folder. */
const idPattern = /^(?!\.\.?$)[A-Za-z0-9_.@~:-]{1,160}$/;
const namePattern = /^[A-Za-z0-9_.@~-]{1,64}$/;
const secretNames = /auth|token|secret|password|passwd|cookie|key|credential|signature/i;

export function newResourceId(): string {
  return `resource:${randomHex(4)}`;
}

/** `former`: what a mark stands for. */
export function resourceRecordOf(
  spec: ResourceSpec,
  { id, order }: Pick<ResourceRecord, 'id' | 'order'>,
  former?: Params,
): ResourceRecord {
  const { name, type, description = '' } = spec;
  const config = configOf(spec, former);
  refuseMark(type, config);
  if (typeof description !== 'string' || description.length > textMax) {
    throw bad(`expected a description of at most ${textMax} characters`);
  }
  return { id, order, type, config, description, ...(name !== undefined && { name }) };
}

/** Undefined: none was named. */
export function idOfName({ name, type }: ResourceSpec): string | undefined {
  if (name === undefined) return undefined;
  if (typeof name === 'string' && namePattern.test(name)) return `${type}:${name}`;
  throw bad('expected a name of letters, digits and _ . @ ~ -, at most 64');
}

/** Of a document that is to be imported. Ids are not repeated, and are what their names make of them. */
export function exportedResources(exported: unknown): readonly ExportedResource[] {
  const wanted = 'a list of resources as an export has it, each with an id';
  if (!Array.isArray(exported)) throw bad(`expected ${wanted}`);
  const ids = new Set<string>();
  for (const one of exported as readonly unknown[]) {
    const id = ownOf(one, 'id');
    if (typeof id !== 'string' || !idPattern.test(id)) throw bad(`expected ${wanted}`);
    const named = idOfName(one as ResourceSpec) ?? id;
    if (named !== id) throw bad(`"${id}" has the name of "${named}"`);
    if (ids.has(id)) throw bad(`"${id}" is there twice`);
    ids.add(id);
  }
  return exported as readonly ExportedResource[];
}

/** Checked, with defaults filled in. */
export function configOf(spec: ResourceSpec, former?: Params): Params {
  const type = typeOf(spec.type);
  const given = unmarked(type.params, spec.config ?? {}, former ?? {});
  const config = checkParams(type.params, given, `resource type "${type.name}"`);
  if (JSON.stringify(config).length > configCharactersMax) {
    throw bad(`its configuration has more than ${configCharactersMax} characters`);
  }
  try {
    type.check?.(config);
  } catch (error) {
    throw bad(error instanceof Error ? error.message : String(error));
  }
  return config;
}

export function typeOf(name: unknown): ResourceType {
  const type = typeof name === 'string' ? resourceTypeNamed(name) : undefined;
  if (type !== undefined) return type;
  throw new RuleFault('unknown_resource_type', `Resource Type ${String(name)} Not Found`);
}

export function shownConfig(typeName: string, config: Params): Params {
  const type = resourceTypeNamed(typeName);
  if (type !== undefined) return mapSecrets(type.params, config, () => mark);
  // Kept by a version that knew it: nobody here knows what of it is a secret.
  return Object.fromEntries(Object.keys(config).map((name) => [name, mark]));
}

/** It would be sent as if it were the secret. */
function refuseMark(typeName: string, config: Params): void {
  mapSecrets(typeOf(typeName).params, config, (value, path) => {
    if (value !== mark) return value;
    throw bad(`"${path.join('.')}" is ${mark}, and there is nothing yet that this could stand for`);
  });
}

function unmarked(specs: ParamSpecs, config: Params, former: Params): Params {
  if (typeof config !== 'object' || config === null) return config;
  return mapSecrets(specs, config, (value, path) => {
    if (value !== mark) return value;
    let before: unknown = former;
    for (const step of path) before = ownOf(before, step);
    if (before === undefined || isSameServer(config, former)) return before ?? value;
    throw bad(
      `"${path.join('.')}" is ${mark}, the secret of another server: expected one for this`,
    );
  });
}

/** Otherwise whoever may change a resource could have a secret sent to himself that nobody may read. */
function isSameServer({ url }: Params, { url: former }: Params): boolean {
  if (typeof url !== 'string' || typeof former !== 'string') return url === former;
  return URL.parse(url)?.origin === URL.parse(former)?.origin;
}

/** A copy in which every secret is what `change` makes of it. */
function mapSecrets(
  specs: ParamSpecs,
  config: Params,
  change: (value: unknown, path: readonly string[]) => unknown,
): Params {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => {
      const isSecret = Object.hasOwn(specs, name) && specs[name]?.secret === true;
      if (!isSecret) return [name, value];
      if (typeof value !== 'object' || value === null) return [name, change(value, [name])];
      const members = Object.entries(value as Params).map(([key, one]) => {
        return [key, secretNames.test(key) ? change(one, [name, key]) : one];
      });
      return [name, Array.isArray(value) ? value : Object.fromEntries(members)];
    }),
  );
}

function ownOf(value: unknown, key: string): unknown {
  const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
  return isThere ? (value as Params)[key] : undefined;
}

function bad(what: string): RuleFault {
  return new RuleFault('bad_params', `Cannot use the resource: ${what}`);
}
