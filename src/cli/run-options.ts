// What the command line hands to main.ts, and what it asks of it. The process belongs to the command
// line (signals, pid file, exit code); the broker belongs to main.ts.

import type { KeyTable } from '#config/key-table';
import type { Settings } from '#config/settings';
import type { EffectiveValue } from '#config/values';
import type { FoundPlugin } from '#plugin/discover';
import type { PluginsConfig } from '#plugin/load-config';

export interface RunOptions {
  readonly settings: Settings;
  /** Every value that holds, and where it comes from. */
  readonly effective: readonly EffectiveValue[];
  readonly configFile: string;
  /** The plugins that were found, and every key there can be. */
  readonly found: readonly FoundPlugin[];
  readonly keys: KeyTable;
  readonly version: string;
  /** Aborted by SIGTERM or SIGINT: shut down, then let `run` resolve. */
  readonly stopping: AbortSignal;
  /** Call once, when every listener listens: `mqtt:tcp 0.0.0.0:1883`. */
  readonly onReady: (listeners: readonly string[]) => void;
}

/** What is wrong with the files that a configuration names, a text each. */
export type FilesCheck = (config: PluginsConfig) => Promise<readonly string[]>;

/** Resolves when the broker has stopped as asked; rejects when it cannot start or go on. */
export type Run = (options: RunOptions) => Promise<void>;
