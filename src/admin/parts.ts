// What operations are built with: the node and what belongs to it. Each takes from this what it needs.

import type { Clock } from '#base/clock';
import type { RootLogger } from '#base/log';
import type { Settings } from '#config/settings';
import type { EffectiveValue } from '#config/values';
import type { ListenerReport } from '#net/listener';
import type { NodeFace } from '#node/node-face';
import type { Catalogue } from './catalogue.ts';
import type { Services } from './services.ts';

export interface AdminParts {
  readonly node: NodeFace;
  readonly settings: Settings;
  readonly effective: readonly EffectiveValue[];
  readonly configFile: string;
  readonly clock: Clock;
  readonly log: RootLogger;
  /** `0.1.0` */
  readonly version: string;
  /** By the wall clock, which may be set meanwhile. */
  readonly startedAtMs: number;
  readonly upMs: () => number;
  readonly catalogue: Catalogue;
  readonly services: Services;
  /** Of the HTTP ports that are open now; their protocols are `http:management` and the like. */
  readonly httpListeners: () => readonly ListenerReport[];
  /** The dashboard's port as a plugin; undefined: none is configured. */
  readonly dashboard: DashboardSwitch | undefined;
}

/** A port that can be closed and opened while the node runs. */
export interface DashboardSwitch {
  readonly isActive: boolean;
  start(): Promise<void>;
  stop(): Promise<void>;
}
