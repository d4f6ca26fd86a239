// Passwords as we keep them: argon2id in the usual notation, so that a stolen store gives none of them
// away, and what a hash was made with is written in it. Laws: a notation that nobody can read fits
// nothing; one that would take too much memory or time is not tried. Runs in the pool of threads.

import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

interface Cost {
  /** KiB */
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}

/** The least that OWASP recommends: 19 MB and some 30 ms for each guess. */
const cost: Cost = { memory: 19_456, passes: 2, parallelism: 1 };
const saltBytes = 16;
const tagBytes = 32;

/** What a table may ask for: 256 MB, and about a second of one core. */
const memoryMax = 262_144;
const workMax = 1_048_576;
const parallelismMax = 16;

const derive = promisify(argon2);

/** `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<hash>` */
export async function makeArgon2id(password: Buffer): Promise<string> {
  const nonce = randomBytes(saltBytes);
  const tag = await derive('argon2id', {
    message: password,
    nonce,
    tagLength: tagBytes,
    ...cost,
  });
  const { memory, passes, parallelism } = cost;
  const words = ['', 'argon2id', 'v=19', `m=${memory},t=${passes},p=${parallelism}`];
  return [...words, base64(nonce), base64(tag)].join('$');
}

/** Rejects only when the machine cannot: out of memory. */
export async function verifyArgon2id(password: Buffer, stored: string): Promise<boolean> {
  const read = readArgon2id(stored);
  if (read === undefined) return false;
  const { nonce, tag, how } = read;
  const options = { message: password, nonce, tagLength: tag.length, ...how };
  return timingSafeEqual(await derive('argon2id', options), tag);
}

interface Readable {
  readonly nonce: Buffer;
  readonly tag: Buffer;
  readonly how: Cost;
}

const notation =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,7}),p=(\d{1,3})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

/** Salts of 8 to 64 bytes, as the runtime wants them; hashes of 16 to 64: a shorter one could be guessed. */
function readArgon2id(stored: string): Readable | undefined {
  const parts = notation.exec(stored);
  if (parts === null) return undefined;
  const [, m, t, p, salt = '', hash = ''] = parts;
  const how = { memory: Number(m), passes: Number(t), parallelism: Number(p) };
  return isAffordable(how)
    ? { nonce: Buffer.from(salt, 'base64'), tag: Buffer.from(hash, 'base64'), how }
    : undefined;
}

function isAffordable({ memory, passes, parallelism }: Cost): boolean {
  const isSane = passes >= 1 && parallelism >= 1 && memory >= 8 * parallelism;
  const isBounded = memory <= memoryMax && parallelism <= parallelismMax;
  return isSane && isBounded && memory * passes <= workMax;
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
