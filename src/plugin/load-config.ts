// The configuration of a broker with that of its plugins: their tables of keys are read from their
// folders first. Law: a key has one owner; a plugin that declares one of another's cannot be used.

import { dirname } from 'node:path';
import { KeyTable, ownerOfFile, type PluginConf } from '#config/key-table';
import type { Key } from '#config/key';
import { type ConfFile, section } from '#config/keys';
import { type LoadedConfig, type LoadOptions, loadConfig, loadPluginsDir } from '#config/load';
import { discoverPlugins, type FoundPlugin, shippedPlugins } from './discover.ts';

export interface PluginsConfig extends LoadedConfig {
  readonly plugins: readonly FoundPlugin[];
  readonly keys: KeyTable;
}

export async function loadPluginsConfig(options: LoadOptions): Promise<PluginsConfig> {
  const plugins = eachWithOwnKeys(await discoverPlugins(loadPluginsDir(options)));
  const keys = keyTableOf(plugins);
  return { ...loadConfig({ ...options, keys }), plugins, keys };
}

export function keyTableOf(plugins: readonly FoundPlugin[]): KeyTable {
  const broken = plugins.filter(({ definition }) => definition === undefined);
  return new KeyTable(
    plugins.flatMap((found) => confOf(found) ?? []),
    new Set(broken.map(({ name }) => name)),
  );
}

/** As it is, or as one that cannot be read because of a key that others have. */
export function withOwnKeys(found: FoundPlugin, keys: KeyTable): FoundPlugin {
  const own = new Set(keysIn(confOf(found)).map(({ pattern }) => pattern));
  for (const file of keys.files) {
    const owner = ownerOfFile(file);
    if (owner === found.name) continue;
    const taken = keysIn(file).find(({ pattern }) => own.has(pattern));
    if (taken === undefined) continue;
    const fault = `Cannot use its key "${taken.pattern}": it is a key of ${owner}, expected another name`;
    return { ...found, definition: undefined, fault };
  }
  return found;
}

/** Who comes first has it: the broker's own plugins, then by name. */
function eachWithOwnKeys(found: readonly FoundPlugin[]): FoundPlugin[] {
  const isForeign = ({ folder }: FoundPlugin): number => Number(dirname(folder) !== shippedPlugins);
  const keys = new KeyTable();
  const checked = new Map<string, FoundPlugin>();
  for (const one of found.toSorted((a, b) => isForeign(a) - isForeign(b))) {
    const plugin = withOwnKeys(one, keys);
    keys.put(plugin.name, confOf(plugin));
    checked.set(plugin.name, plugin);
  }
  return found.map((one) => checked.get(one.name) ?? one);
}

function keysIn(file: ConfFile | undefined): readonly Key<unknown>[] {
  return file?.sections.flatMap((part) => part.keys) ?? [];
}

/** Undefined: it has no keys, or cannot be read. */
export function confOf({ name, definition }: FoundPlugin): PluginConf | undefined {
  const { config, description = '' } = definition ?? {};
  if (config === undefined) return undefined;
  return {
    plugin: name,
    name: `plugins/${name}.conf`,
    title: description,
    sections: [section(name, '', ...config.keys)],
    read: config.read,
  };
}
