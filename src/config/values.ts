// The values that were set, by key, and the one way to ask for a value: the key itself, else the
// key it inherits from, else what holds when it is absent.

import { fillPattern, type Key, type KeysOf } from './key.ts';

export type Source = 'file' | 'overrides' | 'environment' | 'command line';

export interface SetValue {
  readonly key: Key<unknown>;
  /** What fills the pattern, in order. */
  readonly names: readonly string[];
  readonly text: string;
  readonly value: unknown;
  readonly where: string;
  readonly source: Source;
}

/** A value that holds, and why. */
export interface EffectiveValue {
  readonly key: string;
  readonly text: string;
  /** `etc/broker.conf:12`, `data/overrides.conf:5`, `environment BROKER_X`, `--set`, `default`. */
  readonly origin: string;
  /** Which of the sources has a line for this very key. */
  readonly source: Source | 'inherited' | 'default';
}

export class Values {
  readonly #set: ReadonlyMap<string, SetValue>;

  constructor(set: ReadonlyMap<string, SetValue>) {
    this.#set = set;
  }

  get<T>(key: Key<T>, names: readonly string[] = []): T {
    const set = this.#set.get(fillPattern(key.pattern, names));
    // What was stored under a key was made by the type of that key.
    if (set) return set.value as T;
    if (key.inherits) return this.get(key.inherits);
    return (key.absent === undefined ? undefined : key.type.parse(key.absent)) as T;
  }

  /** All fields of a table at once. */
  read<S>(table: KeysOf<S>, names: readonly string[] = []): S {
    const fields = Object.entries<Key<unknown>>(table);
    return Object.fromEntries(fields.map(([field, key]) => [field, this.get(key, names)])) as S;
  }

  /** Every line that was set for a pattern with names, in the order in which they first came. */
  ofPattern(key: Key<unknown>): SetValue[] {
    return [...this.#set.values()].filter((set) => set.key === key);
  }

  /** The names of all lines that begin with a word: the zones, the listeners. */
  namesUnder(root: string, count: number): string[][] {
    const found = new Map<string, string[]>();
    for (const { key, names } of this.#set.values()) {
      const instance = names.slice(0, count);
      if (key.pattern.startsWith(`${root}.`)) found.set(instance.join('.'), instance);
    }
    return [...found.values()];
  }

  /** Undefined: nothing is set, and nothing holds instead. */
  effective(key: Key<unknown>, names: readonly string[]): EffectiveValue | undefined {
    const written = fillPattern(key.pattern, names);
    const set = this.#set.get(written);
    if (set) return { key: written, text: set.text, origin: set.where, source: set.source };
    if (key.inherits) {
      const above = this.effective(key.inherits, []);
      const origin = `${above?.key}, ${above?.origin}`;
      return above && { key: written, text: above.text, origin, source: 'inherited' };
    }
    return key.absent === undefined
      ? undefined
      : { key: written, text: key.absent, origin: 'default', source: 'default' };
  }

  where(written: string): string {
    return this.#set.get(written)?.where ?? 'default';
  }
}
