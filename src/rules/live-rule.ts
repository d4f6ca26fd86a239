// A rule that runs in this worker: its statement as a function, its actions made. Law: once it has ended it
// counts nothing any more, whatever of it is still under way: its columns belong to somebody else then.

import { ActionChain, type ChainedAction } from './action-chain.ts';
import type { ActionEnv, ActionEvent } from './actions/action.ts';
import { actionNamed } from './actions/action-table.ts';
import type { Value } from './eval/value.ts';
import type { EventName } from './events.ts';
import type { CounterRows } from './rule-counters.ts';
import type { ActionOrder, RuleOrder } from './rule-order.ts';
import { type PreparedStatement, prepareStatement } from './prepare-statement.ts';

export interface LiveRuleParts {
  readonly rows: CounterRows;
  readonly env: Omit<ActionEnv, 'ruleId' | 'actionId'>;
  readonly count: (metric: RuleMetric) => void;
}

export type RuleMetric = 'rules.matched' | 'actions.success' | 'actions.failure';

export class LiveRule {
  readonly order: RuleOrder;
  readonly #parts: LiveRuleParts;
  readonly #prepared: PreparedStatement;
  readonly #chain: ActionChain;
  #isOver = false;

  constructor(order: RuleOrder, parts: LiveRuleParts) {
    this.order = order;
    this.#parts = parts;
    this.#prepared = prepareStatement(order.rawsql, order.for);
    const { id, onActionFailed } = order;
    const { log, nowMs } = parts.env;
    const actions = order.actions.map((action) => this.#made(action));
    this.#chain = new ActionChain({ ruleId: id, actions, onActionFailed, log, nowMs });
  }

  /** What it is about: of each event the filters of topics, undefined: all. */
  get interests(): PreparedStatement['interests'] {
    return this.#prepared.interests;
  }

  onEvent(event: EventName, topic: string | undefined, record: ActionEvent & LiveRecord): void {
    if (this.#isOver || !this.#prepared.isFrom(event, topic, record.happening)) return;
    const results = this.#prepared.compiled.run(record);
    if (results === undefined) return;
    this.#parts.rows.add(this.order.matchedColumn);
    this.#parts.count('rules.matched');
    for (const selected of results) this.#chain.run(selected as Value, record);
  }

  end(): void {
    this.#isOver = true;
  }

  #made(action: ActionOrder): ChainedAction {
    const { id, name, params, fallbacks, successColumn, failedColumn } = action;
    const definition = actionNamed(name);
    if (definition === undefined) throw new TypeError(`Cannot make action "${name}": unknown`);
    const env = { ...this.#parts.env, ruleId: this.order.id, actionId: id };
    return {
      id,
      run: definition.create(params, env),
      fallbacks: fallbacks.map((one) => this.#made(one)),
      succeeded: () => this.#counted(successColumn, 'actions.success'),
      failed: () => this.#counted(failedColumn, 'actions.failure'),
    };
  }

  #counted(column: number, metric: RuleMetric): void {
    if (this.#isOver) return;
    this.#parts.rows.add(column);
    this.#parts.count(metric);
  }
}

type LiveRecord = { readonly happening: Parameters<PreparedStatement['isFrom']>[2] };
