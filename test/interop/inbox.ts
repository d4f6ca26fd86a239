// Things that arrive one after another, and tests that wait for one of them by name. Law: nobody
// waits without a deadline, and who waits in vain is told what came instead.

import { describeError } from '#base/errors';
import { Watch } from '#test/watch';

export const defaultDeadlineMs = 10_000;

export class Inbox<T> {
  readonly #items: T[] = [];
  readonly #watch = new Watch();
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
    this.#watch.wake();
  }

  /** Nothing more will come: whoever waits fails, with this. */
  end(why: Error): void {
    this.#end ??= why;
    this.#watch.wake();
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
    const inVain = (why: string): Error => {
      const last = this.#items.slice(-20).map(this.#show).join('\n  ');
      const got = `${this.#items.length} waiting${last === '' ? '' : `, the last of them:\n  ${last}`}`;
      return new Error(`Cannot wait for ${label}: ${why}; ${got}`);
    };
    const attempt = (): R | undefined => {
      const found = look();
      if (found === undefined && this.#end !== undefined) throw inVain(describeError(this.#end));
      return found;
    };
    return this.#watch.until(attempt, deadlineMs, () => inVain(`${deadlineMs} ms are over`));
  }
}
