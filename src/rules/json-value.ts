// Values for whoever writes them as JSON by himself, an envelope for one: what JSON does not know becomes
// what `json_encode` makes of it. Law: bounded, like everything that goes out.

import { measure, plain } from './eval/json.ts';
import { RuleRaise } from './eval/raise.ts';
import type { Value } from './eval/value.ts';
import { RuleFault } from './rule-fault.ts';

/** Throws `bad_rule` where it is too much. */
export function jsonValue(value: unknown): unknown {
  const own = value as Value;
  try {
    return measure(own) ? plain(own) : own;
  } catch (error) {
    if (!(error instanceof RuleRaise)) throw error;
    throw new RuleFault('bad_rule', `Cannot show the output: ${error.message}`);
  }
}
