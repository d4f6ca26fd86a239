// SCRAM-SHA-256 (RFC 5802, RFC 7677), the server's side, for enhanced authentication of MQTT 5.0.
// Pure: bytes in, bytes out; who carries them is not its business. Laws: the password is never
// needed nor kept, and no answer tells whether a user exists. No channel binding. The second half
// of the file reads the client's messages.

import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from 'node:crypto';
import { invariant } from '#base/assert';

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

/** `reason` is for the log. It never tells an unknown user from a wrong password. */
export type ScramFirst = { ok: true; serverFirst: Buffer } | { ok: false; reason: string };
export type ScramFinal =
  | { ok: true; serverFinal: Buffer; username: string }
  | { ok: false; reason: string };

/** What a client did wrong. The message is for the log. */
export class ScramError extends Error {
  override readonly name = 'ScramError';
}

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
      return { ok: true, serverFinal, username: challenge.username };
    } catch (error) {
      return refusal(error);
    }
  }

  #outOfTurn(message: string): { ok: false; reason: string } {
    this.#state = 'over';
    this.#challenge = undefined;
    return { ok: false, reason: `Cannot accept ${message}: it came out of turn` };
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

function verify(challenge: Challenge, clientFinal: Buffer): Buffer {
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
  if (!isEqual || !isKnown || proof.length !== digestBytes) {
    throw new ScramError('Cannot verify client proof: it does not match');
  }
  return Buffer.from(`v=${hmac(credential.serverKey, signed).toString('base64')}`);
}

function refusal(error: unknown): { ok: false; reason: string } {
  if (error instanceof ScramError) return { ok: false, reason: error.message };
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

// The client's messages, read strictly (RFC 5802, section 7): attributes in their order, nothing
// missing, nothing twice.

interface ClientFirst {
  /** As it came: the client repeats it in its final message. */
  readonly gs2Header: string;
  /** The message without that header, as it came: it will be signed. */
  readonly bare: string;
  readonly username: string;
  readonly nonce: string;
}

interface ClientFinal {
  readonly withoutProof: string;
  readonly channelBinding: string;
  readonly nonce: string;
  readonly proof: Buffer;
}

/** Longer than any honest message: our part is bounded, and a username rarely has 100 bytes. */
const messageBytesMax = 4096;

/** Well-formed UTF-8 only, byte order mark kept: what is decoded must encode to the same bytes. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const gs2HeaderForm = /^(?<binding>n|y|p=[A-Za-z0-9.-]+),(?:a=(?<authzid>[^,]+))?,/;
const attributeForm = /^(?<name>[A-Za-z])=(?<value>[^\0]+)$/u;
/** Printable ASCII; the comma separates attributes. */
const nonceForm = /^[\x21-\x2b\x2d-\x7e]+$/;
const base64Form = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function readClientFirst(bytes: Buffer): ClientFirst {
  const what = 'client-first-message';
  const text = decode(bytes, what);
  const header = gs2HeaderForm.exec(text);
  if (header === null) throw new ScramError(`Cannot read ${what}: it does not begin with "n,,"`);
  const { binding = '', authzid } = header.groups ?? {};
  if (binding.startsWith('p')) {
    throw new ScramError(`Cannot read ${what}: channel binding is not supported`);
  }
  const gs2Header = header[0];
  const bare = text.slice(gs2Header.length);
  const attributes = bare.split(',');
  if (attributes[0]?.startsWith('m=')) {
    throw new ScramError(`Cannot read ${what}: mandatory extensions are not supported`);
  }
  const username = readName(takeAttribute(attributes, 'n', what), what);
  const nonce = readNonce(takeAttribute(attributes, 'r', what), what);
  checkExtensions(attributes, 'nr', what);
  if (authzid !== undefined && readName(authzid, what) !== username) {
    throw new ScramError(`Cannot read ${what}: acting for another user is not supported`);
  }
  return { gs2Header, bare, username, nonce };
}

function readClientFinal(bytes: Buffer): ClientFinal {
  const what = 'client-final-message';
  const text = decode(bytes, what);
  const proofAt = text.lastIndexOf(',');
  const withoutProof = text.slice(0, Math.max(0, proofAt));
  const attributes = withoutProof.split(',');
  const channelBinding = takeAttribute(attributes, 'c', what);
  const nonce = readNonce(takeAttribute(attributes, 'r', what), what);
  const proof = takeAttribute([text.slice(proofAt + 1)], 'p', what);
  checkExtensions(attributes, 'crp', what);
  if (!base64Form.test(proof)) {
    throw new ScramError(`Cannot read ${what}: attribute "p" is not base64`);
  }
  return { withoutProof, channelBinding, nonce, proof: Buffer.from(proof, 'base64') };
}

/**
 * A string as both sides hash and compare it: the parts of SASLprep (RFC 4013) that people meet,
 * namely odd spaces, invisible characters, NFKC, and no control characters. Right-to-left rules
 * and unassigned code points are not checked.
 */
export function saslPrep(text: string): string {
  const prepared = text
    .replace(/\p{Zs}/gu, ' ')
    .replace(/\u034f|[\ufe00-\ufe0f]|[\u00ad\u1806\u180b-\u180d\u200b-\u200d\u2060\ufeff]/gu, '')
    .normalize('NFKC');
  if (prepared === '') throw new ScramError('Cannot prepare string: nothing is left of it');
  if (/[\p{Cc}\p{Cs}\p{Co}\p{Noncharacter_Code_Point}\u2028\u2029]/u.test(prepared)) {
    throw new ScramError('Cannot prepare string: a character in it is not allowed');
  }
  return prepared;
}

function decode(bytes: Buffer, what: string): string {
  if (bytes.length > messageBytesMax) {
    throw new ScramError(
      `Cannot read ${what}: ${bytes.length} bytes found, at most ${messageBytesMax} wanted`,
    );
  }
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new ScramError(`Cannot read ${what}: it is not UTF-8`, { cause });
  }
}

/** Takes the next attribute off the list. */
function takeAttribute(attributes: string[], name: string, what: string): string {
  const found = attributeForm.exec(attributes.shift() ?? '')?.groups ?? {};
  const { name: foundName = 'nothing', value = '' } = found;
  if (foundName !== name) {
    throw new ScramError(`Cannot read ${what}: "${foundName}" found, attribute "${name}" wanted`);
  }
  return value;
}

/** Optional extensions are to be ignored, but must look like attributes, and not like ours. */
function checkExtensions(attributes: readonly string[], taken: string, what: string): void {
  for (const attribute of attributes) {
    const name = attributeForm.exec(attribute)?.groups?.['name'];
    if (name === undefined) throw new ScramError(`Cannot read ${what}: an extension is malformed`);
    if (taken.includes(name)) {
      throw new ScramError(`Cannot read ${what}: attribute "${name}" is out of place`);
    }
  }
}

function readName(encoded: string, what: string): string {
  if (/=(?!2C|3D)/.test(encoded)) {
    throw new ScramError(`Cannot read ${what}: "=" in a name is neither "=2C" nor "=3D"`);
  }
  return saslPrep(encoded.replaceAll('=2C', ',').replaceAll('=3D', '='));
}

function readNonce(nonce: string, what: string): string {
  if (!nonceForm.test(nonce)) {
    throw new ScramError(`Cannot read ${what}: the nonce has characters that are not allowed`);
  }
  return nonce;
}
