// The lines of a file of pre-shared keys. Laws: a line that cannot be used is passed over and told with its
// number, and takes none of the others with it; nothing of a key is ever told. The last line of an identity holds. A key is the bytes that
// stand in the file, whatever they are; an identity is UTF-8.

import { isUtf8 } from 'node:buffer';

export interface PskLines {
  /** Keys by identity, a character for each byte (latin1). */
  readonly secrets: ReadonlyMap<string, string>;
  readonly skipped: readonly SkippedLine[];
}

export interface SkippedLine {
  /** From 1. */
  readonly line: number;
  readonly why: string;
}

/** What OpenSSL takes. */
const identityBytesMax = 256;
const secretBytesMax = 512;
const byteOrderMark = '\xef\xbb\xbf';

export function parsePskLines(bytes: Buffer, delimiter: string): PskLines {
  const secrets = new Map<string, string>();
  const skipped: SkippedLine[] = [];
  const lineOf = new Map<string, number>();
  const divider = Buffer.from(delimiter).toString('latin1');
  const content = bytes.toString('latin1');
  const lines = (content.startsWith(byteOrderMark) ? content.slice(3) : content).split('\n');
  for (const [at, written] of lines.entries()) {
    const line = written.endsWith('\r') ? written.slice(0, -1) : written;
    if (line.trim() === '' || line.startsWith('#')) continue;
    const place = line.indexOf(divider);
    const name = Buffer.from(line.slice(0, Math.max(place, 0)), 'latin1');
    const secret = line.slice(place + divider.length);
    const identity = name.toString('utf8');
    const why = place < 0 ? 'no delimiter' : fault(name, secret);
    if (why !== undefined) {
      skipped.push({ line: at + 1, why });
      continue;
    }
    const former = lineOf.get(identity);
    if (former !== undefined)
      skipped.push({ line: former, why: `line ${at + 1} has the same identity` });
    lineOf.set(identity, at + 1);
    secrets.set(identity, secret);
  }
  return { secrets, skipped };
}

function fault(name: Buffer, secret: string): string | undefined {
  if (name.length === 0) return 'no identity';
  if (name.length > identityBytesMax) return `identity longer than ${identityBytesMax} bytes`;
  if (!isUtf8(name) || name.includes(0)) return 'identity is not UTF-8';
  // An empty key is one that everybody has.
  if (secret === '') return 'no key';
  return secret.length > secretBytesMax ? `key longer than ${secretBytesMax} bytes` : undefined;
}
