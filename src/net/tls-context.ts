// From settings and files to what node:tls wants. Law: everything is read and checked here, in one
// go, so that a bad new file is found before anything that works is replaced.

import { constants, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, DEFAULT_CIPHERS, type SecureContextOptions } from 'node:tls';
import type { TlsSettings } from '#config/settings';

/** Settings with the files of the certificate decided. */
export interface TlsFiles {
  readonly keyFile: string;
  readonly certFile: string;
  readonly caCertFile: string | undefined;
  readonly dhFile: string | undefined;
}

export interface LoadedContext {
  readonly options: SecureContextOptions;
  readonly certificate: X509Certificate;
}

export function filesOf(files: TlsFiles): string[] {
  return [files.keyFile, files.certFile, files.caCertFile, files.dhFile].filter(
    (file) => file !== undefined,
  );
}

/** Throws with the name of the file when one cannot be read, or when they do not fit together. */
export function loadContext(settings: TlsSettings, files: TlsFiles): LoadedContext {
  const cert = read(files.certFile);
  const options: SecureContextOptions = {
    key: read(files.keyFile),
    cert,
    minVersion: settings.minVersion,
    maxVersion: settings.maxVersion,
    honorCipherOrder: settings.honorCipherOrder,
    ciphers: ciphersOf(settings),
    secureOptions: secureOptionsOf(settings),
    ...(files.caCertFile === undefined ? {} : { ca: read(files.caCertFile) }),
    ...(files.dhFile === undefined ? {} : { dhparam: read(files.dhFile) }),
  };
  try {
    createSecureContext(options);
    return { options, certificate: new X509Certificate(cert) };
  } catch (cause) {
    const names = filesOf(files).join('", "');
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Cannot use TLS files "${names}": ${found}`, { cause });
  }
}

function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Cannot read TLS file "${file}": ${found}`, { cause });
  }
}

function ciphersOf(settings: TlsSettings): string {
  const chosen = settings.pskCiphers ?? settings.ciphers;
  const list = chosen === undefined ? DEFAULT_CIPHERS : chosen.replaceAll(',', ':');
  const old = settings.minVersion === 'TLSv1' || settings.minVersion === 'TLSv1.1';
  // Both sign with SHA-1, which OpenSSL 3 allows at level 0 only.
  return old && !list.includes('@SECLEVEL') ? `${list}:@SECLEVEL=0` : list;
}

// A session resumed by ticket would not tell its PSK identity again, so PSK goes without tickets.
// Renegotiation lets a client make the server work for nothing, and nothing here needs it.
function secureOptionsOf(settings: TlsSettings): number {
  const tickets = settings.reuseSessions && settings.pskCiphers === undefined;
  const options = constants.SSL_OP_NO_RENEGOTIATION;
  return tickets ? options : options | constants.SSL_OP_NO_TICKET;
}
