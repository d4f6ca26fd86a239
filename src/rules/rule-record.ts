// A rule as it is kept, and how one comes from what somebody sends: everything checked, defaults filled in.
// Law: a record that was written can be read by every later version; one that cannot be read is told and
// left alone.

import { randomHex } from '#base/ids';
import { actionNamed } from './actions/action-table.ts';
import { checkParams, type Params } from './actions/param-spec.ts';
import { type PreparedStatement, prepareStatement } from './prepare-statement.ts';
import { RuleFault } from './rule-fault.ts';
import type { ActionSpec, OnActionFailed, RuleSpec } from './rule-service.ts';

export interface RuleRecord {
  readonly id: string;
  /** Its place among all: they are listed in the order in which they were made. */
  readonly order: number;
  readonly name?: string | undefined;
  /** Only where FROM does not say it. */
  readonly for?: readonly string[] | undefined;
  readonly rawsql: string;
  readonly actions: readonly ActionRecord[];
  readonly enabled: boolean;
  readonly description: string;
  readonly onActionFailed: OnActionFailed;
}

export interface ActionRecord {
  readonly id: string;
  /** As it was given: both forms of a name are good. */
  readonly name: string;
  readonly params: Params;
  readonly fallbacks: readonly ActionRecord[];
}

const actionsMax = 32;
const textMax = 4096;
/** Of everything in a rule but its statement, as JSON. */
const recordCharactersMax = 256 * 1024;
/** Not what calls of management are named, nor steps of a path: such a rule could not be asked for. */
const idPattern = /^(?!(?:export|import|inspect|preview|\.\.?)$)[A-Za-z0-9_:.@~-]{1,128}$/;

export function recordOf(
  spec: RuleSpec,
  { id, order }: Pick<RuleRecord, 'id' | 'order'>,
  ids: ActionIds = noIds,
): { readonly record: RuleRecord; readonly prepared: PreparedStatement } {
  if (typeof id !== 'string' || !idPattern.test(id)) {
    throw bad('id', id, 'letters, digits and _ : . @ ~ -, at most 128, and no name of a call');
  }
  const { name, rawsql, description = '', enabled = true, onActionFailed = 'continue' } = spec;
  if (typeof rawsql !== 'string') throw bad('rawsql', rawsql, 'a text');
  if (name !== undefined && !isText(name)) throw bad('name', name, `a text up to ${textMax}`);
  if (!isText(description)) throw bad('description', description, `a text up to ${textMax}`);
  if (typeof enabled !== 'boolean') throw bad('enabled', enabled, 'true or false');
  if (onActionFailed !== 'continue' && onActionFailed !== 'stop') {
    throw bad('on_action_failed', onActionFailed, 'continue or stop');
  }
  const prepared = prepareStatement(rawsql, spec.for);
  const actions = actionsOf(spec.actions, ids, 'actions');
  refuseTwice(actions.flatMap(withFallbacks).map((action) => action.id));
  const kept = forOf(spec, prepared);
  const record: RuleRecord = {
    ...{ id, order, rawsql, actions, enabled, description, onActionFailed },
    ...(name !== undefined && { name }),
    ...(kept !== undefined && { for: kept }),
  };
  const { length } = JSON.stringify({ ...record, rawsql: '' });
  if (length <= recordCharactersMax) return { record, prepared };
  throw new RuleFault(
    'bad_rule',
    `Cannot keep the rule: it has more than ${recordCharactersMax} characters`,
  );
}

/** Ids of actions that are kept where they are given: those of the rule before, or all; others are made up. */
export type ActionIds = ReadonlySet<string> | 'all';
const noIds: ActionIds = new Set();

export function actionIdsOf({ actions }: RuleRecord): ActionIds {
  return new Set(actions.flatMap(withFallbacks).map(({ id }) => id));
}

/** They would count in one place. */
function refuseTwice(ids: readonly string[]): void {
  const twice = ids.find((id, i) => ids.indexOf(id) !== i);
  if (twice === undefined) return;
  throw new RuleFault('bad_rule', `Cannot use "actions": two of them have the id "${twice}"`);
}

/** What FROM says by itself need not be kept, and may be changed with the statement. */
function forOf(spec: RuleSpec, prepared: PreparedStatement): readonly string[] | undefined {
  if (spec.for === undefined) return undefined;
  const byItself = prepareStatement(spec.rawsql).events;
  const isSame = byItself.length === prepared.events.length;
  if (isSame && byItself.every((event) => prepared.events.includes(event))) return undefined;
  return prepared.events;
}

function actionsOf(specs: unknown, ids: ActionIds, whose: string): readonly ActionRecord[] {
  if (!Array.isArray(specs)) throw bad(whose, specs, 'a list of actions');
  if (specs.length > actionsMax) {
    const text = `Cannot use "${whose}": it has more than ${actionsMax} actions`;
    throw new RuleFault('bad_rule', text);
  }
  return specs.map((spec: unknown) => actionOf(spec, ids, whose));
}

function actionOf(spec: unknown, ids: ActionIds, whose: string): ActionRecord {
  if (typeof spec !== 'object' || spec === null) throw bad(whose, spec, 'objects with a name');
  const { id, name, params = {}, fallbacks = [] } = spec as Partial<ActionSpec>;
  if (typeof name !== 'string') throw bad(`${whose}.name`, name, 'the name of an action');
  const definition = actionNamed(name);
  if (definition === undefined) throw new RuleFault('unknown_action', `Action ${name} Not Found`);
  if (whose !== 'actions' && Array.isArray(fallbacks) && fallbacks.length > 0) {
    throw new RuleFault('bad_rule', 'Cannot use "fallbacks": a fallback has none of its own');
  }
  return {
    id: isKept(id, ids) ? id : newActionId(definition.name),
    name,
    params: checkParams(definition.params, params, `action "${name}"`),
    fallbacks: actionsOf(fallbacks, ids, 'fallbacks'),
  };
}

function isKept(id: string | undefined, ids: ActionIds): id is string {
  if (typeof id !== 'string' || !idPattern.test(id)) return false;
  return ids === 'all' || ids.has(id);
}

export function withFallbacks(action: ActionRecord): readonly ActionRecord[] {
  return [action, ...action.fallbacks];
}

export function newRuleId(): string {
  return `rule:${randomHex(4)}`;
}

/** The name, and a number that no other has. */
function newActionId(name: string): string {
  return `${name}_${BigInt(`0x${randomHex(8)}`)}`;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= textMax;
}

function bad(field: string, value: unknown, wanted: string): RuleFault {
  const found = (JSON.stringify(value) ?? 'nothing').slice(0, 80);
  return new RuleFault('bad_rule', `Cannot use "${field}": found ${found}, expected ${wanted}`);
}
