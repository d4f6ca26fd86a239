// The replays of one client, one after the other, a slice per loop turn, as fast as the client takes
// them. Whoever makes room (the outbox, the session's window) calls `goOn`.

import type { Replay, ReplayTarget } from './replay.ts';

export class Replays {
  readonly #target: ReplayTarget;
  readonly #failed: (error: unknown) => void;
  #waiting: Replay[] = [];
  /** A slice is under way, or the next turn has been asked for. */
  #isBusy = false;

  constructor(target: ReplayTarget, failed: (error: unknown) => void) {
    this.#target = target;
    this.#failed = failed;
  }

  get isActive(): boolean {
    return this.#waiting.length > 0;
  }

  /** A new subscription to the same filter begins anew; the client is not sent both. */
  add(replay: Replay): void {
    this.stop(replay.subscribed);
    this.#waiting.push(replay);
    this.goOn();
  }

  /** UNSUBSCRIBE: nothing more of it. */
  stop(filter: string): void {
    this.#waiting = this.#waiting.filter((replay) => replay.subscribed !== filter);
  }

  goOn(): void {
    const replay = this.#waiting[0];
    if (this.#isBusy || replay === undefined) return;
    this.#isBusy = true;
    const isUnfinished = replay.step(this.#target);
    this.#isBusy = false;
    if (!isUnfinished && this.#waiting[0] === replay) this.#waiting.shift();
    if (this.#waiting[0]?.canGoOn(this.#target) === true) this.#goOnLater();
  }

  #goOnLater(): void {
    this.#isBusy = true;
    setImmediate(() => {
      this.#isBusy = false;
      try {
        this.goOn();
      } catch (error) {
        this.#isBusy = false;
        this.#failed(error);
      }
    });
  }
}
