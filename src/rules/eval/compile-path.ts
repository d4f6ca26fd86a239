// Paths as closures. Laws: `payload.x` reads the JSON that all rules share, and asks for it only then; a text
// on the way is read as JSON; what is not there is missing.

import type { Expression, Path, PathStep } from '../sql/ast.ts';
import { jsonOrMissing } from './json.ts';
import { readIndex, readKey, readRange } from './path-read.ts';
import type { Evaluate, Frame, Scope } from './scope.ts';
import { isMissing, type Value } from './value.ts';

type Compile = (expression: Expression) => Evaluate;
type Read = (value: Value, frame: Frame) => Value;

/** `compile` makes closures of expressions inside brackets. */
export function compilePath({ steps, at }: Path, scope: Scope, compile: Compile): Evaluate {
  const [first, ...rest] = steps;
  const root = compileName(first.key, at, scope, rest.length > 0);
  const reads = rest.map((step) => compileStep(step, compile));
  if (reads.length === 0) return root;
  return (frame) => {
    let value = root(frame);
    for (let i = 0; i < reads.length; i++) {
      const opened = open(value, frame);
      // What stands in brackets behind it is not even looked at.
      if (isMissing(opened)) return undefined;
      value = (reads[i] as Read)(opened, frame);
    }
    return value;
  };
}

/** `isOpened`: somebody looks into it, so of the payload its JSON is wanted. */
export function compileName(name: string, at: number, scope: Scope, isOpened: boolean): Evaluate {
  const slot = scope.resolve(name, at);
  if (slot !== undefined) return ({ slots }) => slots[slot];
  if (isOpened && name === 'payload') return ({ event }) => event.json() as Value;
  return ({ event }) => event.get(name) as Value;
}

/** A text as the JSON that it writes, anything else as it is. */
export function open(value: Value, { event }: Frame): Value {
  if (typeof value !== 'string') return value;
  return value === event.get('payload') ? (event.json() as Value) : jsonOrMissing(value);
}

function compileStep(step: PathStep, compile: Compile): Read {
  if (step.kind === 'key') {
    const { key } = step;
    return (value) => readKey(value, key);
  }
  if (step.kind === 'index') {
    const index = compile(step.index);
    return (value, frame) => readIndex(value, index(frame));
  }
  const [from, to] = [compile(step.from), compile(step.to)];
  return (value, frame) => readRange(value, from(frame), to(frame));
}
