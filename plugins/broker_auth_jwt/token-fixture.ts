// Keys and tokens for tests, made with node:crypto alone: what verifies them must not have made them.

import { execFileSync } from 'node:child_process';
import { createHmac, type KeyObject, generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Algorithm } from './algorithms.ts';

export const testSecret = 'a secret of more than thirty-two characters';

export interface Pair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

export const rsa: Pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
export const ec256: Pair = ecPair('P-256');
const ec384 = ecPair('P-384');
const ec521 = ecPair('P-521');

export function ecPair(namedCurve: string): Pair {
  return generateKeyPairSync('ec', { namedCurve });
}

export const pairOf: ReadonlyMap<Algorithm, Pair> = new Map([
  ['RS256', rsa],
  ['RS384', rsa],
  ['RS512', rsa],
  ['ES256', ec256],
  ['ES384', ec384],
  ['ES512', ec521],
]);

export function pemOf({ publicKey }: Pair): string {
  return publicKey.export({ type: 'spki', format: 'pem' }) as string;
}

export function jwkOf({ publicKey }: Pair, more: object = {}): Record<string, unknown> {
  return { ...publicKey.export({ format: 'jwk' }), ...more };
}

export interface TokenOptions {
  readonly alg?: string;
  /** Of the header. */
  readonly header?: object;
  readonly secret?: string | Buffer;
  readonly key?: KeyObject;
}

/** HS256 by the secret of the tests, unless something else is said. */
export function makeToken(claims: unknown, options: TokenOptions = {}): string {
  const { alg = 'HS256', header = {}, secret = testSecret } = options;
  const head = encode({ alg, typ: 'JWT', ...header });
  const signed = `${head}.${encode(claims)}`;
  return `${signed}.${signatureOf(signed, alg, secret, options.key)}`;
}

function signatureOf(
  signed: string,
  alg: string,
  secret: string | Buffer,
  key: KeyObject | undefined,
): string {
  if (alg === 'none') return '';
  const hash = `sha${alg.slice(2)}`;
  if (alg.startsWith('HS')) return createHmac(hash, secret).update(signed).digest('base64url');
  const by = key ?? pairOf.get(alg as Algorithm)?.privateKey;
  if (by === undefined) throw new TypeError(`Cannot sign with ${alg}: there is no key`);
  const bytes = sign(hash, Buffer.from(signed), { key: by, dsaEncoding: 'ieee-p1363' });
  return bytes.toString('base64url');
}

export function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** A certificate for 127.0.0.1, by OpenSSL. */
export function selfSigned(): TlsPair {
  const dir = mkdtempSync(join(tmpdir(), 'broker-jwt-'));
  try {
    const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')];
    const made = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=issuer'];
    const named = ['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert];
    execFileSync('openssl', ['req', ...made, ...named], { stdio: 'ignore' });
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
  } finally {
    rmSync(dir, { recursive: true });
  }
}
