// The keys of one plugin, as an editor shows them and sends them back: all at once. What comes back as
// it was, hidden, or empty where nothing is set, is not set by that.

import { Type } from 'typebox';
import { isSecretKey, type Key } from '#config/key';
import type { KeyTable } from '#config/key-table';
import {
  type Changes,
  type ConfigStore,
  configApps,
  fixedKeysOf,
  hiddenValue,
  shownValue,
} from '../config-store.ts';
import { type AnyOperation, define } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { checkNode, nodeName } from '../this-node.ts';
import { change, changed } from './configs.ts';

const pluginParams = {
  node: nodeName,
  plugin: Type.String({ minLength: 1, description: 'The name of the plugin' }),
};

interface PluginConfig {
  readonly key: string;
  readonly value: string;
  readonly desc: string;
  readonly required: boolean;
}

export function pluginConfigOperations(parts: AdminParts, configs: ConfigStore): AnyOperation[] {
  const check = (node: string, plugin: string): void => {
    checkNode(parts.settings, node);
    parts.plugins.check(plugin);
  };
  return [
    define({
      name: 'get_plugin_configs',
      descr: 'Get configurations of a plugin on the node',
      tag: 'Configuration',
      http: { method: 'GET', path: '/nodes/:node/plugin_configs/:plugin' },
      params: Type.Object(pluginParams),
      result: Type.Array(
        Type.Object({
          key: Type.String(),
          value: Type.String({ description: 'What is set; "" when nothing is' }),
          desc: Type.String(),
          required: Type.Boolean({ description: 'Whether somebody has set it' }),
        }),
      ),
      run({ node, plugin }) {
        check(node, plugin);
        return rowsOf(parts.keys, configs, plugin);
      },
    }),
    define({
      name: 'update_plugin_configs',
      descr: 'Update configurations of a plugin on the node',
      tag: 'Configuration',
      http: {
        method: 'PUT',
        path: '/nodes/:node/plugin_configs/:plugin',
        bodyAs: 'configs',
      },
      params: Type.Object({
        ...pluginParams,
        configs: Type.Record(
          Type.String(),
          Type.Union([Type.String({ maxLength: 4096 }), Type.Number(), Type.Boolean()]),
          { description: 'Values by key; "" takes away what was set here' },
        ),
      }),
      result: changed,
      run(params, caller) {
        check(params.node, params.plugin);
        const changes = changesIn(parts.keys, configs, params.plugin, params.configs);
        return change(parts, configs, params.plugin, changes, caller);
      },
    }),
  ];
}

function rowsOf(keys: KeyTable, configs: ConfigStore, plugin: string): PluginConfig[] {
  if (!configApps(keys).includes(plugin)) return [];
  const rows = configs
    .values()
    .filter(({ app }) => app === plugin)
    .map(({ key, table, next }) => {
      const isSet = next !== undefined && next.source !== 'default' && next.source !== 'inherited';
      const value = isSet ? shownValue(key, next.text) : '';
      return { key, value, desc: descOf(table), required: isSet };
    });
  const named = new Set(rows.map(({ key }) => key));
  const unset = fixedKeysOf(keys, plugin)
    .filter(({ pattern }) => !named.has(pattern))
    .map((table) => ({ key: table.pattern, value: '', desc: descOf(table), required: false }));
  const all = [...rows, ...unset];
  return [...all.filter((row) => row.required), ...all.filter((row) => !row.required)];
}

function descOf(table: Key<unknown>): string {
  return table.absent === undefined ? table.text : `${table.text} Default: ${table.absent}.`;
}

function changesIn(
  keys: KeyTable,
  configs: ConfigStore,
  plugin: string,
  sent: Readonly<Record<string, string | number | boolean>>,
): Changes {
  const known = new Map(rowsOf(keys, configs, plugin).map((row) => [row.key, row]));
  const set = new Map(configs.values().map(({ key, next }) => [key, next]));
  const changes = new Map<string, string | undefined>();
  for (const [key, given] of Object.entries(sent)) {
    const text = String(given);
    if (text === '' && known.has(key)) {
      if (set.get(key)?.source === 'overrides') changes.set(key, undefined);
    } else if (known.get(key)?.value !== text && !(isSecretKey(key) && text === hiddenValue)) {
      changes.set(key, text);
    }
  }
  return changes;
}
