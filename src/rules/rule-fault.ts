// What can be wrong with what somebody asks of the rule engine: a closed table of kinds, so that whoever
// answers can choose a code by kind and show the message as it is.

export type RuleFaultKind =
  /** The text cannot be read; the message has line, column, excerpt and what was expected. */
  | 'bad_sql'
  | 'unknown_event'
  | 'unknown_column'
  | 'unknown_function'
  | 'unknown_action'
  /** Parameters of an action. */
  | 'bad_params'
  /** Any other field of a rule, or a document to import. */
  | 'bad_rule'
  /** Of a SQL test: there is no output. */
  | 'no_match'
  | 'not_found'
  /** The id is taken. */
  | 'exists'
  | 'too_many'
  | 'unknown_resource_type'
  /** A rule needs it. */
  | 'in_use'
  /** A resource that was tested does not come alive; one that was started does not. */
  | 'resource_down'
  | 'start_failed';

export class RuleFault extends Error {
  override readonly name = 'RuleFault';
  readonly kind: RuleFaultKind;

  constructor(kind: RuleFaultKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** What is wrong with one of many says with which. */
export function named<T>(whose: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof RuleFault)) throw error;
    throw new RuleFault(error.kind, `${whose}: ${error.message}`, { cause: error });
  }
}
