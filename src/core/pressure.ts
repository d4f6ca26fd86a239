// How hard pressed the node is, as those who feel it see it: what waits for clients is counted here,
// connections ask here whether publishers are paused and newcomers refused, and publishers that are
// paused wait here for their turn. It decides nothing: overload.ts does, and sets what stands here.
// Law: whoever is paused is let go, in the order of pausing, when it is time or all is well again.

import { HeldBytes } from './held-bytes.ts';

/** The levels, in the order of what they do to clients. */
export const Level = { calm: 0, pausing: 1, refusing: 2 } as const;
export type Level = (typeof Level)[keyof typeof Level];

/** A connection that can be left unread. */
export interface Pausable {
  holdBack(): void;
  letOn(): void;
  /** Messages were sent to it that it has not acknowledged: only reading it frees them. */
  readonly owesAcknowledgements: boolean;
}

export class Pressure {
  readonly held: HeldBytes = new HeldBytes();
  /** The node is overloaded. */
  isOverloaded = false;
  /** Ways to other workers that have more to carry than they can. */
  #congested = 0;
  /** A way to another worker has become congested. */
  onCongested: () => void = () => undefined;
  /** Who connects now is not let in. */
  isRefusing = false;
  /** `onHeld` is called by `look` when so many bytes are held, or more. */
  heldMax: number = Number.POSITIVE_INFINITY;
  onHeld: () => void = () => undefined;
  readonly #paused = new Set<Pausable>();

  /** Who publishes now is not read on. */
  get isPausing(): boolean {
    return this.isOverloaded || this.#congested > 0;
  }

  /** A way to another worker is congested, or no longer. */
  onCongestion(isCongested: boolean): void {
    this.#congested += isCongested ? 1 : -1;
    if (isCongested) this.onCongested();
    if (!this.isPausing) this.letThrough(this.pausedCount);
  }

  get pausedCount(): number {
    return this.#paused.size;
  }

  /** The client of this connection has published although it should not. */
  pause(publisher: Pausable): void {
    if (this.#paused.has(publisher)) return;
    this.#paused.add(publisher);
    publisher.holdBack();
  }

  /** The connection has ended. */
  forget(publisher: Pausable): void {
    this.#paused.delete(publisher);
  }

  /**
   * Lets some be read again, those that wait longest first. Whoever then publishes is paused again
   * and waits behind all others; one read has brought what else it had to say, acknowledgements and
   * pings above all.
   */
  letThrough(count: number, isWanted: (publisher: Pausable) => boolean = () => true): void {
    let left = count;
    for (const publisher of this.#paused) {
      if (left === 0) return;
      if (!isWanted(publisher)) continue;
      left--;
      this.#paused.delete(publisher);
      publisher.letOn();
    }
  }

  /** Called after every read and every turn of the event loop: a second can bring a gigabyte. */
  look(): void {
    if (this.held.total >= this.heldMax) this.onHeld();
  }
}
