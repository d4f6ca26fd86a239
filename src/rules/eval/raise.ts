// What makes a rule not match although its statement is right: a value that is not of the kind wanted. Law:
// a raise is everyday, strangers cause it with their payloads, so it is no Error (a stack costs more than the
// whole rule) and its words are only put together when somebody reads them.

export class RuleRaise {
  readonly #words: () => string;
  /** Where in the statement; the innermost part that knows sets it. */
  at: number | undefined;

  constructor(words: () => string) {
    this.#words = words;
  }

  get message(): string {
    return this.#words();
  }
}

export function raise(words: () => string): never {
  throw new RuleRaise(words);
}
