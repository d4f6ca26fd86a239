// Whether a token is good: its signature, by the keys that this worker has, and its times. Laws: `none` is
// no algorithm; an extension that the header calls critical is refused; a key that is not known is asked
// for once, see issuer.ts.

import type { KeyObject } from 'node:crypto';
import type { JWTPayload } from 'jose';
import * as errors from 'jose/errors';
import { jwtVerify } from 'jose/jwt/verify';
import type { Clock } from '#sdk';
import { type Algorithm, secretAlgorithms } from './algorithms.ts';
import type { Settings } from './config.ts';
import { KeyRing } from './key-ring.ts';
import type { SharedKeys } from './public-keys.ts';
import { type TokenHeader, tokenBytesMax } from './token.ts';
import { TokenRefused } from './token-refused.ts';

export type Claims = JWTPayload;

type VerifierSettings = Pick<Settings, 'secret' | 'jwks' | 'algorithms' | 'leewayMs'>;

export interface VerifierParts {
  readonly settings: VerifierSettings;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Has the key set fetched anew, if it is time. False: the issuer cannot be reached. */
  readonly refresh: () => Promise<boolean>;
}

export class TokenVerifier {
  readonly #settings: VerifierSettings;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #refresh: () => Promise<boolean>;
  #ring: KeyRing;

  constructor({ settings, clock, refresh }: VerifierParts) {
    this.#settings = settings;
    this.#clock = clock;
    this.#refresh = refresh;
    this.#ring = new KeyRing(settings.secret, { pems: [], set: undefined });
  }

  useKeys(keys: SharedKeys): void {
    this.#ring = new KeyRing(this.#settings.secret, keys);
  }

  /** Throws TokenRefused. */
  async verify(
    token: string,
    { algorithm: named, keyId, isCritical }: TokenHeader,
  ): Promise<Claims> {
    if (Buffer.byteLength(token) > tokenBytesMax) throw new TokenRefused('too_large');
    if (isCritical) throw new TokenRefused('critical_extension');
    const algorithm = this.#settings.algorithms.find((one) => one === named);
    if (algorithm === undefined) throw new TokenRefused('algorithm');
    let claims = await this.#tryKeys(token, algorithm, keyId);
    if (claims === undefined && this.#mayBeNew(algorithm, keyId)) {
      const isCurrent = await this.#refresh();
      claims = await this.#tryKeys(token, algorithm, keyId);
      if (claims === undefined && !isCurrent) throw new TokenRefused('keys_unavailable');
    }
    if (claims !== undefined) return this.#checkIssued(claims);
    const hasKey = this.#ring.candidates(algorithm, keyId).length > 0;
    throw new TokenRefused(hasKey ? 'signature' : 'unknown_key');
  }

  #mayBeNew(algorithm: Algorithm, keyId: string | undefined): boolean {
    if (this.#settings.jwks === undefined || secretAlgorithms.includes(algorithm)) return false;
    if (!this.#ring.hasKeySet) return true;
    return keyId !== undefined && !this.#ring.knows(keyId);
  }

  /** Undefined: none of them has signed it. */
  async #tryKeys(
    token: string,
    algorithm: Algorithm,
    keyId: string | undefined,
  ): Promise<Claims | undefined> {
    for (const key of this.#ring.candidates(algorithm, keyId)) {
      const claims = await this.#try(token, algorithm, key);
      if (claims !== undefined) return claims;
    }
    return undefined;
  }

  async #try(
    token: string,
    algorithm: Algorithm,
    key: KeyObject | Uint8Array,
  ): Promise<Claims | undefined> {
    try {
      const { payload } = await jwtVerify(token, key, {
        algorithms: [algorithm],
        clockTolerance: this.#settings.leewayMs / 1000,
        currentDate: new Date(this.#clock.nowMs()),
      });
      return payload;
    } catch (error) {
      if (error instanceof errors.JWSSignatureVerificationFailed) return undefined;
      throw refusalOf(error);
    }
  }

  /** jose looks at `iat` only where tokens have a greatest age. */
  #checkIssued(claims: Claims): Claims {
    const nowSeconds = Math.floor(this.#clock.nowMs() / 1000);
    const { iat } = claims;
    if (iat === undefined || iat <= nowSeconds + this.#settings.leewayMs / 1000) return claims;
    throw new TokenRefused('not_yet_valid', 'iat');
  }
}

function refusalOf(error: unknown): unknown {
  if (!(error instanceof errors.JOSEError)) return error;
  const { message, code } = error;
  const isTooEarly =
    error instanceof errors.JWTClaimValidationFailed && error.reason === 'check_failed';
  const word =
    code === errors.JWTExpired.code ? 'expired' : isTooEarly ? 'not_yet_valid' : 'malformed';
  return new TokenRefused(word, message, { cause: error });
}
