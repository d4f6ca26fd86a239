// The certificate that TLS listeners use until somebody configures one: ECDSA P-256, signed by
// itself, made once and kept in the data directory. Law: the key is readable by its owner only, and
// an existing pair is never replaced.

import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import {
  bits,
  boolean,
  explicit,
  implicit,
  integer,
  objectId,
  octets,
  sequence,
  set,
  time,
  utf8,
} from './der.ts';

export interface SelfSigned {
  readonly keyFile: string;
  readonly certFile: string;
  /** False: the pair was there already. */
  readonly created: boolean;
}

const years = 10;

export function ensureSelfSigned(dataDir: string): SelfSigned {
  const keyFile = join(dataDir, 'self-signed-key.pem');
  const certFile = join(dataDir, 'self-signed-cert.pem');
  if (existsSync(keyFile) && existsSync(certFile)) return { keyFile, certFile, created: false };
  mkdirSync(dataDir, { recursive: true, mode: 0o750 });
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  writeWhole(keyFile, key, 0o600);
  writeWhole(certFile, pem(certificate(privateKey, publicKey, new Date())), 0o644);
  return { keyFile, certFile, created: true };
}

// A crash between the two leaves a key without its certificate: the next start makes both anew.
function writeWhole(file: string, text: string, mode: number): void {
  const fresh = `${file}.new`;
  // A mode holds for a file that is made, not for one that is there.
  rmSync(fresh, { force: true });
  writeFileSync(fresh, text, { mode, flag: 'wx' });
  renameSync(fresh, file);
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

const ecdsaWithSha256 = sequence(objectId('1.2.840.10045.4.3.2'));

function certificate(privateKey: KeyObject, publicKey: KeyObject, now: Date): Buffer {
  const until = new Date(now);
  until.setUTCFullYear(now.getUTCFullYear() + years);
  const name = sequence(set(sequence(objectId('2.5.4.3'), utf8('broker'))));
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const body = sequence(
    explicit(0, integer(Buffer.of(2))),
    integer(serial),
    ecdsaWithSha256,
    name,
    sequence(time(now), time(until)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...extensions())),
  );
  return sequence(body, ecdsaWithSha256, bits(sign('sha256', body, privateKey)));
}

function extensions(): Buffer[] {
  return [
    // Its own authority, so that a client may trust this one file; of nothing but itself.
    extension('2.5.29.19', true, sequence(boolean(true), integer(Buffer.of(0)))),
    // digitalSignature and keyCertSign.
    extension('2.5.29.15', true, bits(Buffer.of(0b1000_0100), 2)),
    // serverAuth.
    extension('2.5.29.37', false, sequence(objectId('1.3.6.1.5.5.7.3.1'))),
    extension('2.5.29.17', false, sequence(...alternativeNames())),
  ];
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return critical
    ? sequence(objectId(id), boolean(true), octets(value))
    : sequence(objectId(id), octets(value));
}

function alternativeNames(): Buffer[] {
  const names = new Set(['localhost', hostname()]);
  const loopback6 = Buffer.alloc(16);
  loopback6[15] = 1;
  return [
    ...[...names].map((name) => implicit(2, Buffer.from(name, 'latin1'))),
    implicit(7, Buffer.of(127, 0, 0, 1)),
    implicit(7, loopback6),
  ];
}
