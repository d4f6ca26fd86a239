// Checked values → the TLS settings of a listener, of clients or of HTTP: paths from the root, lists of
// ciphers as OpenSSL wants them.

import { resolve } from 'node:path';
import type { TlsSettings } from './settings.ts';
import type { TlsVersions } from './tls-keys.ts';

export function buildTls(
  tls: Omit<TlsSettings, 'minVersion' | 'maxVersion'>,
  { min, max }: TlsVersions,
  root: string,
): TlsSettings {
  const absolute = (file: string | undefined): string | undefined =>
    file === undefined ? undefined : resolve(root, file);
  // OpenSSL separates by colons; lists of the original platform by commas.
  const separated = (list: string | undefined): string | undefined =>
    list?.replaceAll(/\s*,\s*/g, ':');
  return {
    ...tls,
    minVersion: min,
    maxVersion: max,
    keyFile: absolute(tls.keyFile),
    certFile: absolute(tls.certFile),
    caCertFile: absolute(tls.caCertFile),
    dhFile: absolute(tls.dhFile),
    ciphers: separated(tls.ciphers),
    pskCiphers: separated(tls.pskCiphers),
  };
}
