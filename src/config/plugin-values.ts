// What a plugin reads its settings from: the values of its own keys, and a place for what is wrong
// between them.

import { resolve } from 'node:path';
import type { ConfigProblem } from './config-error.ts';
import { fillPattern, type Key, type KeysOf } from './key.ts';
import type { Values } from './values.ts';

/** A line of a key with names: `auth.user.1.username = ada`. */
export interface PluginLine<T> {
  /** As written. */
  readonly key: string;
  readonly names: readonly string[];
  readonly value: T;
}

export class PluginValues {
  readonly problems: ConfigProblem[] = [];
  readonly #values: Values;
  readonly #root: string;

  constructor(values: Values, root: string) {
    this.#values = values;
    this.#root = root;
  }

  get<T>(key: Key<T>, names: readonly string[] = []): T {
    return this.#values.get(key, names);
  }

  /** All fields of a table at once. */
  read<S>(table: KeysOf<S>, names: readonly string[] = []): S {
    return this.#values.read(table, names);
  }

  /** Every line of a key with names. */
  lines<T>(key: Key<T>): PluginLine<T>[] {
    return this.#values.ofPattern(key).map(({ names, value }) => {
      return { key: fillPattern(key.pattern, names), names, value: value as T };
    });
  }

  /** A relative path starts at the directory of the installation. */
  path(file: string): string {
    return resolve(this.#root, file);
  }

  /** The start, or the reload, is refused with this. `text` begins with what cannot be done. */
  problem(key: string, text: string): void {
    this.problems.push({ where: this.#values.where(key), key, text });
  }
}
