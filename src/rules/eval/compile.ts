// A statement as closures: compiled once, run for every event of its kind. Laws: a raise is no match, never an
// error; WHERE comes before the fields unless it reads their aliases, which gives the same answer sooner; an
// element of FOREACH that raises is left out, the others stay; outputs are bounded.

import { systemClock } from '#base/clock';
import type { EventRecord } from '../event-record.ts';
import type {
  Expression,
  Field,
  ForeachStatement,
  SelectStatement,
  Statement,
  ValueField,
} from '../sql/ast.ts';
import { CompileError } from './compile-error.ts';
import { compileExpression } from './compile-expression.ts';
import { open } from './compile-path.ts';
import { type Clause, type Miss, Notes } from './explain.ts';
import { flatWeight, ForeachBudget } from './foreach-budget.ts';
import { measure, weightOf } from './json.ts';
import { compileAlias, compileFields, mayUnfold, nameOf, type Project } from './projection.ts';
import { RuleRaise, raise } from './raise.ts';
import { type Evaluate, type Frame, Scope } from './scope.ts';
import { isList, isMap, listMax, setKey, type Value, type WritableMap } from './value.ts';

export type { Clause, Miss } from './explain.ts';

/** What actions get. May share parts with the event: nobody may change it. */
export type Match = Readonly<Record<string, unknown>>;

export interface CompiledStatement {
  /** One for SELECT, one for each element of FOREACH, maybe none; undefined: no match. */
  run(event: EventRecord): readonly Match[] | undefined;
  explain(event: EventRecord): Explanation;
}

export interface Explanation {
  /** As `run` answers. */
  readonly matches: readonly Match[] | undefined;
  /** Why there is no match, or why elements were left out. */
  readonly misses: readonly Miss[];
}

export interface CompileOptions {
  /** Names that are columns of some event of FROM; undefined: any name may be one. */
  readonly columns: ReadonlySet<string> | undefined;
  readonly nowMs?: (() => number) | undefined;
  readonly monotonicMs?: (() => number) | undefined;
}

type Run = (frame: Frame, notes: Notes | undefined) => readonly Match[] | undefined;

const systemMonotonicMs = (): number => systemClock.monotonicMs();

/** Throws a CompileError. */
export function compileStatement(statement: Statement, options: CompileOptions): CompiledStatement {
  const scope = new Scope(options.columns);
  const run =
    statement.kind === 'select'
      ? compileSelect(statement, scope)
      : compileForeach(statement, scope, options.monotonicMs ?? systemMonotonicMs);
  const nowMs = options.nowMs ?? (() => systemClock.nowMs());
  const { slotCount } = scope;
  const frameOf = (event: EventRecord): Frame => ({ event, nowMs, slots: new Array(slotCount) });
  return {
    run: (event) => run(frameOf(event), undefined),
    explain: (event) => {
      const notes = new Notes();
      return { matches: run(frameOf(event), notes), misses: notes.misses };
    },
  };
}

function compileSelect(statement: SelectStatement, scope: Scope): Run {
  const { fields } = statement;
  const project = guarded(compileFields(fields, scope), fields);
  const where = compileCondition('WHERE', statement.where, scope.inner());
  return (frame, notes) => {
    const output: WritableMap = {};
    if (where.isEarly && !where.holds(frame, notes)) return undefined;
    if (!holds('SELECT', notes, () => project(frame, output))) return undefined;
    return where.isEarly || where.holds(frame, notes) ? [output] : undefined;
  };
}

interface Condition {
  /** It reads no alias, and can be asked before they have values. */
  readonly isEarly: boolean;
  holds(frame: Frame, notes: Notes | undefined): boolean;
}

/** `scope` is the condition's own. */
function compileCondition(
  clause: Clause,
  condition: Expression | undefined,
  scope: Scope,
  isEarly: (scope: Scope) => boolean = ({ hasUsedAlias }) => !hasUsedAlias,
): Condition {
  if (condition === undefined) return { isEarly: true, holds: () => true };
  const evaluate = compileExpression(condition, scope);
  return {
    isEarly: isEarly(scope),
    holds: (frame, notes) => {
      try {
        if (evaluate(frame) === true) return true;
        notes?.untrue(clause, condition, scope, frame);
        return false;
      } catch (error) {
        return noted(clause, notes, error);
      }
    },
  };
}

/** Whether it went through without a raise. */
function holds(clause: Clause, notes: Notes | undefined, act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    return noted(clause, notes, error);
  }
}

