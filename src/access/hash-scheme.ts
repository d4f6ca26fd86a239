// How passwords are hashed in a table that somebody else fills: `password_hash` of the authentication
// plugins. Law: a scheme that is accepted can be verified by this runtime, at a bounded cost.

import { getHashes } from 'node:crypto';

/** Where the salt of a row goes. */
export type SaltPlace = 'none' | 'before' | 'after';

export type HashScheme =
  | { readonly kind: 'plain' }
  | { readonly kind: 'digest'; readonly digest: string; readonly salt: SaltPlace }
  /** `hasSaltColumn`: the salt is a column of its own, not read from the hash. */
  | { readonly kind: 'bcrypt'; readonly hasSaltColumn: boolean }
  | {
      readonly kind: 'pbkdf2';
      readonly digest: string;
      readonly iterations: number;
      readonly keyBytes: number;
    }
  | { readonly kind: 'argon2id' };

/** Names as the configuration has them, and as the runtime has them. */
const digestNames: ReadonlyMap<string, string> = new Map([
  ['md5', 'md5'],
  ['sha', 'sha1'],
  ['sha256', 'sha256'],
  ['sha512', 'sha512'],
]);
const macNames: ReadonlyMap<string, string> = new Map([
  ['md4', 'md4'],
  ['ripemd160', 'ripemd160'],
  ...digestNames,
  ['sha224', 'sha224'],
  ['sha384', 'sha384'],
]);

/** Some three seconds of one core, and not of the loop. */
const iterationsMax = 5_000_000;
/** Fewer bytes could be guessed; more only cost, for each digest's length the iterations again. */
const keyBytesMin = 8;
const keyBytesMax = 128;

/** What is allowed, as the end of "expected …". */
export const hashSchemeExpects: string =
  `plain, ${present(digestNames).join(', ')}; one of these digests with "salt," before it or ",salt" behind it; ` +
  'bcrypt, salt,bcrypt, bcrypt,salt; argon2id; or pbkdf2,<MAC>,<iterations>,<bytes> with a MAC out of ' +
  `${present(macNames).join(', ')}, up to ${iterationsMax} iterations and ${keyBytesMin} to ${keyBytesMax} bytes`;

/** Undefined: not allowed, see `hashSchemeFault`. */
export function parseHashScheme(text: string): HashScheme | undefined {
  const read = readScheme(text);
  return typeof read === 'string' ? undefined : read;
}

/** Why the text is no scheme, worded to follow a colon; undefined: it is one. */
export function hashSchemeFault(text: string): string | undefined {
  const read = readScheme(text);
  return typeof read === 'string' ? read : undefined;
}

function readScheme(text: string): HashScheme | string {
  const words = text.split(',').map((word) => word.trim());
  if (words[0] === 'pbkdf2') return readPbkdf2(words);
  const [first = '', second = '', ...more] = words;
  if (more.length > 0) return `expected ${hashSchemeExpects}`;
  if (words.length === 1) return readName(first, 'none');
  if (first === 'salt') return readName(second, 'before');
  if (second === 'salt') return readName(first, 'after');
  return `expected ${hashSchemeExpects}`;
}

function readName(name: string, salt: SaltPlace): HashScheme | string {
  if (name === 'bcrypt') return { kind: 'bcrypt', hasSaltColumn: salt !== 'none' };
  if (salt === 'none' && (name === 'plain' || name === 'argon2id')) return { kind: name };
  if (!digestNames.has(name)) return `expected ${hashSchemeExpects}`;
  const digest = runtimeName(digestNames, name);
  return digest === undefined ? missing(name) : { kind: 'digest', digest, salt };
}

function readPbkdf2(words: readonly string[]): HashScheme | string {
  const [, mac = '', iterationsText = '', keyText = '', ...more] = words;
  const isKnown = macNames.has(mac) && more.length === 0;
  const iterations = wholeNumber(iterationsText);
  const keyBytes = wholeNumber(keyText);
  const isBounded =
    iterations >= 1 &&
    iterations <= iterationsMax &&
    keyBytes >= keyBytesMin &&
    keyBytes <= keyBytesMax;
  if (!isKnown || !isBounded) return `expected ${hashSchemeExpects}`;
  const digest = runtimeName(macNames, mac);
  return digest === undefined ? missing(mac) : { kind: 'pbkdf2', digest, iterations, keyBytes };
}

function wholeNumber(text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
}

function missing(name: string): string {
  return `"${name}" is not offered by this runtime, whose library of digests has retired it`;
}

function runtimeName(names: ReadonlyMap<string, string>, name: string): string | undefined {
  const found = names.get(name);
  return found !== undefined && getHashes().includes(found) ? found : undefined;
}

function present(names: ReadonlyMap<string, string>): string[] {
  return [...names.keys()].filter((name) => runtimeName(names, name) !== undefined);
}
