// The keys that a worker verifies with, and which of them come into question for a token.

import { createPublicKey, type KeyObject } from 'node:crypto';
import { type Algorithm, algorithmsOf, secretAlgorithms } from './algorithms.ts';
import type { SharedKeys } from './public-keys.ts';

interface Entry {
  readonly key: KeyObject | Uint8Array;
  readonly algorithms: readonly Algorithm[];
  /** Of the key set; a key that has one is for tokens that name it, or that name none. */
  readonly keyId: string | undefined;
}

/** Each costs a verification, for somebody whom nobody knows yet. */
const triesMax = 8;

export class KeyRing {
  /** Whether an issuer's keys are known. */
  readonly hasKeySet: boolean;
  readonly #entries: readonly Entry[];

  constructor(secret: string | undefined, { pems, set }: SharedKeys) {
    this.hasKeySet = set !== undefined;
    const keyId = undefined;
    this.#entries = [
      ...(secret === undefined
        ? []
        : [{ key: Buffer.from(secret), algorithms: secretAlgorithms, keyId }]),
      ...pems.map((pem) => {
        const key = createPublicKey(pem);
        return { key, algorithms: algorithmsOf(key), keyId };
      }),
      ...(set ?? []).map(({ kid, alg, key: jwk }) => {
        const key = createPublicKey({ key: jwk, format: 'jwk' });
        const algorithms = algorithmsOf(key).filter((one) => alg === undefined || one === alg);
        return { key, algorithms, keyId: kid };
      }),
    ];
  }

  /** The one that the token names first. */
  candidates(algorithm: Algorithm, keyId: string | undefined): (KeyObject | Uint8Array)[] {
    const fitting = this.#entries.filter((one) => one.algorithms.includes(algorithm));
    const named = fitting.filter((one) => keyId !== undefined && one.keyId === keyId);
    const others = fitting.filter((one) => keyId === undefined || one.keyId === undefined);
    return [...new Set([...named, ...others])].slice(0, triesMax).map(({ key }) => key);
  }

  knows(keyId: string): boolean {
    return this.#entries.some((one) => one.keyId === keyId);
  }
}
