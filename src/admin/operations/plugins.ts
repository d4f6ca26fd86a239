// Plugins: which there are, and switching them on and off.

import { Type } from 'typebox';
import type { OperatingError } from '../failures.ts';
import { type AnyOperation, define } from '../operation.ts';
import { noParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';
import type { PluginRow, PluginsFace } from '../plugins-face.ts';
import { checkNode, nodeParams, onNode } from '../this-node.ts';

const pluginRow = Type.Object({
  name: Type.String(),
  version: Type.String({ description: 'v<major>.<minor>.<patch>' }),
  description: Type.String(),
  active: Type.Boolean(),
  type: Type.String({ description: 'auth, protocol, backend, bridge or feature' }),
});
const plugin = Type.String({ minLength: 1, description: 'The name of the plugin' });

export function pluginOperations(parts: AdminParts): AnyOperation[] {
  const { settings, plugins } = parts;
  const actions = actionsOf(plugins);
  return [...listing(parts), ...onThisNode(settings, actions), ...everywhere(actions)];
}

interface NodePlugins {
  readonly node: string;
  readonly plugins: readonly PluginRow[];
}

function listing({ settings, plugins }: AdminParts): AnyOperation[] {
  return [
    define({
      name: 'list_all_plugins',
      descr: 'List all plugins in the cluster',
      tag: 'Plugins',
      http: { method: 'GET', path: '/plugins', indexPath: '/plugins/' },
      cli: {
        words: 'plugins list',
        args: [],
        descr: 'Show all plugins, and which of them run',
        print: (nodes: NodePlugins[]) => linesOf(nodes.flatMap((one) => one.plugins)),
      },
      params: noParams,
      result: Type.Array(Type.Object({ node: Type.String(), plugins: Type.Array(pluginRow) })),
      run: () => [{ node: settings.node.name, plugins: plugins.rows() }],
    }),
    define({
      name: 'list_node_plugins',
      descr: 'List all plugins on a node',
      tag: 'Plugins',
      http: { method: 'GET', path: '/nodes/:node/plugins', indexPath: '/nodes/:node/plugins/' },
      params: nodeParams,
      result: Type.Array(pluginRow),
      run({ node }) {
        checkNode(settings, node);
        return plugins.rows();
      },
    }),
  ];
}

const verbs = {
  load: 'Load a plugin',
  unload: 'Unload a plugin',
  reload: 'Reload a plugin',
} as const;
type Verb = keyof typeof verbs;

function onThisNode(settings: AdminParts['settings'], actions: Actions): AnyOperation[] {
  const names = Object.keys(verbs) as Verb[];
  return everywhere(actions).map((operation, i) => {
    const verb = names[i] as Verb;
    return onNode(settings, operation, { name: operation.name, descr: verbs[verb] });
  });
}

interface Words {
  readonly help: string;
  readonly done: (name: string) => string;
  readonly failed: (failure: OperatingError) => string;
}

const words: Readonly<Record<Verb, Words>> = {
  load: {
    help: 'Load plugin',
    done: (name) => `Start apps: [${name}]\nPlugin ${name} loaded successfully.`,
    failed: (failure) => `load plugin error: ${reasonOf(failure)}`,
  },
  unload: {
    help: 'Unload plugin',
    done: (name) => `Plugin ${name} unloaded successfully.`,
    failed: (failure) => {
      const reason = reasonOf(failure);
      return reason.startsWith('Plugin ') ? reason : `unload plugin error: ${reason}`;
    },
  },
  reload: {
    help: 'Reload plugin',
    done: (name) => `Plugin ${name} reloaded successfully.`,
    failed: (failure) => `Reload plugin error: ${reasonOf(failure, 'plugin_not_exist')}`,
  },
};

/** The command line knows short words for what does not exist. */
function reasonOf({ status, message }: OperatingError, unknown = 'not_found'): string {
  return status === 404 ? unknown : message;
}

/** On all nodes of the cluster: on this one. */
function everywhere(actions: Actions): AnyOperation[] {
  return (Object.keys(verbs) as Verb[]).map((verb) =>
    define({
      name: `${verb}_plugin`,
      descr: `${verbs[verb]} in the cluster`,
      tag: 'Plugins',
      http: { method: 'PUT', path: `/plugins/:plugin/${verb}` },
      cli: {
        words: `plugins ${verb}`,
        args: ['plugin'],
        descr: words[verb].help,
        print: (_done, params) => words[verb].done(params.plugin),
        printFailure: (failure) => words[verb].failed(failure),
      },
      params: Type.Object({ plugin }),
      async run(params) {
        await actions[verb](params.plugin);
      },
    }),
  );
}

function linesOf(rows: readonly PluginRow[]): string {
  return rows
    .map(
      ({ name, version, description, active }) =>
        `Plugin(${name}, version=${version}, description=${description}, active=${active})`,
    )
    .join('\n');
}

type Actions = Readonly<Record<Verb, (plugin: string) => Promise<void>>>;

function actionsOf(plugins: PluginsFace): Actions {
  return {
    load: (plugin) => plugins.load(plugin),
    unload: (plugin) => plugins.unload(plugin),
    reload: (plugin) => plugins.reload(plugin),
  };
}
