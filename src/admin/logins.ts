// Whether a name and a secret belong together. Laws: a secret is compared with its hash once, and known
// afterwards by a keyed digest that only this process can make, so that a request costs microseconds;
// what is known ends when the hash changes; an unknown name takes as long as a wrong secret; however many
// guess from however many places, that takes one core and no more.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { OperatingError } from './failures.ts';
import type { FailedTries } from './failed-tries.ts';
import { hashPassword, verifyPassword } from './passwords.ts';

export interface LoginsParts {
  readonly tries: FailedTries;
  /** The hash of its secret; undefined: nobody of this name is let in. */
  readonly hashOf: (name: string) => string | undefined;
  /** Another way to compare: for tests, which count. */
  readonly compare?: typeof verifyPassword;
}

interface Known {
  readonly hash: string;
  readonly digest: Buffer;
}

const knownMax = 1000;
/** Those who wait for their turn; the last of them for some two seconds. */
const pendingMax = 64;

export class Logins {
  readonly #parts: LoginsParts;
  readonly #key = randomBytes(32);
  readonly #known = new Map<string, Known>();
  /** Comparisons under way, by name and digest: many equal requests at once are one guess. */
  readonly #pending = new Map<string, Promise<boolean>>();
  #nobody: Promise<string> | undefined;
  /** One after another: each keeps a core busy for some 30 ms. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: LoginsParts) {
    this.#parts = parts;
  }

  /** Throws OperatingError `tooMany` when the address has to wait. */
  async verify(name: string, secret: string, address: string): Promise<boolean> {
    const { tries, hashOf } = this.#parts;
    const waitSeconds = tries.waitSeconds(address);
    if (waitSeconds > 0) throw new TooManyTries(waitSeconds);
    const hash = hashOf(name);
    const digest = createHmac('sha256', this.#key).update(secret).digest();
    const known = this.#known.get(name);
    // A wrong secret is not answered at once: that would tell which names are in use.
    if (known?.hash === hash && known !== undefined && timingSafeEqual(known.digest, digest)) {
      return true;
    }
    const isRight = await this.#compareOnce(name, secret, hash, digest, address);
    if (isRight && hash !== undefined) this.#remember(name, { hash, digest });
    return isRight;
  }

  #compareOnce(
    name: string,
    secret: string,
    hash: string | undefined,
    digest: Buffer,
    address: string,
  ): Promise<boolean> {
    const guess = `${digest.toString('base64')} ${name}`;
    const pending = this.#pending.get(guess);
    if (pending !== undefined) return pending;
    if (this.#pending.size >= pendingMax) throw new TooManyTries(1);
    const { tries } = this.#parts;
    tries.begin(address);
    const compared = this.#last
      .then(() => this.#compare(secret, hash))
      .then((isRight) => {
        if (isRight) tries.forgive(address);
        return isRight;
      })
      .finally(() => this.#pending.delete(guess));
    this.#pending.set(guess, compared);
    this.#last = compared.catch(() => undefined);
    return compared;
  }

  async #compare(secret: string, hash: string | undefined): Promise<boolean> {
    const { compare = verifyPassword } = this.#parts;
    this.#nobody ??= hashPassword(randomBytes(16).toString('hex'));
    const isEqual = await compare(secret, hash ?? (await this.#nobody));
    return isEqual && hash !== undefined;
  }

  #remember(name: string, known: Known): void {
    this.#known.delete(name);
    this.#known.set(name, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > knownMax && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** `retryAfterSeconds` is for the header of the answer. */
export class TooManyTries extends OperatingError {
  readonly retryAfterSeconds: number;

  constructor(retryAfterSeconds: number) {
    super('tooMany', `Too many failed logins: try again in ${retryAfterSeconds} seconds`);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
