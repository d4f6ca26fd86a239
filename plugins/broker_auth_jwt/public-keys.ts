// Public keys as they come from files and from issuers, and as they go to workers: plain data. Laws: what
// cannot verify a signature is not taken; no private or symmetric key is.

import { createPublicKey, type JsonWebKeyInput } from 'node:crypto';
import { describeError } from '#sdk';
import { algorithmsOf } from './algorithms.ts';

/** A key of a key set, without what nobody needs. */
export interface PublicJwk {
  readonly kid: string | undefined;
  readonly alg: string | undefined;
  readonly key: JsonWebKeyInput['key'];
}

/** What the control part shares with workers. */
export interface SharedKeys {
  /** Of the file. */
  readonly pems: readonly string[];
  /** Of the issuer; undefined: not known now. */
  readonly set: readonly PublicJwk[] | undefined;
}

export interface KeySet {
  readonly keys: readonly PublicJwk[];
  /** Why others were left out. */
  readonly skipped: readonly string[];
}

export const pemBytesMax: number = 65_536;
const pemKeysMax = 8;
const setKeysMax = 64;
const publicBlocks: ReadonlySet<string | undefined> = new Set([
  'PUBLIC KEY',
  'RSA PUBLIC KEY',
  'CERTIFICATE',
]);

/** The keys of a file, each as PEM. Throws words that follow a colon. */
export function readPems(text: string): readonly string[] {
  const blocks = [...text.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----[^-]+-----END \1-----/g)];
  const pems = blocks.flatMap(([block, kind]) => {
    if (kind === 'EC PARAMETERS') return [];
    if (!publicBlocks.has(kind)) throw new Error(`found ${kind}, want PUBLIC KEY or CERTIFICATE`);
    const key = createPublicKey(block);
    algorithmsOf(key);
    return [key.export({ type: 'spki', format: 'pem' }) as string];
  });
  if (pems.length === 0) throw new Error('found no public key in PEM');
  if (pems.length <= pemKeysMax) return pems;
  throw new Error(`found ${pems.length} keys, want at most ${pemKeysMax}`);
}

/** A key set as an issuer publishes it (RFC 7517 section 5). Throws words that follow a colon. */
export function readKeySet(text: string): KeySet {
  const value: unknown = JSON.parse(text);
  const listed = typeof value === 'object' && value !== null && 'keys' in value && value.keys;
  if (!Array.isArray(listed))
    throw new Error('found no key set, want an object with a list "keys"');
  if (listed.length > setKeysMax) {
    throw new Error(`found a key set of ${listed.length} keys, want at most ${setKeysMax}`);
  }
  const keys: PublicJwk[] = [];
  const skipped: string[] = [];
  for (const [place, one] of listed.entries()) {
    try {
      keys.push(readJwk(one));
    } catch (error) {
      skipped.push(`key ${place}: ${describeError(error)}`);
    }
  }
  return { keys, skipped };
}

function readJwk(value: unknown): PublicJwk {
  if (typeof value !== 'object' || value === null) throw new Error('found no object');
  const { kid, alg, use, key_ops, kty, n, e, crv, x, y, d } = value as Record<string, unknown>;
  if (kty !== 'RSA' && kty !== 'EC') throw new Error('want a key of type RSA or EC');
  if (d !== undefined) throw new Error('found a private key, which nobody should have published');
  if (use !== undefined && use !== 'sig') throw new Error('it is not for signatures');
  if (key_ops !== undefined && !(Array.isArray(key_ops) && key_ops.includes('verify'))) {
    throw new Error('it is not for verifying');
  }
  const key = (kty === 'RSA' ? { kty, n, e } : { kty, crv, x, y }) as PublicJwk['key'];
  algorithmsOf(createPublicKey({ key, format: 'jwk' }));
  return {
    kid: typeof kid === 'string' ? kid : undefined,
    alg: typeof alg === 'string' ? alg : undefined,
    key,
  };
}
