// Passwords and secrets of management: kept as hashes, see #access/password-hash, and made up where
// nobody has given one.

import { randomBytes } from 'node:crypto';
import { makeHash, verifyStored } from '#access/password-hash';

/** Rejects when it is empty. */
export function hashPassword(password: string): Promise<string> {
  return makeHash(Buffer.from(password));
}

/** False also for a hash that nobody can read. */
export function verifyPassword(password: string, hash: string): Promise<boolean> {
  return verifyStored(Buffer.from(password), hash);
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
