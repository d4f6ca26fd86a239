// What the broker did that it must not do, in words and in numbers. Words are bounded, kind by kind: a
// broker that forgets everything would fill pages with one fault and hide the others.

export type Kind =
  /** Acknowledged, and never came. */
  | 'lost'
  | 'doubled'
  | 'disordered'
  /** Came without a subscription. */
  | 'stranger'
  /** Came without having been sent. */
  | 'invented'
  /** A session or subscription that was acknowledged is not there. */
  | 'forgotten'
  | 'retained'
  | 'will'
  /** A packet that the protocol does not allow there. */
  | 'protocol'
  /** The process: it does not start, ends by itself, or says that something failed. */
  | 'process'
  /** Nothing moves any more. */
  | 'stuck';

const wordsPerKind = 12;

export class Violations {
  readonly #words = new Map<Kind, string[]>();
  readonly counts: Map<Kind, number> = new Map();
  /** Put before each of them: which round it is. */
  when = '';

  add(kind: Kind, what: string): void {
    const count = this.countOf(kind) + 1;
    this.counts.set(kind, count);
    if (count === 1) this.#words.set(kind, []);
    if (count <= wordsPerKind) this.#words.get(kind)?.push(`${this.when}${kind}: ${what}`);
  }

  get total(): number {
    return this.counts.values().reduce((sum, count) => sum + count, 0);
  }

  countOf(kind: Kind): number {
    return this.counts.get(kind) ?? 0;
  }

  lines(): string[] {
    return [...this.#words].flatMap(([kind, words]) => {
      const left = this.countOf(kind) - words.length;
      return left > 0 ? [...words, `${kind}: and ${left} more`] : words;
    });
  }
}
