// Rules as they go from the control thread to workers: plain data, with the columns where they count.

import type { Params } from './actions/param-spec.ts';
import type { EventName } from './events.ts';
import type { OnActionFailed } from './rule-service.ts';

/** Everything, each time that something changes; workers find out what that was. */
export interface RulesOrder {
  /** Those that are enabled. */
  readonly rules: readonly RuleOrder[];
  readonly memory: readonly SharedArrayBuffer[];
  /** Columns of rules that are not enabled: what of them is still under way is counted. */
  readonly idleColumns: readonly number[];
  /** Somebody watches what `inspect` sees. */
  readonly isInspected: boolean;
  /** Whose events are kept for a while, for whoever tries a statement out. */
  readonly recordings: readonly RecordingOrder[];
}

export interface RecordingOrder {
  /** Of topics; of events that have none it says nothing. */
  readonly filter: string;
  readonly events: readonly EventName[];
}

export interface RuleOrder {
  readonly id: string;
  /** Another one each time that the rule changes. */
  readonly revision: number;
  readonly rawsql: string;
  readonly for: readonly string[] | undefined;
  readonly onActionFailed: OnActionFailed;
  readonly actions: readonly ActionOrder[];
  readonly matchedColumn: number;
}

export interface ActionOrder {
  readonly id: string;
  readonly name: string;
  readonly params: Params;
  readonly fallbacks: readonly ActionOrder[];
  readonly successColumn: number;
  readonly failedColumn: number;
}
