// The fields of SELECT, FOREACH and DO: what each writes into the output, and into the aliases that later
// parts see. Laws: from left to right; a missing value is not written into the output, null is; a field
// without an alias writes at its own path, and where it is no path, under its own text; only aliases hide
// columns, so `SELECT payload.x` leaves `payload.y` visible.

import type { AliasStep, Expression, Field, ValueField } from '../sql/ast.ts';
import { printExpression } from '../sql/print.ts';
import { partsOf } from '../sql/walk.ts';
import { compileExpression } from './compile-expression.ts';
import { compileName, open } from './compile-path.ts';
import { written } from './path-write.ts';
import type { Evaluate, Frame, Scope } from './scope.ts';
import { ownKey, setKey, type Value, type WritableMap } from './value.ts';
import { textOf } from './value-text.ts';

export type Project = (frame: Frame, output: WritableMap) => void;

export function compileFields(fields: readonly Field[], scope: Scope): Project {
  const writers = fields.map((field) =>
    field.kind === 'all' ? writeAll : compileField(field, scope),
  );
  return (frame, output) => {
    for (const write of writers) write(frame, output);
  };
}

function writeAll({ event }: Frame, output: WritableMap): void {
  const columns = event.columns() as Record<string, Value>;
  for (const name of Object.keys(columns)) {
    if (columns[name] !== undefined) setKey(output, name, columns[name]);
  }
}

function compileField({ value, alias, at }: ValueField, scope: Scope): Project {
  const evaluate = compileExpression(value, scope);
  const write = compileWrite(alias ?? stepsOf(value));
  if (alias === undefined) {
    return (frame, output) => {
      const found = evaluate(frame);
      if (found !== undefined) write(output, found, frame);
    };
  }
  const keep = compileAlias(alias, at, scope);
  return (frame, output) => {
    const found = evaluate(frame);
    keep(frame, found);
    if (found !== undefined) write(output, found, frame);
  };
}

/** Where a field without an alias goes. */
function stepsOf(value: Expression): readonly AliasStep[] {
  if (value.kind === 'constant') return [{ kind: 'key', key: textOf(value.value) }];
  if (value.kind === 'path') {
    const keys = value.steps.filter((step) => step.kind === 'key');
    if (keys.length === value.steps.length) return keys;
  }
  return [{ kind: 'key', key: printExpression(value) }];
}

function compileWrite(
  steps: readonly AliasStep[],
): (output: WritableMap, value: Value, frame: Frame) => void {
  const first = nameOf(steps);
  if (steps.length === 1) return (output, value) => setKey(output, first, value);
  return (output, value, frame) => {
    // The payload that `*` wrote is the text of an object to write into.
    const base = open(ownKey(output, first), frame);
    setKey(output, first, written(base, steps, 1, value));
  };
}

/** For later parts of the statement; evaluates nothing itself. */
export function compileAlias(
  alias: readonly AliasStep[],
  at: number,
  scope: Scope,
): (frame: Frame, value: Value) => void {
  const name = nameOf(alias);
  if (alias.length === 1) {
    const slot = scope.declare(name);
    return ({ slots }, value) => {
      slots[slot] = value;
    };
  }
  const before: Evaluate = scope.knows(name)
    ? compileName(name, at, scope.inner(), true)
    : () => undefined;
  const slot = scope.declare(name);
  return (frame, value) => {
    const base = open(before(frame), frame);
    frame.slots[slot] = value === undefined ? base : written(base, alias, 1, value);
  };
}

/** The parser lets an alias begin with nothing but a key. */
export function nameOf(steps: readonly AliasStep[]): string {
  const [first] = steps;
  return first?.kind === 'key' ? first.key : '';
}

const builders: ReadonlySet<string> = new Set(['map_put', 'mput']);

/** Whether outputs may hold the same value more than once inside each other, and so unfold without end. */
export function mayUnfold(fields: readonly Field[]): boolean {
  return fields.some(
    (field) =>
      field.kind === 'value' && ((field.alias?.length ?? 0) > 1 || isBuilding(field.value)),
  );
}

function isBuilding(expression: Expression): boolean {
  if (expression.kind === 'list') return true;
  if (expression.kind === 'call' && builders.has(expression.name)) return true;
  return partsOf(expression).some(isBuilding);
}
