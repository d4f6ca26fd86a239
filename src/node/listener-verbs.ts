// Closing single listeners, and how much is said in the log: what holds for a worker until it is told
// otherwise. Both are upheld, so that a worker that comes later obeys too.

import type { LogLevelName } from '#base/log';

export type ListenerVerbs = {
  /** These listeners, by their place in the settings, let nobody in; all others do. */
  keepClosed: (places: readonly number[]) => Promise<void>;
  setLogLevel: (level: LogLevelName) => void;
};

/** Of a place, which has both; see verbs.ts. */
export function listenerVerbs({ keepClosed, setLogLevel }: ListenerVerbs): ListenerVerbs {
  return { keepClosed, setLogLevel };
}
