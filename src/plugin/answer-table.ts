// What one part of a plugin can be asked by the other, by name.

import type { Answers } from './worker-context.ts';

export class AnswerTable {
  readonly #plugin: string;
  readonly #byName = new Map<string, (...args: readonly unknown[]) => unknown>();

  constructor(plugin: string) {
    this.#plugin = plugin;
  }

  /** A name that is there already is answered anew. */
  add(table: Answers): void {
    for (const [name, answer] of Object.entries(table)) {
      this.#byName.set(name, answer as (...args: readonly unknown[]) => unknown);
    }
  }

  async ask(question: string, args: readonly unknown[]): Promise<unknown> {
    const answer = this.#byName.get(question);
    if (answer === undefined) {
      const known = [...this.#byName.keys()].join(', ') || 'nothing';
      throw new TypeError(`Cannot ask ${this.#plugin} for "${question}": it answers ${known}`);
    }
    return answer(...args);
  }
}
