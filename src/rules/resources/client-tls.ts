// What the broker shows to an https server, and how it checks what the server shows. Law: files are read when
// the first connection is made and after a failure, so that one that comes later is found.

import { readFileSync, statSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';

export interface ClientTls {
  /** Authorities in place of those of the runtime. */
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  /** False: whoever answers is believed. */
  readonly isVerified: boolean;
}

export type ClientTlsOptions = Pick<SecureContextOptions, 'ca' | 'cert' | 'key' | 'minVersion'> & {
  readonly rejectUnauthorized: boolean;
};

const fileBytesMax = 1024 * 1024;

/** Throws with the reason where a file cannot be used. */
export function readClientTls({
  caFile,
  certFile,
  keyFile,
  isVerified,
}: ClientTls): ClientTlsOptions {
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new Error('Cannot use certfile or keyfile alone: expected both');
  }
  const ca = read('cacertfile', caFile);
  const cert = read('certfile', certFile);
  const key = read('keyfile', keyFile);
  check('cacertfile', caFile, ca);
  check('certfile', certFile, cert && { ...cert, ...key });
  return { ...ca, ...cert, ...key, minVersion: 'TLSv1.2', rejectUnauthorized: isVerified };
}

const fields = { cacertfile: 'ca', certfile: 'cert', keyfile: 'key' } as const;
type FileName = keyof typeof fields;
type Material = { readonly [F in (typeof fields)[FileName]]?: Buffer };

function read(name: FileName, path: string | undefined): Material | undefined {
  if (path === undefined) return undefined;
  try {
    const found = statSync(path);
    // NOTE: opening a pipe would wait for its other end.
    if (!found.isFile()) throw new Error('it is no file');
    if (found.size > fileBytesMax) throw new Error(`it has more than ${fileBytesMax} bytes`);
    return { [fields[name]]: readFileSync(path) };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw cannot(name, path, code === 'ENOENT' ? 'it does not exist' : (code ?? message), error);
  }
}

function check(name: FileName, path: string | undefined, material: Material | undefined): void {
  if (path === undefined || material === undefined) return;
  if (name === 'cacertfile' && !material.ca?.includes('-----BEGIN ')) {
    throw cannot(name, path, 'it has no certificate');
  }
  try {
    createSecureContext(material);
  } catch (error) {
    throw cannot(name, path, error instanceof Error ? error.message : String(error), error);
  }
}

function cannot(name: FileName, path: string, why: string, cause: unknown = undefined): Error {
  return new Error(`Cannot use ${name} "${path}": ${why}`, { cause });
}
