// File, environment and command line → settings, or every problem at once. The last source wins:
// main file, plugins' files, what was set while the broker ran, environment, --set, --data-dir. A bad line is an error even when a
// later source replaces it.

import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';
import { describeError } from '#base/errors';
import { installRoot } from '#base/install-root';
import { buildSettings, zoneNames } from './build-settings.ts';
import { ConfigError, type ConfigProblem } from './config-error.ts';
import { findContradictions } from './contradictions.ts';
import { whyForeign } from './foreign-keys.ts';
import { deepFreeze } from './freeze.ts';
import { hasNames, isSecretKey, type Key } from './key.ts';
import { type KeyTable, ownKeys, type PluginConf } from './key-table.ts';
import { nearest, nearestKey } from './nearest.ts';
import { nodeKeys } from './node-keys.ts';
import { fromMap, fromOverrides, overridesWhere } from './overrides.ts';
import { pluginHostKeys } from './plugin-host-keys.ts';
import { PluginValues } from './plugin-values.ts';
import type { NodeSettings, Settings } from './settings.ts';
import {
  type Assignment,
  fromCommandLine,
  fromEnvironment,
  fromFiles,
  type Gathered,
  lastOf,
} from './sources.ts';
import { type EffectiveValue, type SetValue, Values } from './values.ts';

export interface LoadOptions {
  /** Undefined: no file at all, only what holds when keys are absent. */
  readonly configFile?: string | undefined;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** `key=value`, from the command line. */
  readonly sets?: readonly string[];
  /** `--data-dir`; stands before every other source of node.data_dir. */
  readonly dataDir?: string | undefined;
  /** What would be in overrides.conf; without it the file of the data directory is read. */
  readonly overrides?: ReadonlyMap<string, string> | undefined;
  readonly root?: string;
  /** Those of the broker alone when it is absent. */
  readonly keys?: KeyTable;
}

export interface LoadedConfig {
  readonly settings: Settings;
  /** Every key with a value, in the order of the tables. */
  readonly effective: readonly EffectiveValue[];
}

export function loadSettings(options: LoadOptions): Settings {
  return loadConfig(options).settings;
}

export function loadConfig(options: LoadOptions): LoadedConfig {
  const { root = installRoot, keys = ownKeys } = options;
  const { values, attempted, problems } = readValues(options);
  const own = buildSettings(values, root);
  const { plugins, problems: ofPlugins } = buildPlugins(values, keys, root);
  const settings: Settings = { ...own, plugins };
  const all = [...problems, ...findContradictions(settings, values, attempted), ...ofPlugins];
  if (all.length > 0) throw new ConfigError(all);
  return { settings: deepFreeze(settings), effective: effectiveValues(settings, values, keys) };
}

function buildPlugins(
  values: Values,
  keys: KeyTable,
  root: string,
): { plugins: Map<string, unknown>; problems: ConfigProblem[] } {
  const read = keys.plugins.map((conf) => {
    const own = new PluginValues(values, root);
    return { plugin: conf.plugin, settings: readPlugin(conf, own), problems: own.problems };
  });
  return {
    plugins: new Map(read.map(({ plugin, settings }) => [plugin, settings])),
    problems: read.flatMap(({ problems }) => problems),
  };
}

/** What its code throws is a problem of its file, as far as anybody can tell. */
function readPlugin({ plugin, name, read }: PluginConf, values: PluginValues): unknown {
  try {
    return read(values);
  } catch (error) {
    const text = `Cannot read the settings of plugin ${plugin}: ${describeError(error)}`;
    values.problems.push({ where: name, key: '', text });
    return undefined;
  }
}

/** Who the node is, also when other keys are wrong: a broken file must not keep one from stopping. */
export function loadNodeOnly(options: LoadOptions): NodeSettings {
  return buildSettings(readValues(options).values, options.root ?? installRoot).node;
}

/** Where plugins of users lie, also when other keys are wrong; undefined: nowhere. */
export function loadPluginsDir(options: LoadOptions): string | undefined {
  const dir = lastOf(gather(options), pluginHostKeys.dir.pattern);
  return dir && resolve(options.root ?? installRoot, dir);
}

interface ReadValues {
  readonly values: Values;
  /** Every key that had a line, also a refused one. */
  readonly attempted: ReadonlySet<string>;
  readonly problems: readonly ConfigProblem[];
}

function readValues(options: LoadOptions): ReadValues {
  const { root = installRoot, keys = ownKeys } = options;
  return checked(gather(options), root, keys);
}

