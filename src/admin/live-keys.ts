// Keys of the configuration that take effect while the node runs, in all of its threads.

import type { LogLevelName } from '#base/log';
import { setOverallLevel } from './commands/log.ts';
import type { LiveKey } from './config-store.ts';
import type { AdminParts } from './parts.ts';

export function liveKeys(parts: Pick<AdminParts, 'log' | 'node'>): ReadonlyMap<string, LiveKey> {
  const logLevel: LiveKey = {
    current: () => parts.log.level,
    // The table of keys has checked it.
    apply: (text) => setOverallLevel(parts, text as LogLevelName),
  };
  return new Map([['log.level', logLevel]]);
}
