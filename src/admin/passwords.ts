// Passwords and secrets as they are kept: argon2id in the usual notation, so that a stolen store gives
// none of them away, and what a hash was made with is written in it.

import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

interface Cost {
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}

/** The least that OWASP recommends: 19 MB and some 30 ms for each guess. */
const cost: Cost = { memory: 19_456, passes: 2, parallelism: 1 };
const saltBytes = 16;
const tagBytes = 32;

const derive = promisify(argon2);

/** `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<hash>` */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  const tag = await tagOf(password, salt, cost);
  const { memory, passes, parallelism } = cost;
  const words = ['', 'argon2id', 'v=19', `m=${memory},t=${passes},p=${parallelism}`];
  return [...words, base64(salt), base64(tag)].join('$');
}

/** False also for a hash that nobody can read. */
export async function verifyPassword(password: string, hash: string): Promise<boolean> {
  const parts = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(hash);
  if (parts === null) return false;
  const [, memory, passes, parallelism, salt = '', wanted = ''] = parts;
  const made = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  const tag = Buffer.from(wanted, 'base64');
  const found = await tagOf(password, Buffer.from(salt, 'base64'), made, tag.length);
  return timingSafeEqual(found, tag);
}

function tagOf(password: string, nonce: Buffer, how: Cost, tagLength = tagBytes): Promise<Buffer> {
  return derive('argon2id', { message: password, nonce, tagLength, ...how });
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const secretLength = 43;

/** 43 characters of 0-9, A-Z, a-z: 256 bits. */
export function randomSecret(): string {
  let secret = '';
  while (secret.length < secretLength) {
    for (const byte of randomBytes(64)) {
      // 248 is 4 × 62: refusing the rest gives every character the same chance.
      if (byte < 248 && secret.length < secretLength) secret += letters.charAt(byte % 62);
    }
  }
  return secret;
}