/** Everything that was written, the strongest source last. */
function gather(options: LoadOptions): Gathered[] {
  const { configFile, env = {}, sets = [], root = installRoot, keys = ownKeys } = options;
  const files = configFile === undefined ? nothing : fromFiles(configFile, keys.broken);
  const above = [fromEnvironment(env, keys), fromCommandLine(sets), fromDataDir(options.dataDir)];
  const { pattern, absent = '' } = nodeKeys.dataDir;
  const dataDir = resolve(root, lastOf([files, ...above], pattern) || absent);
  return [files, overridesIn(dataDir, options), ...above];
}

const nothing: Gathered = { assignments: [], problems: [] };

function fromDataDir(dataDir: string | undefined): Gathered {
  if (dataDir === undefined) return nothing;
  const [key, source] = ['node.data_dir', 'command line'] as const;
  const assignment = { key, value: resolve(dataDir), where: '--data-dir', source };
  return { assignments: [assignment], problems: [] };
}

/** Without any file there is none of these either. */
function overridesIn(dataDir: string, { configFile, overrides }: LoadOptions): Gathered {
  if (overrides !== undefined) return fromMap(overrides);
  return configFile === undefined ? nothing : fromOverrides(dataDir);
}

function checked(sources: readonly Gathered[], root: string, keys: KeyTable): ReadValues {
  const assignments = sources.flatMap((source) => source.assignments);
  const problems = sources.flatMap((source) => source.problems);
  const set = new Map<string, SetValue>();
  for (const assignment of assignments) {
    const checked = check(assignment, root, keys);
    if ('value' in checked) set.set(assignment.key, checked);
    else problems.push(checked);
  }
  const attempted = new Set([...assignments, ...problems].map(({ key }) => key));
  return { values: new Values(set), attempted, problems };
}

function check(assignment: Assignment, root: string, keys: KeyTable): SetValue | ConfigProblem {
  const { key: written, value: text, where, source } = assignment;
  const found = keys.find(written);
  if (!found) return { where, key: written, text: unknownKey(assignment, keys) };
  const { key, names } = found;
  const value = key.type.parse(text);
  if (value === undefined || (key.type.isFile && !canRead(resolve(root, text)))) {
    return { where, key: written, text: badValue(written, text, key) };
  }
  return { key, names, text, value, where, source };
}

/** Of a line that nobody has written himself. */
const remedy =
  '; it was set while the broker ran, and belongs to a plugin that is not here or to another version: ' +
  'bring that back, or remove the line';

function unknownKey({ key: written, where, source }: Assignment, keys: KeyTable): string {
  const foreign = whyForeign(written);
  if (foreign !== undefined)
    return `Cannot use key "${written}": ${foreign}; the line can be removed`;
  const meant = nearestKey(written, keys.all);
  const isKept = source === 'overrides' && where !== overridesWhere;
  return `Cannot use key "${written}": unknown key${didYouMean(meant)}${isKept ? remedy : ''}`;
}

function badValue(written: string, text: string, key: Key<unknown>): string {
  const { choices = [] } = key.type;
  const lower = text.toLowerCase();
  const longer = text === '' ? undefined : choices.find((word) => word.startsWith(lower));
  const meant = longer ?? nearest(lower, choices);
  const found = isSecretKey(written) ? '' : ` = "${text}"`;
  return `Cannot use ${written}${found}: expected ${key.type.expects}${didYouMean(meant)}`;
}

function didYouMean(meant: string | undefined): string {
  return meant === undefined ? '' : `, did you mean "${meant}"?`;
}

function canRead(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch {
    // Whatever the reason, the broker could not read it either.
    return false;
  }
}

function effectiveValues(settings: Settings, values: Values, keys: KeyTable): EffectiveValue[] {
  const zones = [...zoneNames(values, settings.listeners)].map((name) => [name]);
  return keys.all.flatMap((key) => {
    const instances = key.pattern.startsWith('zone.') ? zones : instancesOf(key, values);
    return instances.flatMap((names) => values.effective(key, names) ?? []);
  });
}

function instancesOf(key: Key<unknown>, values: Values): (readonly string[])[] {
  if (!hasNames(key.pattern)) return [[]];
  const isListenerKey = key.pattern.startsWith('listener.') && !key.pattern.includes('<n>');
  if (!isListenerKey) return values.ofPattern(key).map(({ names }) => names);
  const kinds = /\((.*?)\)/.exec(key.pattern)?.[1]?.split('|') ?? [];
  return values.namesUnder('listener', 2).filter(([kind = '']) => kinds.includes(kind));
}
