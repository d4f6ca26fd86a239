// Whether a password is the one that was stored, in all the forms that a table of users may have. Pure but
// for random salts. Laws: what nobody can read fits nothing, nor does an empty hash or an empty password
// (CVE-2018-12551); equal or not is told in the same time; no stored value can ask for more than a bounded
// cost. How many are computed at once is hash-queue.ts.

import { createHash, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { makeArgon2id, verifyArgon2id } from './argon2id.ts';
import { type HashScheme, parseHashScheme, type SaltPlace } from './hash-scheme.ts';

/** A row of a table of users. */
export interface StoredHash {
  readonly hash: string;
  readonly salt?: string | undefined;
}

/**
 * As the original platform keeps the passwords of auth_clientid and auth_username. `value` holds bytes,
 * a character each (latin1): 4 of salt, then the hex digest of salt and password.
 */
export interface SaltedPassword {
  /** `plain`, `md5`, `sha`, `sha256`, `sha512` */
  readonly scheme: string;
  readonly value: string;
}

/** `$argon2id$…` and `$2a$…`, `$2b$…`, `$2y$…` say themselves what they are. */
export type StoredPassword = string | SaltedPassword;

const saltedSaltBytes = 4;
const derive = promisify(pbkdf2);

/** False also for what is malformed. Rejects only when the machine cannot: out of memory. */
export async function verifyHash(
  scheme: HashScheme,
  password: Buffer,
  { hash, salt }: StoredHash,
): Promise<boolean> {
  if (password.length === 0 || hash === '') return false;
  switch (scheme.kind) {
    case 'plain':
      return isEqual(password, Buffer.from(hash));
    case 'digest':
      if (scheme.salt !== 'none' && salt === undefined) return false;
      return isHexOf(digestOf(scheme, password, Buffer.from(salt ?? '')), hash);
    case 'bcrypt':
      if (!scheme.hasSaltColumn) return verifyBcrypt(password, hash);
      return salt !== undefined && verifyBcrypt(password, hash, salt);
    case 'pbkdf2': {
      const { iterations, keyBytes, digest } = scheme;
      if (salt === undefined || hash.length !== 2 * keyBytes) return false;
      return isHexOf(await derive(password, Buffer.from(salt), iterations, keyBytes, digest), hash);
    }
    case 'argon2id':
      return verifyArgon2id(password, hash);
  }
}

/** For a password that is new: argon2id, `$argon2id$v=19$…`. */
export async function makeHash(password: Buffer): Promise<string> {
  if (password.length === 0) throw new RangeError('Cannot hash the password: it is empty');
  return makeArgon2id(password);
}

/** As `verifyHash`. */
export async function verifyStored(password: Buffer, stored: StoredPassword): Promise<boolean> {
  if (password.length === 0) return false;
  if (typeof stored !== 'string') return verifySalted(password, stored);
  return stored.startsWith('$2')
    ? verifyBcrypt(password, stored)
    : verifyArgon2id(password, stored);
}

/** As `SaltedPassword` has it, for whoever must write that form; `scheme` as it is named there. */
export function makeSalted(scheme: string, password: Buffer): SaltedPassword {
  if (password.length === 0) throw new RangeError('Cannot hash the password: it is empty');
  const salt = randomBytes(saltedSaltBytes);
  const digest = saltedDigest(scheme, salt, password);
  if (digest === undefined) {
    const wanted = 'expected plain, md5, sha, sha256 or sha512';
    throw new RangeError(`Cannot hash the password by "${scheme}": ${wanted}`);
  }
  return { scheme, value: Buffer.concat([salt, digest]).toString('latin1') };
}

/** Loaded when there is such a hash: everybody who verifies passwords would load it otherwise. */
async function verifyBcrypt(password: Buffer, hash: string, salt?: string): Promise<boolean> {
  const bcrypt = await import('./bcrypt.ts');
  return bcrypt.verifyBcrypt(password, hash, salt);
}

/** False where computing takes next to nothing, so that waiting for a turn would take longer. */
export function isCostly({ kind }: HashScheme): boolean {
  return kind !== 'plain' && kind !== 'digest';
}

function verifySalted(password: Buffer, { scheme, value }: SaltedPassword): boolean {
  const bytes = Buffer.from(value, 'latin1');
  // A character that is no byte would be folded into one.
  if (bytes.toString('latin1') !== value) return false;
  const [salt, found] = [bytes.subarray(0, saltedSaltBytes), bytes.subarray(saltedSaltBytes)];
  const digest = saltedDigest(scheme, salt, password);
  if (digest === undefined || found.length === 0) return false;
  return scheme === 'plain' ? isEqual(digest, found) : isHexText(digest, found);
}

/** The digest as text, as it stands behind the salt; undefined: no scheme of this form. */
function saltedDigest(name: string, salt: Buffer, password: Buffer): Buffer | undefined {
  const scheme = parseHashScheme(name);
  if (scheme?.kind === 'plain') return Buffer.concat([salt, password]);
  if (scheme?.kind !== 'digest' || scheme.salt !== 'none') return undefined;
  const digest = digestOf({ ...scheme, salt: 'before' }, password, salt);
  return Buffer.from(digest.toString('hex'));
}

function digestOf(
  { digest, salt: place }: { readonly digest: string; readonly salt: SaltPlace },
  password: Buffer,
  salt: Buffer,
): Buffer {
  const made = createHash(digest);
  if (place === 'before') made.update(salt);
  made.update(password);
  if (place === 'after') made.update(salt);
  return made.digest();
}

/** Hex in either case; a text of another length has been told apart before any secret is looked at. */
function isHexOf(digest: Buffer, text: string): boolean {
  return isHexText(Buffer.from(digest.toString('hex')), Buffer.from(text));
}

function isHexText(wanted: Buffer, found: Buffer): boolean {
  if (found.length !== wanted.length) return false;
  return timingSafeEqual(wanted, Buffer.from(found.toString('latin1').toLowerCase(), 'latin1'));
}

/** Of any lengths, in a time that tells neither how much is equal nor how long the other is. */
function isEqual(one: Buffer, other: Buffer): boolean {
  const sha256 = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest();
  return timingSafeEqual(sha256(one), sha256(other));
}