function noted(clause: Clause, notes: Notes | undefined, error: unknown): false {
  if (!(error instanceof RuleRaise)) throw error;
  notes?.raised(clause, error);
  return false;
}

/** With a look at the output where the statement could make one that unfolds without end. */
function guarded(project: Project, fields: readonly Field[]): Project {
  if (!mayUnfold(fields)) return project;
  return (frame, output) => {
    project(frame, output);
    measure(output);
  };
}

function compileForeach(statement: ForeachStatement, scope: Scope, monotonicMs: () => number): Run {
  const collection = collectionOf(statement);
  const before = compileFields(statement.fields.slice(0, -1), scope);
  const listOf = compileExpression(collection.value, scope);
  const name = collection.alias === undefined ? 'item' : nameOf(collection.alias);
  // WHERE sees the list by that name, DO and INCASE an element of it.
  const inWhere = scope.inner();
  const keepList =
    collection.alias === undefined
      ? undefined
      : compileAlias(collection.alias, collection.at, inWhere);
  const where = compileCondition('WHERE', statement.where, inWhere);
  const each = compileEach(statement, name, scope);
  const collect = (frame: Frame): readonly Value[] => {
    before(frame, {});
    const found = listOf(frame);
    const list = open(found, frame);
    keepList?.(frame, isList(list) ? list : found);
    if (!isList(list)) return [];
    if (list.length > listMax)
      raise(() => `the list has ${list.length} elements, at most ${listMax} are gone through`);
    return list;
  };
  return (frame, notes) => {
    if (where.isEarly && !where.holds(frame, notes)) return undefined;
    let list: readonly Value[] = [];
    const isCollected = holds('FOREACH', notes, () => {
      list = collect(frame);
    });
    if (!isCollected || (!where.isEarly && !where.holds(frame, notes))) return undefined;
    let matches: readonly Match[] | undefined;
    const budget = new ForeachBudget(monotonicMs);
    holds('FOREACH', notes, () => {
      matches = each(list, frame, notes, budget);
    });
    return matches;
  };
}

function collectionOf({ fields }: ForeachStatement): ValueField {
  const all = fields.find((field) => field.kind === 'all');
  if (all !== undefined) {
    throw new CompileError(
      'bad_sql',
      all.at,
      'Cannot use "*" in FOREACH: DO sees all columns without it',
    );
  }
  const last = fields.at(-1) as ValueField;
  if (last.alias !== undefined && last.alias.length > 1) {
    throw new CompileError(
      'bad_sql',
      last.at,
      'Cannot name an element by a path: FOREACH wants a plain name behind AS',
    );
  }
  return last;
}

/** Raises where it is too much. */
type Each = (
  list: readonly Value[],
  frame: Frame,
  notes: Notes | undefined,
  budget: ForeachBudget,
) => readonly Match[];

function compileEach(statement: ForeachStatement, name: string, outer: Scope): Each {
  const element = outer.inner();
  const slot = element.declare(name);
  const scope = element.inner();
  const { fields, each } = statement;
  const project =
    each === undefined
      ? elementItself(name, ({ slots }) => slots[slot])
      : compileFields(each, scope);
  const isUnfolding = mayUnfold(each === undefined ? fields : [...fields, ...each]);
  // Before DO where it reads none of DO's aliases: what DO raises for elements nobody wants is nothing.
  const incase = compileCondition(
    'INCASE',
    statement.incase,
    scope.inner(),
    (own) => !own.readsMoreThan(element),
  );
  return (list, frame, notes, budget) => {
    const matches: Match[] = [];
    for (let i = 0; i < list.length; i++) {
      budget.checkTime();
      frame.slots[slot] = list[i];
      if (notes !== undefined) notes.element = i + 1;
      if (incase.isEarly && !incase.holds(frame, notes)) continue;
      const output: WritableMap = {};
      let weight = 0;
      const isMade = holds('DO', notes, () => {
        project(frame, output);
        weight = isUnfolding ? weightOf(output) : flatWeight(output);
      });
      if (!isMade || (!incase.isEarly && !incase.holds(frame, notes))) continue;
      budget.add(weight);
      matches.push(output);
    }
    return matches;
  };
}

/** An object gives its keys, anything else is the value of the name of elements. */
function elementItself(name: string, elementOf: Evaluate): Project {
  return (frame, output) => {
    const element = elementOf(frame);
    if (!isMap(element)) setKey(output, name, element ?? null);
    else for (const key of Object.keys(element)) setKey(output, key, element[key]);
  };
}
