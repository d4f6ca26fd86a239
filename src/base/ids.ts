// Names nobody else has: client ids for clients that bring none, message ids, random hex. All
// randomness is from node:crypto, because a guessable client id can be taken over.

import { randomBytes } from 'node:crypto';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const clientIdLength = 22;

/**
 * 22 characters of 0-9, A-Z, a-z: 131 bits, and still a client id that every server has to accept
 * [MQTT-3.1.3-5], so that it survives a bridge.
 */
export function randomClientId(): string {
  let id = '';
  while (id.length < clientIdLength) {
    for (const byte of randomBytes(32)) {
      // 248 is 4 × 62: refusing the rest gives every character the same chance.
      if (byte < 248 && id.length < clientIdLength) id += base62.charAt(byte % 62);
    }
  }
  return id;
}

export function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}

const counterMax = 2 ** 32 - 1;

/**
 * Message ids of one thread: 32 hex digits, each id greater as a string than the one before, also
 * when the wall clock goes back.
 *
 *     018bcfe56800 3fa29c41d07e 0000002a
 *     ms (12)      thread (12)  counter within the ms (8)
 *
 * `nowMs` may be coarse. An id costs one small concatenation, and only when somebody asks for it.
 */
export class MessageIds {
  readonly #nowMs: () => number;
  readonly #origin: string;
  #ms = -1;
  #prefix = '';
  #counter = 0;

  /** `origin` tells threads and nodes apart; another one than the default is for tests. */
  constructor(nowMs: () => number, origin: string = randomHex(6)) {
    this.#nowMs = nowMs;
    this.#origin = origin;
  }

  next(): string {
    const ms = Math.floor(this.#nowMs());
    if (ms > this.#ms) this.#enter(ms);
    else if (this.#counter === counterMax) this.#enter(this.#ms + 1);
    else this.#counter += 1;
    return this.#prefix + this.#counter.toString(16).padStart(8, '0');
  }

  #enter(ms: number): void {
    this.#ms = ms;
    this.#prefix = ms.toString(16).padStart(12, '0') + this.#origin;
    this.#counter = 0;
  }
}
