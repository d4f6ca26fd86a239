// Writing inside values: the new value is a copy along the path, everything else is shared. Laws: what was
// there is never changed, so no value can come to contain itself; what is no object in the way of a key, or
// no list in the way of an index, gives way to a new one.

import type { AliasStep } from '../sql/ast.ts';
import { raise } from './raise.ts';
import { isList, isMap, listMax, ownKey, setKey, type Value, type WritableMap } from './value.ts';

/** `from`: the first of the steps to go. */
export function written(
  base: Value,
  steps: readonly AliasStep[],
  from: number,
  value: Value,
): Value {
  const step = steps[from];
  if (step === undefined) return value;
  if (step.kind === 'index') return writtenAt(isList(base) ? base : [], steps, from, value);
  const copy: WritableMap = isMap(base) ? { ...base } : {};
  setKey(copy, step.key, written(ownKey(copy, step.key), steps, from + 1, value));
  return copy;
}

/** `[0]` is before the first, `[-0]` behind the last; `[n]` one that is there, or the one behind the last. */
function writtenAt(
  list: readonly Value[],
  steps: readonly AliasStep[],
  from: number,
  value: Value,
): Value {
  const { index, isFromEnd } = steps[from] as Extract<AliasStep, { kind: 'index' }>;
  const copy = [...list];
  if (index === 0)
    copy.splice(isFromEnd ? copy.length : 0, 0, written(undefined, steps, from + 1, value));
  else {
    const place = isFromEnd ? copy.length - index : index - 1;
    if (place < 0 || place > copy.length) {
      raise(
        () =>
          `cannot write at [${isFromEnd ? '-' : ''}${index}]: the list has ${list.length} elements`,
      );
    }
    copy[place] = written(copy[place], steps, from + 1, value);
  }
  if (copy.length > listMax) raise(() => `the list has more than ${listMax} elements`);
  return copy;
}
