// Why a statement did not match an event, in words: the part of the condition that is not true, with the
// values it saw. Only previews ask; a run that nobody explains notes nothing.

import type { Expression } from '../sql/ast.ts';
import { printExpression } from '../sql/print.ts';
import { partsOf } from '../sql/walk.ts';
import { compileExpression } from './compile-expression.ts';
import { RuleRaise } from './raise.ts';
import type { Frame, Scope } from './scope.ts';
import { describeValue, setKey, type Value, type WritableMap } from './value.ts';

export type Clause = 'SELECT' | 'FOREACH' | 'DO' | 'INCASE' | 'WHERE';

export interface Miss {
  readonly clause: Clause;
  /** `payload.t > 30 is false: payload.t is number 12` */
  readonly reason: string;
  /** Where in the statement; undefined: nobody knows. */
  readonly at: number | undefined;
  /** What the condition looked at, by its text. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Of FOREACH: which element, from 1; undefined: it is about the event. */
  readonly element: number | undefined;
}

/** Values named in one reason. */
const valuesMax = 8;
/** Reasons of one run: elements of a list fail alike, and each costs more than the run itself. */
const missesMax = 100;

/** What is handed through a run that somebody wants explained. */
export class Notes {
  readonly misses: Miss[] = [];
  element: number | undefined;

  /** A condition was not true. */
  untrue(clause: Clause, condition: Expression, scope: Scope, frame: Frame): void {
    if (this.#isFull) return;
    const evaluate = (part: Expression): Value => valueOf(part, scope, frame);
    const part = failing(condition, evaluate);
    const values: WritableMap = {};
    for (const leaf of leavesOf(part)) {
      if (Object.keys(values).length >= valuesMax) break;
      setKey(values, printExpression(leaf), evaluate(leaf));
    }
    const seen = Object.keys(values).map((name) => `${name} is ${describeValue(values[name])}`);
    const result = evaluate(part);
    const is = result === false ? 'is false' : `is ${describeValue(result)}, which is not true`;
    const because = seen.length === 0 || leavesOf(part)[0] === part ? '' : `: ${seen.join(', ')}`;
    this.#add(clause, `${printExpression(part)} ${is}${because}`, part.at, values);
  }

  raised(clause: Clause, raised: RuleRaise): void {
    // What ends the whole run is told in any case.
    if (this.#isFull && clause !== 'FOREACH') return;
    this.#add(clause, raised.message, raised.at, {});
  }

  #add(clause: Clause, reason: string, at: number | undefined, values: WritableMap): void {
    this.misses.push({ clause, reason, at, values, element: this.element });
  }

  get #isFull(): boolean {
    return this.misses.length >= missesMax;
  }
}

/** The first operand of AND that is not true; anything else is one thing. */
function failing(condition: Expression, evaluate: (part: Expression) => Value): Expression {
  const operands = operandsOf(condition);
  // None is found where evaluating it again gives another answer, as that of random() does.
  return operands.find((one) => evaluate(one) !== true) ?? condition;
}

/** Each is evaluated once, however many there are. */
function operandsOf(condition: Expression): readonly Expression[] {
  if (condition.kind !== 'binary' || condition.operator !== 'and') return [condition];
  return [...operandsOf(condition.left), ...operandsOf(condition.right)];
}

/** Paths and calls: what is not to be seen in the text of the condition. */
function leavesOf(expression: Expression): readonly Expression[] {
  const inner = partsOf(expression).flatMap(leavesOf);
  return expression.kind === 'path' || expression.kind === 'call' ? [expression, ...inner] : inner;
}

/** A part that raises has no value. */
function valueOf(part: Expression, scope: Scope, frame: Frame): Value {
  try {
    return compileExpression(part, scope)(frame);
  } catch (error) {
    if (error instanceof RuleRaise) return undefined;
    throw error;
  }
}
