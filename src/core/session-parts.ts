// What a session needs of the broker around it: one object for all sessions.

import type { TimerWheel } from '#base/timers';
import type { Hooks } from '#hooks/runner';
import type { Regroup } from './delivery.ts';
import type { Drops } from './drops.ts';
import type { HeldBytes } from './held-bytes.ts';
import type { Metrics } from './metrics.ts';
import type { Store } from './store-port.ts';

export interface SessionParts {
  readonly metrics: Metrics;
  readonly hooks: Hooks;
  readonly timers: TimerWheel;
  readonly store: Store;
  readonly drops: Drops;
  readonly held: HeldBytes;
  /** A shared subscription that has members. */
  readonly groupOf: (filter: string, name: string) => Regroup | undefined;
}
