// SCRAM-SHA-256 (RFC 5802, RFC 7677), the server's side, for enhanced authentication of MQTT 5.0.
// Pure: bytes in, bytes out; who carries them is not its business. Laws: the password is never
// needed nor kept, and no answer tells whether a user exists. No channel binding.

import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from 'node:crypto';
import { invariant } from '#base/assert';
import { readClientFinal, readClientFirst, ScramError, saslPrep } from './scram-messages.ts';

/** What is stored for a user. Enough to check a client, not enough to pose as one. */
export interface ScramCredential {
  readonly salt: Buffer;
  readonly iterations: number;
  readonly storedKey: Buffer;
  readonly serverKey: Buffer;
}

export type ScramLookup = (
  username: string,
) => ScramCredential | undefined | Promise<ScramCredential | undefined>;

export interface ScramOptions {
  /**
   * Makes the salts that unknown users are shown. The same for all threads and nodes, and kept as
   * long as the users are: a salt that changes tells that its user does not exist.
   */
  readonly decoyKey: Buffer;
  /** What unknown users are shown; must be what real users have. */
  readonly decoyIterations?: number;
  /** The server's part of the nonce; another one than the default is for tests. */
  readonly nonce?: () => string;
}

/**
 * What was wrong: a message that cannot be accepted whoever sent it, or the proof. Neither that nor
 * `reason`, the words for it, ever tells an unknown user from a wrong password.
 */
export interface ScramRefusal {
  readonly ok: false;
  readonly fault: 'message' | 'proof';
  readonly reason: string;
}
export type ScramFirst = { readonly ok: true; readonly serverFirst: Buffer } | ScramRefusal;
export type ScramFinal =
  | { readonly ok: true; readonly serverFinal: Buffer; readonly username: string }
  | ScramRefusal;

const digestBytes = 32;
const saltBytes = 16;
/** RFC 7677, section 4. */
const iterationsMin = 4096;

/**
 * Takes some ms of CPU time, by design: for the thread that manages users, not for a worker.
 * Throws a ScramError when the password cannot be prepared.
 */
export function makeScramCredential(
  password: string,
  options: { readonly salt?: Buffer; readonly iterations?: number } = {},
): ScramCredential {
  const { salt = randomBytes(saltBytes), iterations = iterationsMin } = options;
  invariant(salt.length > 0, 'a SCRAM salt is not empty');
  invariant(
    Number.isInteger(iterations) && iterations >= iterationsMin,
    'a SCRAM credential is made with 4096 iterations at least',
  );
  const salted = pbkdf2Sync(saslPrep(password), salt, iterations, digestBytes, 'sha256');
  return {
    salt,
    iterations,
    storedKey: sha256(hmac(salted, 'Client Key')),
    serverKey: hmac(salted, 'Server Key'),
  };
}

interface Challenge {
  readonly username: string;
  readonly credential: ScramCredential;
  readonly isKnown: boolean;
  readonly gs2Header: string;
  readonly nonce: string;
  /** The first two of the three parts that both sides sign. */
  readonly signedSoFar: string;
}

/** One exchange: first(), then final(), each once. Another attempt takes another instance. */
export class ScramServer {
  readonly #lookup: ScramLookup;
  readonly #options: ScramOptions;
  #state: 'new' | 'looking' | 'challenged' | 'over' = 'new';
  #challenge: Challenge | undefined = undefined;

  constructor(lookup: ScramLookup, options: ScramOptions) {
    this.#lookup = lookup;
    this.#options = options;
  }

  /** Rejects only when the lookup does. */
  async first(clientFirst: Buffer): Promise<ScramFirst> {
    if (this.#state !== 'new') return this.#outOfTurn('client-first-message');
    this.#state = 'looking';
    try {
      const { gs2Header, bare, username, nonce: clientNonce } = readClientFirst(clientFirst);
      const decoy = this.#decoyFor(username);
      const found = await this.#lookup(username);
      // Whoever sends the final message while we look the user up has ended the exchange.
      if (this.#state !== 'looking') return this.#outOfTurn('client-first-message');
      const credential = found ?? decoy;
      const nonce = clientNonce + (this.#options.nonce ?? randomNonce)();
      const salt = credential.salt.toString('base64');
      const serverFirst = `r=${nonce},s=${salt},i=${credential.iterations}`;
      const signedSoFar = `${bare},${serverFirst}`;
      const isKnown = found !== undefined;
      this.#challenge = { username, credential, isKnown, gs2Header, nonce, signedSoFar };
      this.#state = 'challenged';
      return { ok: true, serverFirst: Buffer.from(serverFirst) };
    } catch (error) {
      this.#state = 'over';
      return refusal(error);
    }
  }

  final(clientFinal: Buffer): ScramFinal {
    const challenge = this.#challenge;
    if (this.#state !== 'challenged' || challenge === undefined) {
      return this.#outOfTurn('client-final-message');
    }
    this.#state = 'over';
    this.#challenge = undefined;
    try {
      const serverFinal = verify(challenge, clientFinal);
      if (serverFinal !== undefined) return { ok: true, serverFinal, username: challenge.username };
      const reason = 'Cannot verify client proof: it does not match';
      return { ok: false, fault: 'proof', reason };
    } catch (error) {
      return refusal(error);
    }
  }

  #outOfTurn(message: string): ScramRefusal {
    this.#state = 'over';
    this.#challenge = undefined;
    const reason = `Cannot accept ${message}: it came out of turn`;
    return { ok: false, fault: 'message', reason };
  }

  /** Made for known users too, so that both take the same time. */
  #decoyFor(username: string): ScramCredential {
    const { decoyKey, decoyIterations = iterationsMin } = this.#options;
    return {
      salt: hmac(decoyKey, username).subarray(0, saltBytes),
      iterations: decoyIterations,
      storedKey: randomBytes(digestBytes),
      serverKey: randomBytes(digestBytes),
    };
  }
}

/** The server-final-message; undefined when the proof does not match. */
function verify(challenge: Challenge, clientFinal: Buffer): Buffer | undefined {
  const { credential, gs2Header, nonce, signedSoFar, isKnown } = challenge;
  const { withoutProof, channelBinding, nonce: givenNonce, proof } = readClientFinal(clientFinal);
  if (channelBinding !== Buffer.from(gs2Header).toString('base64')) {
    throw new ScramError(
      'Cannot verify channel binding: it is not the header of the first message',
    );
  }
  if (givenNonce !== nonce) {
    throw new ScramError('Cannot verify nonce: it is not the one of the server-first-message');
  }
  const signed = `${signedSoFar},${withoutProof}`;
  const clientSignature = hmac(credential.storedKey, signed);
  // A proof of another length gives a key of 32 bytes all the same, and fails below.
  const clientKey = clientSignature.map((byte, i) => byte ^ (proof[i] ?? 0));
  const isEqual = timingSafeEqual(sha256(clientKey), credential.storedKey);
  if (!isEqual || !isKnown || proof.length !== digestBytes) return undefined;
  return Buffer.from(`v=${hmac(credential.serverKey, signed).toString('base64')}`);
}

function refusal(error: unknown): ScramRefusal {
  if (error instanceof ScramError) return { ok: false, fault: 'message', reason: error.message };
  throw error;
}

function randomNonce(): string {
  return randomBytes(18).toString('base64');
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
