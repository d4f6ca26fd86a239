// The configuration as management reads and changes it. What is set here goes to overrides.conf of the
// data directory, checked by the same tables as the files, together with them: a change that would not
// start is refused and nothing is written. Most keys hold from the next start on; `live` ones at once.

import { type ConfigProblem, ConfigError } from '#config/config-error';
import { isSecretKey, type Key, matchPattern } from '#config/key';
import { type KeyTable, ownerOfFile } from '#config/key-table';
import { type LoadedConfig, loadConfig } from '#config/load';
import { fromOverrides, overridesWhere, writeOverrides } from '#config/overrides';
import type { Settings } from '#config/settings';
import type { EffectiveValue } from '#config/values';
import { OperatingError } from './failures.ts';

/** A key whose value can change while the broker runs. */
export interface LiveKey {
  readonly current: () => string;
  readonly apply: (text: string) => Promise<void>;
}

export interface ConfigStoreParts {
  readonly settings: Settings;
  /** What the node runs with. */
  readonly effective: readonly EffectiveValue[];
  /** '': there is none. */
  readonly configFile: string;
  readonly keys: KeyTable;
}

export type Effective = 'now' | 'after restart';

/** Undefined: the line is taken away, and what the files say holds again. */
export type Changes = ReadonlyMap<string, string | undefined>;

export type RunningValue = Pick<EffectiveValue, 'text' | 'origin'>;

/** A key with what holds now, and what will hold. */
export interface ConfigValue {
  readonly key: string;
  readonly table: Key<unknown>;
  readonly app: string;
  /** Undefined: nothing is set. */
  readonly running: RunningValue | undefined;
  readonly next: EffectiveValue | undefined;
}

/** Names of zones and listeners are free, so that something has to bound them. */
const linesMax = 1000;

