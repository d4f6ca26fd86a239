// What SCRAM needs of a password, as it is kept and sent between threads: bytes in base64.

import { makeScramCredential, type ScramCredential } from './scram.ts';

export interface StoredScram {
  readonly salt: string;
  readonly iterations: number;
  readonly storedKey: string;
  readonly serverKey: string;
}

/** As `makeScramCredential`, which throws a ScramError. */
export function makeStoredScram(password: string): StoredScram {
  const { salt, iterations, storedKey, serverKey } = makeScramCredential(password);
  const text = (bytes: Buffer): string => bytes.toString('base64');
  return { salt: text(salt), iterations, storedKey: text(storedKey), serverKey: text(serverKey) };
}

export function readScram({
  salt,
  iterations,
  storedKey,
  serverKey,
}: StoredScram): ScramCredential {
  const bytes = (text: string): Buffer => Buffer.from(text, 'base64');
  return {
    salt: bytes(salt),
    iterations,
    storedKey: bytes(storedKey),
    serverKey: bytes(serverKey),
  };
}
