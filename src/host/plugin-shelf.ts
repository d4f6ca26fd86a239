// The plugins that were found, and their code as it is on disk now. Law: what has been read anew takes the
// place of what was there together with its keys, and can be taken back as long as it has not started.

import type { KeyTable } from '#config/key-table';
import { codeStamp } from '#plugin/code';
import { findFolder, type FoundPlugin, readPlugin } from '#plugin/discover';
import { confOf, withOwnKeys } from '#plugin/load-config';

export interface ChangedPlugin {
  readonly plugin: string;
  /** Of the code that is there now; another one for each change. */
  readonly stamp: string;
}

export interface ShelfParts {
  readonly found: readonly FoundPlugin[];
  /** Every key there can be. */
  readonly keys: KeyTable;
  /** Of the user's own plugins. */
  readonly dir: string | undefined;
}

export class PluginShelf {
  readonly #found: Map<string, FoundPlugin>;
  readonly #parts: ShelfParts;
  /** 0 were those of the start. */
  #readings = 0;

  constructor(parts: ShelfParts) {
    this.#parts = parts;
    this.#found = new Map(parts.found.map((one) => [one.name, one]));
  }

  get(name: string): FoundPlugin | undefined {
    return this.#found.get(name);
  }

  all(): readonly FoundPlugin[] {
    return [...this.#found.values()];
  }

  /** Takes in a folder that has come since the start. */
  async look(name: string): Promise<void> {
    if (this.#found.has(name)) return;
    const folder = findFolder(name, this.#parts.dir);
    if (folder === undefined) return;
    const found = await this.#read(folder, name);
    this.#found.set(name, found);
    this.#parts.keys.put(name, confOf(found));
  }

  /** As its folder is now. Answers how to have it as it was before. Throws when it cannot be read. */
  async renew(name: string): Promise<() => void> {
    const known = this.#found.get(name);
    if (known === undefined) throw new Error(`there is no folder of plugin ${name}`);
    const isSame = codeStamp(known.folder) === known.stamp;
    const fresh = isSame ? known : await this.#read(known.folder, name);
    if (fresh.definition === undefined) throw new Error(fresh.fault);
    if (isSame) return () => undefined;
    this.#found.set(name, fresh);
    const takeBack = this.#parts.keys.put(name, confOf(fresh));
    return () => {
      this.#found.set(name, known);
      takeBack();
    };
  }

  async #read(folder: string, name: string): Promise<FoundPlugin> {
    const found = await readPlugin(folder, name, ++this.#readings);
    return withOwnKeys(found, this.#parts.keys);
  }

  /** Those whose code on disk is another than the one that was read. */
  changed(names: Iterable<string>): ChangedPlugin[] {
    return [...names].flatMap((plugin) => {
      const found = this.#found.get(plugin);
      if (found === undefined) return [];
      const stamp = codeStamp(found.folder);
      return stamp === found.stamp ? [] : [{ plugin, stamp }];
    });
  }
}
