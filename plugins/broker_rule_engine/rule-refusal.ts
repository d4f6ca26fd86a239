// What the rule engine refuses, as an answer: its code, and the words that clients of the interface know.

import { RuleFault } from '#sdk';
import { OperatingError } from '#sdk/operations';

/** The words that people have searched for since 2019 stand first; what helps comes behind them. */
const bad = 'Bad Arguments: ';
const beginnings: Readonly<Record<RuleFault['kind'], string>> = {
  bad_sql: bad,
  bad_params: bad,
  bad_rule: bad,
  exists: bad,
  too_many: bad,
  unknown_function: bad,
  unknown_event: '',
  unknown_column: '',
  unknown_action: '',
  not_found: '',
  unknown_resource_type: '',
  in_use: bad,
  resource_down: '',
  start_failed: '',
  no_match: 'SQL Not Match: ',
};

/** Runs it; what the engine refuses is thrown as an answer. */
export async function answering<T>(act: () => T | Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw error instanceof RuleFault ? refusalOf(error) : error;
  }
}

function refusalOf(fault: RuleFault): OperatingError {
  const { kind, message } = fault;
  const text = message.startsWith(beginnings[kind]) ? message : `${beginnings[kind]}${message}`;
  const name =
    kind === 'no_match' ? 'noRule' : kind === 'resource_down' ? 'resourceDown' : 'badRule';
  return new OperatingError(name, text, { cause: fault });
}
