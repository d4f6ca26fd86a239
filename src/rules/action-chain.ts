// The actions of one rule, run in their order for each result. Laws: every run is counted once, as a success
// or as a failure, when its outcome is known; one that fails has its fallbacks run, and keeps the others
// from running only where the rule says so; a failure is told in the log, and a flood of them once in a while.

import { describeError } from '#base/errors';
import type { Logger } from '#base/log';
import type { ActionEvent, ActionRun } from './actions/action.ts';
import { RuleRaise } from './eval/raise.ts';
import type { Value } from './eval/value.ts';
import type { OnActionFailed } from './rule-service.ts';

export interface ChainedAction {
  readonly id: string;
  readonly run: ActionRun;
  readonly fallbacks: readonly ChainedAction[];
  readonly succeeded: () => void;
  readonly failed: () => void;
}

export interface ChainParts {
  readonly ruleId: string;
  readonly actions: readonly ChainedAction[];
  readonly onActionFailed: OnActionFailed;
  readonly log: Logger;
  readonly nowMs: () => number;
}

/** Between two lines about one action. */
const quietMs = 10_000;

type Outcome = boolean | Promise<boolean>;

export class ActionChain {
  readonly #parts: ChainParts;
  readonly #told = new Map<string, { atMs: number; unsaid: number }>();

  constructor(parts: ChainParts) {
    this.#parts = parts;
  }

  run(selected: Value, event: ActionEvent): void {
    void this.#runFrom(0, selected, event);
  }

  #runFrom(from: number, selected: Value, event: ActionEvent): void | Promise<void> {
    const { actions, onActionFailed } = this.#parts;
    for (let i = from; i < actions.length; i++) {
      const outcome = this.#runOne(actions[i] as ChainedAction, selected, event);
      if (onActionFailed === 'continue') continue;
      if (outcome === false) return;
      if (outcome !== true) {
        return outcome.then((isFine) =>
          isFine ? this.#runFrom(i + 1, selected, event) : undefined,
        );
      }
    }
  }

  #runOne(action: ChainedAction, selected: Value, event: ActionEvent): Outcome {
    try {
      const running = action.run(selected, event);
      if (running === undefined) {
        action.succeeded();
        return true;
      }
      return running.then(
        () => {
          action.succeeded();
          return true;
        },
        (error: unknown) => this.#onFailed(action, error, selected, event),
      );
    } catch (error) {
      return this.#onFailed(action, error, selected, event);
    }
  }

  #onFailed(action: ChainedAction, error: unknown, selected: Value, event: ActionEvent): false {
    action.failed();
    this.#tell(action, error);
    for (const fallback of action.fallbacks) void this.#runOne(fallback, selected, event);
    return false;
  }

  #tell({ id }: ChainedAction, error: unknown): void {
    const { log, nowMs, ruleId } = this.#parts;
    const before = this.#told.get(id);
    const now = nowMs();
    if (before !== undefined && now < before.atMs + quietMs) {
      before.unsaid++;
      return;
    }
    this.#told.set(id, { atMs: now, unsaid: 0 });
    const text = error instanceof RuleRaise ? error.message : describeError(error);
    const unsaid = before === undefined || before.unsaid === 0 ? {} : { more: before.unsaid };
    log.warn('rule.action_failed', { rule: ruleId, action: id, error: text, ...unsaid });
  }
}
