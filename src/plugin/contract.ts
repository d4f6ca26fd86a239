// What a plugin is: a name, words, keys of its own, and up to three parts, each in a file that only the
// thread loads that runs it. `definePlugin` of #sdk gives them their types. Law: nothing runs and nothing
// is registered by loading plugin.ts.

import type { Key } from '#config/key';
import type { PluginValues } from '#config/plugin-values';
import type { WorkerPart } from './worker-context.ts';

export type PluginType = 'auth' | 'protocol' | 'backend' | 'bridge' | 'feature';

export interface PluginConfig<S> {
  /** Tables of keys by field, and keys by themselves. */
  readonly keys: readonly (Readonly<Record<string, Key<unknown>>> | Key<unknown>)[];
  /** What the values come to: plain data, which goes from thread to thread. */
  readonly read: (values: PluginValues) => S;
}

export interface PluginDefinition<S = unknown> {
  /** That of its folder: small letters, digits and `_`. */
  readonly name: string;
  readonly description: string;
  /** `1.2.0`; without it that of the broker. */
  readonly version?: string;
  /**
   * feature without a word. A broker does not start without an auth plugin that it is to load: the
   * door that it guards would be open.
   */
  readonly type?: PluginType;
  readonly config?: PluginConfig<S>;
  /**
   * Looks at the files that the settings name, for `broker config check`: what is wrong with them, a text each;
   * what it throws is one too. Nothing runs then.
   */
  readonly check?: () => Promise<{ readonly default: CheckPart<S> }>;
  /** Its counters with the words that explain them: `auth.http.success`. */
  readonly metrics?: Readonly<Record<string, string>>;
  /** What it has so many of, with the words that explain it: `rules`. Its control part sets them. */
  readonly gauges?: Readonly<Record<string, string>>;
  /** Runs in every worker: hooks. */
  readonly worker?: () => Promise<{ readonly default: WorkerPart<S> }>;
  /** Runs in the control thread, and answers what `operations` work with. */
  readonly control?: () => Promise<{ readonly default: ControlPart<S> }>;
  /** REST and commands, as functions of what `control` answered. Built also on paper, for documentation. */
  readonly operations?: () => Promise<{ readonly default: OperationsPart }>;
}

export type CheckPart<S> = (settings: S) => readonly string[] | Promise<readonly string[]>;

/** The types of these are those of floors above; see sdk.ts. */
export type ControlPart<S> = (context: never, settings?: S) => unknown;
export type OperationsPart = (service: never) => readonly unknown[];

export const pluginNamePattern: RegExp = /^[a-z][a-z0-9_]{0,63}$/;
