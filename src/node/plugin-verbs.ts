// The plugins of a worker, as the control thread has them run.

import { type HeldHere, type PluginOrder, WorkerHost } from '#plugin/worker-host';
import type { Place } from './place.ts';

export type PluginVerbs = {
  /** Exactly these run from now on. Answers those that cannot, with the reason. */
  runPlugins: (orders: readonly PluginOrder[]) => Promise<readonly (readonly [string, string])[]>;
  /** For the worker part of a plugin. Resolves when it has taken it up. */
  sharePlugin: (plugin: string, value: unknown) => Promise<void>;
  /** What the control part of a plugin asks the part of it here. */
  askPlugin: (plugin: string, question: string, args: readonly unknown[]) => Promise<unknown>;
  /** What plugins, and the broker's own parts that have hooks, hold here. */
  heldByPlugins: () => Readonly<Record<string, HeldHere>>;
  /** Decisions about rights are asked for anew: of one client, or of all. */
  forgetRights: (clientId: string | undefined) => void;
};

export function pluginVerbs({ broker, index, ask }: Place): PluginVerbs {
  const host = new WorkerHost({ broker, index, ask });
  return {
    runPlugins: (orders) => host.run(orders),
    sharePlugin: (plugin, value) => host.share(plugin, value),
    askPlugin: (plugin, question, args) => host.answer(plugin, question, args),
    heldByPlugins: () => host.held(),
    forgetRights: (clientId) => broker.forgetRights(clientId),
  };
}
