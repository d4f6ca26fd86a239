// Everything that a running part of a plugin holds: timers, and whatever has to be undone. Law: when it is
// released, nothing of it is left, in the opposite order of how it came; what one of them throws keeps
// none of the others from being undone.

import type { Clock, ClockTimer } from '#base/clock';
import { inTime, undoMsMax } from './start-limit.ts';

export type Failed = (error: unknown) => void;

export class Belongings {
  readonly #clock: Clock;
  readonly #failed: Failed;
  readonly #controller = new AbortController();
  readonly #undo = new Set<() => unknown>();

  constructor(clock: Clock, failed: Failed) {
    this.#clock = clock;
    this.#failed = failed;
  }

  /** Aborted when the plugin is unloaded. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** How much there is to undo. */
  get count(): number {
    return this.#undo.size;
  }

  /** Calls when the plugin is unloaded. Answers how to have it done now. */
  defer(undo: () => unknown): () => void {
    if (this.signal.aborted) throw new TypeError('Cannot register: the plugin is unloaded');
    const own = (): unknown => undo();
    this.#undo.add(own);
    return () => {
      if (this.#undo.delete(own)) own();
    };
  }

  /** Once. Answers how to call it off. */
  after(ms: number, call: () => unknown): () => void {
    const forget = this.defer(() => timer.cancel());
    const timer = this.#clock.setTimer(ms, () => {
      forget();
      void this.#guard(call);
    });
    return forget;
  }

  /** Again and again, each time so long after the last one was over. */
  every(ms: number, call: () => unknown): () => void {
    let timer: ClockTimer | undefined;
    let isOver = false;
    const wait = (): void => {
      if (!isOver) timer = this.#clock.setTimer(ms, () => void this.#guard(call).then(wait));
    };
    const end = this.defer(() => {
      isOver = true;
      timer?.cancel();
    });
    wait();
    return end;
  }

  async #guard(call: () => unknown): Promise<void> {
    try {
      await call();
    } catch (error) {
      this.#failed(error);
    }
  }

  async release(): Promise<void> {
    this.#controller.abort(new Error('the plugin is unloaded'));
    const undo = [...this.#undo].reverse();
    this.#undo.clear();
    const late = `what it deferred has not ended within ${undoMsMax} ms`;
    for (const one of undo) {
      try {
        const ended = one();
        if (isThenable(ended)) await inTime(this.#clock, Promise.resolve(ended), undoMsMax, late);
      } catch (error) {
        this.#failed(error);
      }
    }
  }
}

/** Timers are called off at once: there may be very many. */
function isThenable(ended: unknown): ended is PromiseLike<unknown> {
  return typeof ended === 'object' && ended !== null && 'then' in ended;
}
