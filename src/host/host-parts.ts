// What plugins are run with: the node and what belongs to it.

import type { Clock } from '#base/clock';
import type { RootLogger } from '#base/log';
import type { KeyTable } from '#config/key-table';
import type { Settings } from '#config/settings';
import type { Alarms } from '#core/alarms';
import type { IntegrationFace } from '#node/integration-calls';
import type { NodeRecords, WorkersFace } from '#node/node-face';
import type { Catalogue } from '#admin/catalogue';
import type { FoundPlugin } from '#plugin/discover';
import type { BuiltIn } from './built-in.ts';
import type { Figures } from './control-context.ts';

export interface HostParts {
  /** Every key there can be; see PluginShelf. */
  readonly keys: KeyTable;
  readonly found: readonly FoundPlugin[];
  readonly builtIn: readonly BuiltIn[];
  readonly catalogue: Catalogue;
  readonly workers: WorkersFace;
  readonly records: NodeRecords;
  readonly integration: IntegrationFace;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: RootLogger;
  /** `0.1.0` */
  readonly version: string;
  readonly alarms: Pick<Alarms, 'raise' | 'clear'>;
  readonly figures: Figures;
}
