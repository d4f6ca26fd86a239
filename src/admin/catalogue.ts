// All operations, by owner: plugins add theirs when they are loaded and take them along. The faces read
// the catalogue; none keeps a list of its own. Laws: no two operations have the same route or command, and
// what is in here can be served: one route that the router refuses would take the others along.

import type { AnyOperation, CliFace } from './operation.ts';

export interface Command {
  readonly operation: AnyOperation;
  readonly face: CliFace<unknown, unknown>;
}

/** The owner of what the broker itself brings. */
const brokersOwn = 'broker_management';

export class Catalogue {
  readonly #byOwner = new Map<string, readonly AnyOperation[]>();
  readonly #listeners: (() => void)[] = [];

  /** `owner`: the plugin, as it is listed. */
  add(owner: string, operations: readonly AnyOperation[]): void {
    for (const operation of operations) checkRoute(owner, operation);
    const taken = new Set(this.all().flatMap(namesOf));
    for (const name of operations.flatMap(namesOf)) {
      if (taken.has(name)) throw new TypeError(`Cannot add "${name}" of ${owner}: it exists`);
      taken.add(name);
    }
    this.#byOwner.set(owner, [...(this.#byOwner.get(owner) ?? []), ...operations]);
    this.#changed();
  }

  /** What an owner had gives way to these; nothing changes when they cannot be added. */
  replace(owner: string, operations: readonly AnyOperation[]): void {
    const former = this.#byOwner.get(owner);
    this.#byOwner.delete(owner);
    try {
      if (operations.length > 0) this.add(owner, operations);
      else if (former !== undefined) this.#changed();
    } catch (error) {
      if (former !== undefined) this.#byOwner.set(owner, former);
      throw error;
    }
  }

  remove(owner: string): void {
    if (this.#byOwner.delete(owner)) this.#changed();
  }

  /** Owner by owner in the order of their names, and within one in the order they were added. */
  all(): readonly AnyOperation[] {
    return [...this.#byOwner]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([, operations]) => operations);
  }

  ofOwner(owner: string): readonly AnyOperation[] {
    return this.#byOwner.get(owner) ?? [];
  }

  /** Those of the broker itself before those of plugins. */
  commands(): readonly Command[] {
    const own = new Set(this.#byOwner.get(brokersOwn));
    const all = this.all();
    const ordered = [...own, ...all.filter((operation) => !own.has(operation))];
    return ordered.flatMap((operation) => facesOf(operation).map((face) => ({ operation, face })));
  }

  /** Called after each change. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

export function facesOf({ cli }: AnyOperation): readonly CliFace<unknown, unknown>[] {
  if (cli === undefined) return [];
  return Array.isArray(cli) ? cli : [cli as CliFace<unknown, unknown>];
}

/** Literal words and parameters, each a whole level. */
const pathPattern = /^\/$|^(?:\/:?[\w.~-]+)+$/;
const methods = ['GET', 'POST', 'PUT', 'DELETE'];

function checkRoute(owner: string, { http }: AnyOperation): void {
  if (http === undefined) return;
  const { method, path } = http;
  if (methods.includes(method) && pathPattern.test(path)) return;
  const wanted = `a method of ${methods.join(', ')} and a path such as /words/:parameter`;
  throw new TypeError(`Cannot add "${method} ${path}" of ${owner}: expected ${wanted}`);
}

/** Its route, `GET /api/v3/nodes/:`, and its commands. */
function namesOf(operation: AnyOperation): string[] {
  const { http } = operation;
  const base = http?.root === true ? '' : '/api/v3';
  const route = http && `${http.method} ${base}${http.path.replaceAll(/:[^/]+/g, ':')}`;
  const words = facesOf(operation).map((face) => face.words);
  return route === undefined ? words : [route, ...words];
}

export interface IndexEntry {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly descr: string;
}

/** What `GET /` answers on a port. */
export function serviceIndex(
  operations: readonly AnyOperation[],
  port: 'management' | 'dashboard',
): IndexEntry[] {
  return operations.flatMap(({ name, descr, http }) => {
    if (http === undefined || http.root === true) return [];
    if (http.port === 'dashboard' && port !== 'dashboard') return [];
    return [{ name, method: http.method, path: http.indexPath ?? http.path, descr }];
  });
}
