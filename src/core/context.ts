// The parts of one worker's broker, built bottom to top by build-core.ts and handed to each connection.
// A connection takes from here what it needs; nothing here knows a connection.

import type { Clock } from '#base/clock';
import type { Logger } from '#base/log';
import type { TimerWheel } from '#base/timers';
import type { Settings } from '#config/settings';
import type { Hooks } from '#hooks/runner';
import type { Alarms } from './alarms.ts';
import type { ExpressLane } from './express-lane.ts';
import type { FilterTable } from './filter-table.ts';
import type { Metrics } from './metrics.ts';
import type { Flusher } from './flusher.ts';
import type { Overload } from './overload.ts';
import type { Peers } from './peers-port.ts';
import type { Publishing } from './publishing.ts';
import type { Retained } from './retained.ts';
import type { Rights } from './rights.ts';
import type { Router } from './router.ts';
import type { Sessions } from './sessions.ts';
import type { Stats } from './stats.ts';
import type { Subscriptions } from './subscriptions.ts';
import type { Wills } from './wills.ts';

export interface Core {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Logger;
  readonly timers: TimerWheel;
  readonly hooks: Hooks;
  readonly metrics: Metrics;
  readonly stats: Stats;
  readonly alarms: Alarms;
  readonly overload: Overload;
  readonly flusher: Flusher;
  readonly filters: FilterTable;
  readonly router: Router;
  readonly rights: Rights;
  readonly retained: Retained;
  readonly publishing: Publishing;
  readonly subscriptions: Subscriptions;
  readonly sessions: Sessions;
  readonly wills: Wills;
  readonly express: ExpressLane;
  readonly peers: Peers;
}
