// The keys that a configuration can have: those of the broker itself, and those of the plugins that were
// found beside it. Law: one table answers for all faces; a key that is not in it does not exist. What a
// plugin has changes when its code is read anew.

import { hasNames, type Key, matchPattern } from './key.ts';
import { type ConfFile, confFiles } from './keys.ts';
import type { PluginValues } from './plugin-values.ts';

/** The file of a plugin, and what its values come to. */
export interface PluginConf extends ConfFile {
  readonly plugin: string;
  /** Only data that can go from thread to thread. */
  readonly read: (values: PluginValues) => unknown;
}

export interface FoundKey {
  readonly key: Key<unknown>;
  readonly names: readonly string[];
}

export class KeyTable {
  #files: readonly ConfFile[] = [];
  #plugins: readonly PluginConf[] = [];
  #all: readonly Key<unknown>[] = [];
  /** Keys without names, by themselves; a start asks for hundreds of lines. */
  #plain: ReadonlyMap<string, FoundKey> = new Map();
  #named: readonly Key<unknown>[] = [];
  #broken: ReadonlySet<string> = new Set();

  constructor(plugins: readonly PluginConf[] = [], broken: ReadonlySet<string> = new Set()) {
    this.#hold(plugins, broken);
  }

  get files(): readonly ConfFile[] {
    return this.#files;
  }

  get plugins(): readonly PluginConf[] {
    return this.#plugins;
  }

  get all(): readonly Key<unknown>[] {
    return this.#all;
  }

  /** Plugins that could not be read, and whose files say therefore nothing. */
  get broken(): ReadonlySet<string> {
    return this.#broken;
  }

  /** A plugin was read, or read anew: these are its keys from now on. Answers how to take that back. */
  put(plugin: string, conf: PluginConf | undefined): () => void {
    const [plugins, broken] = [this.#plugins, this.#broken];
    const others = plugins.filter((one) => one.plugin !== plugin);
    const after = conf === undefined ? others : [...others, conf];
    this.#hold(
      after.sort((a, b) => (a.plugin < b.plugin ? -1 : 1)),
      new Set([...broken].filter((name) => name !== plugin)),
    );
    return () => this.#hold(plugins, broken);
  }

  #hold(plugins: readonly PluginConf[], broken: ReadonlySet<string>): void {
    this.#files = [...confFiles, ...plugins];
    this.#plugins = plugins;
    this.#broken = broken;
    this.#all = this.#files.flatMap((file) => file.sections.flatMap((part) => part.keys));
    this.#named = this.#all.filter(({ pattern }) => hasNames(pattern));
    const plain = this.#all.filter(({ pattern }) => !hasNames(pattern));
    this.#plain = new Map(plain.map((key) => [key.pattern, { key, names: [] }]));
  }

  find(written: string): FoundKey | undefined {
    const plain = this.#plain.get(written);
    if (plain !== undefined) return plain;
    for (const key of this.#named) {
      const names = matchPattern(key.pattern, written);
      if (names) return { key, names };
    }
    return undefined;
  }

  /** Whose key it is: `broker`, or the plugin. */
  ownerOf(key: Key<unknown>): string {
    const file = this.files.find(({ sections }) => sections.some(({ keys }) => keys.includes(key)));
    return file === undefined ? 'broker' : ownerOfFile(file);
  }
}

/** `plugins/broker_retainer.conf` → `broker_retainer`. */
export function ownerOfFile({ name }: ConfFile): string {
  return name.replace(/^.*\//, '').replace(/\.conf$/, '');
}

/** The keys of the broker itself. */
export const ownKeys: KeyTable = new KeyTable();
