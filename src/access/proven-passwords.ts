// Passwords that have been verified, so that a client that comes again does not wait for a costly hash, nor
// behind those who guess. Laws: no password is kept, only digests under a key that dies with this thread;
// whose stored hash changes is unknown again; the oldest goes when there is no room.

import { createHmac, randomBytes } from 'node:crypto';

/** About a megabyte. */
const provenMaxUsual = 10_000;

export class ProvenPasswords {
  readonly #key = randomBytes(32);
  readonly #proven = new Set<string>();
  readonly #provenMax: number;

  constructor(provenMax: number = provenMaxUsual) {
    this.#provenMax = provenMax;
  }

  /** `stored`: the hash, salt and all. */
  has(password: Buffer, stored: string): boolean {
    return this.#proven.has(this.#digest(password, stored));
  }

  add(password: Buffer, stored: string): void {
    this.#proven.add(this.#digest(password, stored));
    if (this.#proven.size <= this.#provenMax) return;
    const [oldest = ''] = this.#proven;
    this.#proven.delete(oldest);
  }

  #digest(password: Buffer, stored: string): string {
    const made = createHmac('sha256', this.#key).update(stored).update('\0').update(password);
    return made.digest('base64');
  }
}
