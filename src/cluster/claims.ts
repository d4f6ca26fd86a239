// The client ids that this worker owns, as the registry told it, and the CONNECTs that want one. Laws:
// an id is ours from the moment the grant arrives until we release it or begin to give it up; it is
// released when no CONNECT is after it and no session holds it.

import type { ClaimRequest } from '#core/peers-port';
import type { Wait } from '#core/ports';
import type { ClaimAnswer } from './registry.ts';

export interface ClaimsParts {
  /**
   * Asks the registry. NOTE: `answer` is called in the turn in which the answer arrives and before
   * anything that came behind it is handled: an order to give up is often the very next thing.
   */
  claim(request: ClaimRequest, answer: ClaimAnswer): void;
  release(clientId: string): void;
  /**
   * There is a session of that id here, its client connected or not, or one whose end is not on disk yet:
   * if this worker died, its successor would have to restore what another has begun anew.
   */
  hasSession(clientId: string): boolean;
}

/** The CONNECTs that are after one id. */
interface Attempts {
  underWay: number;
  /** Requests that the registry has not answered. */
  asked: number;
}

/** Memory: one entry of a set per id that is ours, and one of a map per id while a CONNECT is after it. */
export class Claims {
  readonly #owned = new Set<string>();
  readonly #attempts = new Map<string, Attempts>();
  readonly #parts: ClaimsParts;

  constructor(parts: ClaimsParts) {
    this.#parts = parts;
  }

  /** Ids that are ours. */
  get size(): number {
    return this.#owned.size;
  }

  /** Ids that a CONNECT is after. */
  get busy(): number {
    return this.#attempts.size;
  }

  /**
   * For a CONNECT; undefined when the id is ours already. To each call belongs one of `attempted`.
   *
   * No two CONNECTs share a request, not even equal ones: the later would get the place in line of the
   * earlier, before claims of other workers that came in between, and an old connection could evict a
   * newer one. For the same reason a CONNECT goes behind those that are still waiting, though the id be ours.
   */
  claim(request: ClaimRequest): Wait {
    const { clientId } = request;
    const attempts = this.#attempts.get(clientId) ?? { underWay: 0, asked: 0 };
    this.#attempts.set(clientId, attempts);
    attempts.underWay += 1;
    if (attempts.asked === 0 && this.#owned.has(clientId)) return undefined;
    attempts.asked += 1;
    return new Promise((resolve, reject) => {
      this.#parts.claim(request, (refusal) => {
        attempts.asked -= 1;
        if (refusal === undefined) {
          this.#owned.add(clientId);
          resolve();
        } else {
          reject(refusal);
        }
        this.#rest(clientId, attempts);
      });
    });
  }

  /**
   * To be asked again right before the session is opened. False: another worker's CONNECT came after
   * this one, and the client has been taken over before it was in. NOTE: it must not claim again. Orders
   * follow grants so closely that two workers who both insist would pass the id to and fro for ever.
   */
  owns(clientId: string): boolean {
    return this.#owned.has(clientId);
  }

  /** A CONNECT that called `claim` has opened its session, or never will. */
  attempted(clientId: string): void {
    const attempts = this.#attempts.get(clientId);
    if (attempts === undefined || attempts.underWay === 0) return;
    attempts.underWay -= 1;
    this.#rest(clientId, attempts);
  }

  /** The session ended here, on disk too. While a CONNECT is after the id, its end decides. */
  ended(clientId: string): void {
    if (!this.#attempts.has(clientId)) this.#release(clientId);
  }

  /** An order to give up begins: from now on the id is not ours, though its session may still be here. */
  givenUp(clientId: string): void {
    this.#owned.delete(clientId);
  }

  /** An order to give up has failed and the session stays. To be called before the registry is told. */
  kept(clientId: string): void {
    this.#owned.add(clientId);
  }

  /** Sessions that this worker found in the store: ours from the start. */
  restored(clientIds: Iterable<string>): void {
    for (const clientId of clientIds) this.#owned.add(clientId);
  }

  #rest(clientId: string, attempts: Attempts): void {
    if (attempts.underWay > 0 || attempts.asked > 0) return;
    this.#attempts.delete(clientId);
    if (!this.#parts.hasSession(clientId)) this.#release(clientId);
  }

  #release(clientId: string): void {
    if (this.#owned.delete(clientId)) this.#parts.release(clientId);
  }
}
