// The signature algorithms, and which of them a key may be used with. Law: the key decides, never the
// token; else a token that names HS256 and is signed with the text of a public key would pass.

import type { KeyObject } from 'node:crypto';

export const algorithms = [
  'HS256',
  'HS384',
  'HS512',
  'RS256',
  'RS384',
  'RS512',
  'ES256',
  'ES384',
  'ES512',
] as const;
export type Algorithm = (typeof algorithms)[number];

export const secretAlgorithms: readonly Algorithm[] = ['HS256', 'HS384', 'HS512'];

const rsaAlgorithms: readonly Algorithm[] = ['RS256', 'RS384', 'RS512'];
/** What RFC 7518 section 3.3 asks for. */
const rsaBitsMin = 2048;
const byCurve: ReadonlyMap<string | undefined, Algorithm> = new Map([
  ['prime256v1', 'ES256'],
  ['secp384r1', 'ES384'],
  ['secp521r1', 'ES512'],
]);

/** Of a public key. Throws where there is none. */
export function algorithmsOf(key: KeyObject): readonly Algorithm[] {
  const { asymmetricKeyType: kind, asymmetricKeyDetails: details = {} } = key;
  if (kind === 'rsa') {
    const { modulusLength: bits = 0 } = details;
    if (bits >= rsaBitsMin) return rsaAlgorithms;
    throw new Error(`found an RSA key of ${bits} bits, want at least ${rsaBitsMin}`);
  }
  if (kind !== 'ec') throw new Error(`found a key of kind "${kind}", want rsa or ec`);
  const algorithm = byCurve.get(details.namedCurve);
  if (algorithm !== undefined) return [algorithm];
  const wanted = 'P-256, P-384 or P-521';
  throw new Error(`found a key of the curve "${details.namedCurve}", want ${wanted}`);
}
