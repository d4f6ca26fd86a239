// The key set of an issuer, fetched now and then and when a token names a key that is not in it. Laws:
// one fetch at a time, and not more often than the cooldown says, whoever asks; what cannot be fetched
// or read leaves the keys of before, until they are too old to be believed.

import { type Clock, describeError } from '#sdk';
import type { JwksSettings } from './config.ts';
import { type KeySet, type PublicJwk, readKeySet } from './public-keys.ts';

export interface IssuerParts {
  readonly settings: Pick<JwksSettings, 'intervalMs' | 'cooldownMs' | 'staleMs'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly fetch: () => Promise<string>;
  readonly after: (ms: number, call: () => unknown) => () => void;
  /** Undefined: the keys are too old. Awaited before whoever asked is answered. */
  readonly onKeys: (keys: readonly PublicJwk[] | undefined) => Promise<void>;
  readonly onFetched: (set: KeySet) => void;
  readonly onFailed: (text: string) => void;
}

export class Issuer {
  readonly #parts: IssuerParts;
  #triedMs = Number.NEGATIVE_INFINITY;
  #fetchedMs: number | undefined;
  #hasKeys = false;
  #isCurrent = false;
  #underWay: Promise<boolean> | undefined;
  #cancel: () => void = () => {};

  constructor(parts: IssuerParts) {
    this.#parts = parts;
  }

  /** Asks for the first time, and from then on again and again. */
  start(): Promise<boolean> {
    return this.#fetch();
  }

  /** Somebody misses a key. Answers whether the issuer was reached the last time. */
  async refresh(): Promise<boolean> {
    const { clock, settings } = this.#parts;
    const isSoon = clock.monotonicMs() - this.#triedMs < settings.cooldownMs;
    if (this.#underWay === undefined && isSoon) return this.#isCurrent;
    return this.#fetch();
  }

  #fetch(): Promise<boolean> {
    this.#underWay ??= this.#fetchOnce().finally(() => {
      this.#underWay = undefined;
    });
    return this.#underWay;
  }

  async #fetchOnce(): Promise<boolean> {
    const { clock, settings, fetch, after, onFetched, onFailed } = this.#parts;
    this.#cancel();
    this.#triedMs = clock.monotonicMs();
    try {
      const set = readKeySet(await fetch());
      this.#isCurrent = true;
      this.#fetchedMs = clock.monotonicMs();
      await this.#tell(set.keys);
      onFetched(set);
    } catch (error) {
      this.#isCurrent = false;
      onFailed(describeError(error));
      await this.#doubt();
    }
    const { intervalMs, cooldownMs } = settings;
    const nextMs = this.#isCurrent ? intervalMs : Math.min(intervalMs, cooldownMs);
    this.#cancel = after(nextMs, () => this.#fetch());
    return this.#isCurrent;
  }

  async #doubt(): Promise<void> {
    const { clock, settings } = this.#parts;
    const ageMs = clock.monotonicMs() - (this.#fetchedMs ?? Number.NEGATIVE_INFINITY);
    if (this.#hasKeys && ageMs > settings.staleMs) await this.#tell(undefined);
  }

  async #tell(keys: readonly PublicJwk[] | undefined): Promise<void> {
    this.#hasKeys = keys !== undefined;
    await this.#parts.onKeys(keys);
  }
}