export class ConfigStore {
  readonly #parts: ConfigStoreParts;
  readonly #live: ReadonlyMap<string, LiveKey>;
  readonly #dataDir: string;
  /** What each key runs with; a plugin that is read anew runs with other values. */
  readonly #running: Map<string, RunningValue>;
  /** What a new start would be given again by whoever starts it. */
  readonly #above: ReadonlyMap<string, EffectiveValue>;
  /** One change at a time: each begins with what the one before has written. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: ConfigStoreParts, live: ReadonlyMap<string, LiveKey>) {
    this.#parts = parts;
    this.#live = live;
    this.#dataDir = parts.settings.node.dataDir;
    this.#running = new Map(byKey(parts));
    this.#above = new Map(
      parts.effective
        .filter(({ source }) => source === 'environment' || source === 'command line')
        .map((value) => [value.key, value]),
    );
  }

  /** Every key with a value, in the order of the tables. */
  values(): ConfigValue[] {
    const running = new Map(this.#running);
    // Files that were broken since the start say nothing; what runs is known all the same.
    const next = this.#nextOrRunning();
    for (const [key, { current }] of this.#live) {
      const text = current();
      const known = [next.get(key), running.get(key)].find((value) => value?.text === text);
      running.set(key, known ?? { text, origin: 'set until the next start' });
    }
    const keys = new Set([...next.keys(), ...running.keys()]);
    return [...keys].flatMap((key) => {
      const table = this.#parts.keys.find(key)?.key;
      if (table === undefined) return [];
      const app = this.#parts.keys.ownerOf(table);
      return [{ key, table, app, running: running.get(key), next: next.get(key) }];
    });
  }

  /** Throws when the files and what was set would not start. */
  check(): void {
    this.next();
  }

  /** What a start would run with. Throws when it would not start. */
  next(): Settings {
    return this.#load(this.#stored()).settings;
  }

  /** A plugin runs with what a start would give it. */
  reloaded(app: string): void {
    const { keys } = this.#parts;
    const isOf = (key: string): boolean => {
      const found = keys.find(key);
      return found !== undefined && keys.ownerOf(found.key) === app;
    };
    for (const key of [...this.#running.keys()].filter(isOf)) this.#running.delete(key);
    for (const [key, value] of this.#nextOrRunning()) {
      if (isOf(key)) this.#running.set(key, value);
    }
  }

  /** Keys of a plugin that would have another value after a start. */
  changedKeys(app: string): string[] {
    this.check();
    return this.values()
      .filter((value) => value.app === app && value.next?.text !== value.running?.text)
      .map(({ key }) => key);
  }

  /**
   * All of it or nothing. Answers whether all of it holds already. `apply` is called when it has been
   * written; when it fails nothing has been.
   */
  change(
    app: string,
    changes: Changes,
    apply: () => Promise<void> = async () => undefined,
  ): Promise<Effective> {
    const done = this.#last.then(() => this.#change(app, changes, apply));
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #change(app: string, changes: Changes, apply: () => Promise<void>): Promise<Effective> {
    if (changes.size === 0) return 'now';
    const stored = this.#stored();
    const next = new Map(stored);
    for (const [key, value] of changes) {
      this.#checkChange(app, key, value, stored);
      if (value === undefined) next.delete(key);
      else next.set(key, value);
    }
    if (next.size > linesMax) {
      throw refused(`Cannot set so much: ${next.size} keys, expected at most ${linesMax}`);
    }
    const after = byKey(this.#load(next));
    await writeOverrides(this.#dataDir, next);
    try {
      await apply();
    } catch (error) {
      await writeOverrides(this.#dataDir, stored);
      throw error;
    }
    await this.#apply(after, changes);
    return this.#holds(after, changes) ? 'now' : 'after restart';
  }

  #checkChange(
    app: string,
    key: string,
    value: string | undefined,
    stored: ReadonlyMap<string, string>,
  ): void {
    const { keys } = this.#parts;
    const found = keys.find(key);
    const owner = found && keys.ownerOf(found.key);
    if (owner !== undefined && owner !== app) {
      throw refused(`Cannot set ${key} of ${app}: it is a key of ${owner}`);
    }
    if (value === undefined && !stored.has(key)) {
      throw refused(`Cannot unset "${key}": it was not set while the broker ran`);
    }
    const above = this.#above.get(key);
    if (value !== undefined && above !== undefined) {
      const stands = `"${above.origin}" sets it, which stands before what is set here`;
      throw refused(`Cannot set ${key}: ${stands}`);
    }
  }

  /** What a start would do with these. */
  #load(overrides: ReadonlyMap<string, string>): LoadedConfig {
    const { configFile } = this.#parts;
    try {
      return loadConfig({
        configFile: configFile === '' ? undefined : configFile,
        sets: [...this.#above.values()].map(({ key, text }) => `${key}=${text}`),
        overrides,
        keys: this.#parts.keys,
      });
    } catch (error) {
      if (error instanceof ConfigError) throw refused(textOf(error.problems), error);
      throw error;
    }
  }

  #stored(): Map<string, string> {
    const { assignments, problems } = fromOverrides(this.#dataDir);
    if (problems.length > 0) throw refused(textOf(problems));
    return new Map(assignments.map(({ key, value }) => [key, value]));
  }

  #nextOrRunning(): Map<string, EffectiveValue> {
    try {
      return byKey(this.#load(this.#stored()));
    } catch (error) {
      if (error instanceof OperatingError) return byKey(this.#parts);
      throw error;
    }
  }

  /** Only what was asked for: a level that somebody has set for an hour stays. */
  async #apply(after: ReadonlyMap<string, EffectiveValue>, changes: Changes): Promise<void> {
    for (const key of changes.keys()) {
      const text = after.get(key)?.text;
      if (text !== undefined) await this.#live.get(key)?.apply(text);
    }
  }

  #holds(after: ReadonlyMap<string, EffectiveValue>, changes: Changes): boolean {
    const running = this.#running;
    const isSame = (key: string): boolean =>
      this.#live.has(key) || after.get(key)?.text === running.get(key)?.text;
    // What is set for the broker holds in its zones, too.
    const heirs = [...after].filter(([, { source, origin }]) => {
      return (
        source === 'inherited' && [...changes.keys()].some((key) => origin.startsWith(`${key}, `))
      );
    });
    return [...changes.keys(), ...heirs.map(([key]) => key)].every(isSame);
  }
}

/** Who the keys of the files belong to: `broker` and the plugins. */
export function configApps(keys: KeyTable): readonly string[] {
  return keys.files.map(ownerOfFile);
}

/** The keys of an app that are whole as they are, without names to fill in. */
export function fixedKeysOf(keys: KeyTable, app: string): readonly Key<unknown>[] {
  return keys.files
    .filter((file) => ownerOfFile(file) === app)
    .flatMap(({ sections }) => sections.flatMap((part) => part.keys))
    .filter(({ pattern }) => matchPattern(pattern, pattern)?.length === 0);
}

export const hiddenValue = '******';

export function shownValue(key: string, text: string): string {
  return isSecretKey(key) && text !== '' ? hiddenValue : text;
}

function byKey({ effective }: Pick<LoadedConfig, 'effective'>): Map<string, EffectiveValue> {
  return new Map(effective.map((value) => [value.key, value]));
}

function textOf(problems: readonly ConfigProblem[]): string {
  const isOurs = ({ where }: ConfigProblem): boolean =>
    where === overridesWhere || where === 'default';
  return problems.map((one) => (isOurs(one) ? one.text : `${one.where}: ${one.text}`)).join('; ');
}

function refused(message: string, cause?: unknown): OperatingError {
  return new OperatingError('failed', message, { cause });
}
