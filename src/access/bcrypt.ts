// bcrypt, to read what others have stored. Laws: a hash that nobody can read fits nothing; one that costs
// too much is not tried; no client waits for that of another, see bcrypt-thread.ts. What is new is hashed with
// argon2id.

import { isUtf8 } from 'node:buffer';
import { timingSafeEqual } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import type { BcryptOrder } from './bcrypt-thread.ts';

/** Two seconds; every step doubles it. */
const costMax = 14;
const costMin = 4;
const heapMbMax = 32;
const saltLength = 29;
const hashLength = 31;

/** `$2b$10$`, then 22 characters of salt. */
const saltText = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{22}$/;
const hashText = /^[./A-Za-z0-9]{31}$/;

/** `salt`: from a column of its own; undefined: the one that the hash begins with. */
export async function verifyBcrypt(
  password: Buffer,
  stored: string,
  salt: string = stored.slice(0, saltLength),
): Promise<boolean> {
  const wanted = stored.slice(saltLength);
  if (!isReadable(stored) || !isAffordable(salt) || !isTakenWhole(password)) return false;
  const made = await hashInThread({ password: password.toString('utf8'), salt });
  // The digest alone: the salt was given, and is not always written back as it was.
  const found = made.slice(-hashLength);
  return timingSafeEqual(Buffer.from(found, 'latin1'), Buffer.from(wanted, 'latin1'));
}

function hashInThread(order: BcryptOrder): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const thread = new Worker(new URL('bcrypt-thread.ts', import.meta.url), {
    workerData: order,
    resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
  });
  thread.once('message', resolve);
  thread.once('error', reject);
  thread.once('exit', () => reject(new Error('Cannot hash a password: its thread has ended')));
  return promise;
}

function isReadable(stored: string): boolean {
  return saltText.test(stored.slice(0, saltLength)) && hashText.test(stored.slice(saltLength));
}

function isAffordable(salt: string): boolean {
  const cost = Number(saltText.exec(salt)?.[1]);
  return cost >= costMin && cost <= costMax;
}

/** A zero byte would end the password; bytes that are no text would be replaced, many by the same. */
function isTakenWhole(password: Buffer): boolean {
  return !password.includes(0) && isUtf8(password);
}
