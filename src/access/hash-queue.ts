// Hashes of passwords, so many at once (here, and in the process: hash-places.ts) and so many in waiting. Laws: who asks for a costly one beyond that
// is refused at once, instead of waiting longer than a client would; those that wait are computed in the
// order they came; what costs next to nothing does not wait.
//
//     verify ──→ [ waiting, ≤ waitingMax ] ──→ ≤ atOnceMax computing ──→ true | false
//        └──────────→ HashesBusy

import { Deque } from '#base/deque';
import { type HashPlaces, hashPlaces } from './hash-places.ts';
import type { HashScheme } from './hash-scheme.ts';
import {
  isCostly,
  makeHash,
  type StoredHash,
  type StoredPassword,
  verifyHash,
  verifyStored,
} from './password-hash.ts';

export interface HashQueueLimits {
  /** 19 MB for each argon2id. */
  readonly atOnceMax?: number;
  /** Where nobody else of the process hashes, the last of them waits for some 8 s, less than `plugins.hook_deadline`. */
  readonly waitingMax?: number;
  /** Those of the process, unless a test has its own. */
  readonly places?: HashPlaces;
}

/** Too many want a hash: `server_busy` to a client. */
export class HashesBusy extends Error {
  constructor(waitingMax: number) {
    super(`Cannot hash a password now: ${waitingMax} others wait, the most that may`);
    this.name = 'HashesBusy';
  }
}

export class HashQueue {
  readonly #atOnceMax: number;
  readonly #waitingMax: number;
  readonly #places: HashPlaces;
  readonly #waiting = new Deque<() => void>();
  #running = 0;

  constructor({ atOnceMax = 2, waitingMax = 500, places }: HashQueueLimits = {}) {
    this.#places = places ?? hashPlaces();
    this.#atOnceMax = atOnceMax;
    this.#waitingMax = waitingMax;
  }

  /** Computing, not in waiting. */
  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** As `verifyHash`; rejects with HashesBusy. */
  verify(scheme: HashScheme, password: Buffer, stored: StoredHash): Promise<boolean> {
    const compute = (): Promise<boolean> => verifyHash(scheme, password, stored);
    return isCostly(scheme) ? this.run(compute) : compute();
  }

  /** As the function `verifyStored`; rejects with HashesBusy. */
  verifyStored(password: Buffer, stored: StoredPassword): Promise<boolean> {
    const compute = (): Promise<boolean> => verifyStored(password, stored);
    return typeof stored === 'string' ? this.run(compute) : compute();
  }

  /** As `makeHash`; rejects with HashesBusy. */
  make(password: Buffer): Promise<string> {
    return this.run(() => makeHash(password));
  }

  /** Anything else that computes as long. */
  async run<T>(compute: () => Promise<T>): Promise<T> {
    if (this.#running < this.#atOnceMax) this.#running += 1;
    else await this.#turn();
    const free = await this.#places.take();
    try {
      return await compute();
    } finally {
      free();
      // The place is handed on as it is: nobody who comes now gets in between.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= this.#waitingMax) throw new HashesBusy(this.#waitingMax);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    return promise;
  }
}
