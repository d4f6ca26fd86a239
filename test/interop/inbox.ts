// Things that arrive one after another, and tests that wait for one of them by name. Law: nobody
// waits without a deadline, and who waits in vain is told what came instead.

import { describeError } from '#base/errors';

export const defaultDeadlineMs = 10_000;

export class Inbox<T> {
  readonly #items: T[] = [];
  readonly #watchers: Set<() => void> = new Set();
  readonly #show: (item: T) => string;
  #end: Error | undefined;

  constructor(show: (item: T) => string) {
    this.#show = show;
  }

  /** All that came and was not taken. */
  get waiting(): readonly T[] {
    return this.#items;
  }

  put(item: T): void {
    this.#items.push(item);
    this.#wake();
  }

  /** Nothing more will come: whoever waits fails, with this. */
  end(why: Error): void {
    this.#end ??= why;
    this.#wake();
  }

  /** Takes the first that passes out, now or when it comes. */
  async take(
    label: string,
    passes: (item: T) => boolean = () => true,
    deadlineMs: number = defaultDeadlineMs,
  ): Promise<T> {
    const found = await this.#until(label, () => this.#items.find(passes), deadlineMs);
    this.#items.splice(this.#items.indexOf(found), 1);
    return found;
  }

  /** Takes the next `count` in their order. */
  async takeMany(
    count: number,
    label: string,
    deadlineMs: number = defaultDeadlineMs,
  ): Promise<T[]> {
    await this.#until(
      `${count} × ${label}`,
      () => (this.#items.length >= count ? true : undefined),
      deadlineMs,
    );
    return this.#items.splice(0, count);
  }

  async #until<R>(label: string, look: () => R | undefined, deadlineMs: number): Promise<R> {
    const { promise, resolve, reject } = Promise.withResolvers<R>();
    const give = (why: string): void => {
      const last = this.#items.slice(-20).map(this.#show).join('\n  ');
      const got = `${this.#items.length} waiting${last === '' ? '' : `, the last of them:\n  ${last}`}`;
      reject(new Error(`Cannot wait for ${label}: ${why}; ${got}`));
    };
    const attempt = (): void => {
      const found = look();
      if (found !== undefined) resolve(found);
      else if (this.#end !== undefined) give(describeError(this.#end));
    };
    const timer = setTimeout(() => give(`${deadlineMs} ms are over`), deadlineMs);
    this.#watchers.add(attempt);
    attempt();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#watchers.delete(attempt);
    }
  }

  #wake(): void {
    for (const attempt of this.#watchers) attempt();
  }
}
