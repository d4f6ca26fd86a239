// Plugins as operations see them: which there are, switching them on and off, and what they have counted.

import type { Settings } from '#config/settings';
import type { PluginType } from '#plugin/contract';

export interface PluginRow {
  readonly name: string;
  /** `v0.1.0` */
  readonly version: string;
  readonly description: string;
  readonly active: boolean;
  readonly type: PluginType;
}

/** A counter of a plugin, as whoever reads metrics wants it. */
export interface PluginMetric {
  readonly plugin: string;
  readonly name: string;
  readonly help: string;
  readonly value: number;
}

/** What a plugin has so many of. */
export interface PluginGauge extends Omit<PluginMetric, 'value'> {
  readonly count: number;
  readonly max: number;
}

/** What the configuration says, for plugins that start while the node runs. */
export interface PluginConfigs {
  /** What a start would run with. Throws an OperatingError when it would not start. */
  next(): Settings;
  /** Keys of a plugin that would have another value after a start. */
  changedKeys(plugin: string): readonly string[];
  /** A plugin runs with what a start would give it. */
  reloaded(plugin: string): void;
}

export interface PluginsFace {
  /** By name. */
  rows(): PluginRow[];
  /** Throws when there is none of this name. */
  check(plugin: string): void;
  isActive(plugin: string): boolean;
  /** Part of the broker itself. */
  isBuiltIn(plugin: string): boolean;
  /** Runs with what its folder and its file say now. */
  load(plugin: string): Promise<void>;
  unload(plugin: string): Promise<void>;
  /** The same for one that runs already; what cannot be read or started leaves it as it runs. */
  reload(plugin: string): Promise<void>;
  /** From now on: where to read what files say. Until then plugins run with what the node started with. */
  useConfigs(configs: PluginConfigs): void;
  /** The plugin that does not run and has commands that begin with this word. */
  ownerOf(word: string): Promise<string | undefined>;
  /** Of those that run. */
  metrics(): readonly PluginMetric[];
  gauges(): readonly PluginGauge[];
  /** How often each that runs has thrown. */
  failures(): Readonly<Record<string, number>>;
}
