// Which plugins there are: the folders with a plugin.ts, of the broker and of its user. A folder that
// cannot be read is found all the same, with the reason: whoever lists plugins sees it.

import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describeMistake } from '#base/errors';
import { installRoot } from '#base/install-root';
import { ownOwners } from '#hooks/own-owners';
import { codeStamp, loadPluginCode } from './code.ts';
import { type PluginDefinition, pluginNamePattern } from './contract.ts';

export interface FoundPlugin {
  /** Of its folder. */
  readonly name: string;
  readonly folder: string;
  /** Undefined: it cannot be read. */
  readonly definition: PluginDefinition | undefined;
  readonly fault: string | undefined;
  /** Of the code that was read. */
  readonly stamp: string;
  /** See `loadPluginCode`. */
  readonly reading: number;
}

export const shippedPlugins: string = join(installRoot, 'plugins');

/** One that comes with the broker; what these bring is known to go together. */
export function isShipped({ folder }: FoundPlugin): boolean {
  return dirname(folder) === shippedPlugins;
}

/** By name. Those of the broker stand before those of `dir`. */
export async function discoverPlugins(dir?: string): Promise<FoundPlugin[]> {
  const found = new Map<string, FoundPlugin>();
  for (const parent of dir === undefined ? [shippedPlugins] : [shippedPlugins, dir]) {
    for (const name of foldersIn(parent)) {
      // A name of the broker's own cannot be taken over from outside.
      if (!found.has(name)) found.set(name, await readPlugin(join(parent, name), name, 0));
    }
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The folder of this name, if there is one: names are compared with those on disk, and are no paths. */
export function findFolder(name: string, dir?: string): string | undefined {
  const parents = dir === undefined ? [shippedPlugins] : [shippedPlugins, dir];
  const parent = parents.find((one) => foldersIn(one).includes(name));
  return parent === undefined ? undefined : join(parent, name);
}

export async function readPlugin(
  folder: string,
  name: string,
  reading: number,
): Promise<FoundPlugin> {
  const stamp = codeStamp(folder);
  const at = { name, folder, stamp, reading };
  try {
    const definition = await loadPluginCode(folder, reading);
    const fault = nameFault(definition.name, name);
    return { ...at, definition: fault === undefined ? definition : undefined, fault };
  } catch (error) {
    return { ...at, definition: undefined, fault: describeMistake(error) };
  }
}

function nameFault(name: string, folder: string): string | undefined {
  if (name !== folder) {
    return `Cannot use plugin "${name}": its folder is "${folder}", expected the same name`;
  }
  if (!ownOwners.includes(name)) return undefined;
  return `Cannot use plugin "${name}": the broker itself has hooks of this name, expected another`;
}

function foldersIn(parent: string): string[] {
  let names: string[];
  try {
    names = readdirSync(parent);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return names.filter(
    (name) => pluginNamePattern.test(name) && existsSync(join(parent, name, 'plugin.ts')),
  );
}
