// What operations are built with: the node and what belongs to it. Each takes from this what it needs.

import type { Clock } from '#base/clock';
import type { RootLogger } from '#base/log';
import type { KeyTable } from '#config/key-table';
import type { Settings } from '#config/settings';
import type { EffectiveValue } from '#config/values';
import type { ListenerReport } from '#net/listener';
import type { NodeFace } from '#node/node-face';
import type { Catalogue } from './catalogue.ts';
import type { PluginsFace } from './plugins-face.ts';
import type { Services } from './services.ts';

export interface AdminParts {
  readonly node: NodeFace;
  readonly settings: Settings;
  readonly effective: readonly EffectiveValue[];
  readonly configFile: string;
  /** Every key there can be, those of plugins too. */
  readonly keys: KeyTable;
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
  readonly plugins: PluginsFace;
}
