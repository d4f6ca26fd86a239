// The configuration over the API and the command line: what holds, and setting keys. Secrets are never
// shown, and a value that is sent back hidden changes nothing.

import { type TObject, type TString, Type } from 'typebox';
import type { KeyTable } from '#config/key-table';
import {
  type Changes,
  type ConfigStore,
  type ConfigValue,
  configApps,
  type Effective,
  shownValue,
} from '../config-store.ts';
import { OperatingError } from '../failures.ts';
import { type AnyOperation, type Caller, define } from '../operation.ts';
import { noParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';
import { checkNode, nodeName, nodeParams } from '../this-node.ts';

const configItem = Type.Object({
  key: Type.String(),
  value: Type.String({ description: 'What holds now; "" when nothing is set' }),
  datatpye: Type.String({
    description:
      'The kind of value: enum, flag, integer … (written so for clients of the original)',
  }),
  app: Type.String({ description: 'broker, or the plugin that the key belongs to' }),
  origin: Type.String({ description: 'Where the value comes from' }),
  pending: Type.Optional(
    Type.String({ description: 'What holds after a restart, where that is something else' }),
  ),
});

interface ConfigItem {
  readonly key: string;
  readonly value: string;
  readonly datatpye: string;
  readonly app: string;
  readonly origin: string;
  readonly pending?: string;
}

/** Whose keys are those of no plugin. */
const ownApp = 'broker';

const key = Type.String({ minLength: 1, maxLength: 255, description: 'As in the files' });
const value = Type.Union([Type.String({ maxLength: 4096 }), Type.Number(), Type.Boolean()], {
  description: 'As in the files',
});
const app = Type.String({
  minLength: 1,
  description: 'broker, or the plugin that the key belongs to',
});
export const changed: TObject<{ effective: TString }> = Type.Object({
  effective: Type.String({ description: 'now, or after restart' }),
});
const setParams = Type.Object({ app, key, value });
const unsetParams = Type.Object({ app, key });

interface Changed {
  readonly effective: Effective;
}

export function configOperations(parts: AdminParts, configs: ConfigStore): AnyOperation[] {
  return [...reading(parts, configs), ...writing(parts, configs)];
}

function reading({ settings, keys }: AdminParts, configs: ConfigStore): AnyOperation[] {
  return [
    define({
      name: 'get_all_configs',
      descr: 'Get all configs',
      tag: 'Configuration',
      http: { method: 'GET', path: '/configs', indexPath: '/configs/' },
      params: noParams,
      result: Type.Array(Type.Object({ node: Type.String(), config: Type.Array(configItem) })),
      run: () => [{ node: settings.node.name, config: configs.values().map(itemOf) }],
    }),
    define({
      name: 'get_all_configs',
      descr: 'Get all configs of a node',
      tag: 'Configuration',
      http: { method: 'GET', path: '/nodes/:node/configs', indexPath: '/nodes/:node/configs/' },
      params: nodeParams,
      result: Type.Array(configItem),
      run({ node }) {
        checkNode(settings, node);
        return configs.values().map(itemOf);
      },
    }),
    define({
      name: 'configs_list',
      descr: 'List the keys of the configuration with what holds',
      tag: 'Configuration',
      cli: { words: 'configs list', args: ['app?'], print: linesOf },
      params: Type.Object({ app: Type.Optional(app) }),
      run(params) {
        if (params.app !== undefined) checkApp(keys, params.app);
        const items = configs.values().map(itemOf);
        return items.filter((item) => params.app === undefined || item.app === params.app);
      },
    }),
  ];
}

function writing(parts: AdminParts, configs: ConfigStore): AnyOperation[] {
  const set = (
    params: { app: string; key: string; value: string | number | boolean },
    caller: Caller,
  ): Promise<Changed> =>
    change(parts, configs, params.app, new Map([[params.key, String(params.value)]]), caller);
  const unset = (params: { app: string; key: string }, caller: Caller): Promise<Changed> =>
    change(parts, configs, params.app, new Map([[params.key, undefined]]), caller);
  return [
    define({
      name: 'update_config',
      descr: 'Update config of an application in the cluster',
      tag: 'Configuration',
      http: { method: 'PUT', path: '/configs/:app' },
      cli: {
        words: 'configs set',
        args: ['app', 'key', 'value'],
        descr: 'Set a key, over a restart too',
        print: (done: Changed, params) => `${params.key} is set, effective ${done.effective}`,
      },
      params: setParams,
      result: changed,
      run: set,
    }),
    define({
      name: 'update_node_config',
      descr: 'Update config of an application on a node',
      tag: 'Configuration',
      http: { method: 'PUT', path: '/nodes/:node/configs/:app' },
      params: Type.Object({ node: nodeName, app, key, value }),
      result: changed,
      run(params, caller) {
        checkNode(parts.settings, params.node);
        return set(params, caller);
      },
    }),
    define({
      name: 'delete_config',
      descr: 'Take away what was set for a key, so that the files hold again',
      tag: 'Configuration',
      http: { method: 'DELETE', path: '/configs/:app' },
      cli: {
        words: 'configs unset',
        args: ['app', 'key'],
        descr: 'Take away what was set for a key',
        print: (done: Changed, params) => `${params.key} is unset, effective ${done.effective}`,
      },
      params: unsetParams,
      result: changed,
      run: unset,
    }),
  ];
}

/** Who changed what stands in the log; what to is in the file. */
export async function change(
  { log, keys, plugins }: Pick<AdminParts, 'log' | 'keys' | 'plugins'>,
  configs: ConfigStore,
  owner: string,
  changes: Changes,
  { name: by, address }: Caller,
): Promise<Changed> {
  checkApp(keys, owner);
  const effective = await configs.change(owner, changes, async () => {
    if (owner === ownApp || plugins.isBuiltIn(owner)) return;
    // One that does not run will start with it.
    if (plugins.isActive(owner)) await plugins.reload(owner);
    else configs.reloaded(owner);
  });
  log.info('config.changed', { app: owner, keys: [...changes.keys()], by, address, effective });
  return { effective };
}

function checkApp(keys: KeyTable, owner: string): void {
  const apps = configApps(keys);
  if (apps.includes(owner)) return;
  const known = apps.join(', ');
  throw new OperatingError('notFound', `Cannot find application "${owner}": there are ${known}`);
}

function itemOf({ key: name, table, app: owner, running, next }: ConfigValue): ConfigItem {
  const item = {
    key: name,
    value: shownValue(name, running?.text ?? ''),
    datatpye: table.type.name ?? 'string',
    app: owner,
    origin: running?.origin ?? 'nothing is set',
  };
  if (running?.text === next?.text) return item;
  return { ...item, pending: shownValue(name, next?.text ?? '') };
}

function linesOf(items: readonly ConfigItem[]): string {
  return items
    .map(({ key: name, value: text, origin, pending }) => {
      const later = pending === undefined ? '' : `, ${pending || 'nothing'} after restart`;
      return `${name} = ${text}  # ${origin}${later}`;
    })
    .join('\n');
}
