// A rule that runs in this worker: its statement as a function, its actions made. Law: what is under way when
// it has ended is counted as long as its columns are those of the rule, which was only changed or disabled
// then, and not any more when they may belong to somebody else.

import { ActionChain, type ChainedAction } from './action-chain.ts';
import type { ActionEnv, ActionEvent } from './actions/action.ts';
import { actionNamed } from './actions/action-table.ts';
import { SightLimit } from './actions/sight-limit.ts';
import type { Value } from './eval/value.ts';
import type { EventName } from './events.ts';
import type { CounterClaim, CounterRows } from './rule-counters.ts';
import type { ActionOrder, RuleOrder } from './rule-order.ts';
import { type PreparedStatement, prepareStatement } from './prepare-statement.ts';

export interface LiveRuleParts {
  readonly rows: CounterRows;
  readonly env: Omit<ActionEnv, 'ruleId' | 'actionId' | 'sights'>;
  readonly count: (metric: RuleMetric) => void;
  readonly after: (ms: number, call: () => void) => unknown;
}

export type RuleMetric = 'rules.matched' | 'actions.success' | 'actions.failure';

export class LiveRule {
  readonly order: RuleOrder;
  readonly #parts: LiveRuleParts;
  readonly #prepared: PreparedStatement;
  readonly #sights: SightLimit;
  readonly #chain: ActionChain;
  #isOver = false;

  constructor(order: RuleOrder, parts: LiveRuleParts) {
    this.order = order;
    this.#parts = parts;
    this.#prepared = prepareStatement(order.rawsql, order.for);
    const { id, onActionFailed } = order;
    const { log, nowMs, onSight } = parts.env;
    this.#sights = new SightLimit({ ruleId: id, log, after: parts.after, onSight });
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
    const env = {
      ...{ ...this.#parts.env, ruleId: this.order.id, actionId: id },
      sights: this.#sights,
    };
    const [success, failure] = [successColumn, failedColumn].map((column) =>
      this.#parts.rows.claim(column),
    ) as [CounterClaim, CounterClaim];
    return {
      id,
      run: definition.create(params, env),
      fallbacks: fallbacks.map((one) => this.#made(one)),
      succeeded: () => this.#counted(success, 'actions.success'),
      failed: () => this.#counted(failure, 'actions.failure'),
    };
  }

  #counted({ column, isOver }: CounterClaim, metric: RuleMetric): void {
    if (isOver) return;
    this.#parts.rows.add(column);
    this.#parts.count(metric);
  }
}

type LiveRecord = { readonly happening: Parameters<PreparedStatement['isFrom']>[2] };
