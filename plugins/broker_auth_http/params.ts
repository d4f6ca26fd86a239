// What a request says: `name=value` pairs with commas between them, where a value that is exactly a
// placeholder stands for something of the client. Law: what a client chose is data and nothing else, by
// whatever characters it is written; a value that cannot be written is not sent changed.

import { isUtf8 } from 'node:buffer';

/** Of whom is asked, and what for. */
export interface Subject {
  readonly clientId: string;
  readonly username: string | undefined;
  readonly address: string;
  readonly password?: Buffer | undefined;
  readonly commonName?: string | undefined;
  readonly distinguishedName?: string | undefined;
  readonly localPort?: number | undefined;
  readonly action?: 'publish' | 'subscribe';
  readonly topic?: string;
  readonly mountpoint?: string;
}

/** `%A` is 1 for a subscription and 2 for a publish. */
export type Placeholder = '%u' | '%c' | '%a' | '%P' | '%C' | '%d' | '%l' | '%A' | '%t' | '%m';

const placeholders: Record<Placeholder, (subject: Subject) => string | Buffer | undefined> = {
  '%u': ({ username }) => username,
  '%c': ({ clientId }) => clientId,
  '%a': ({ address }) => address,
  '%P': ({ password }) => password,
  '%C': ({ commonName }) => commonName,
  '%d': ({ distinguishedName }) => distinguishedName,
  '%l': ({ localPort }) => localPort?.toString(),
  '%A': ({ action }) => (action === 'subscribe' ? '1' : '2'),
  '%t': ({ topic }) => topic,
  '%m': ({ mountpoint }) => mountpoint,
};

/** As older files write them. */
const olderNames: Readonly<Record<string, Placeholder>> = { '%cn': '%C', '%dn': '%d' };

export interface Param {
  readonly name: string;
  /** Either a placeholder or a text that is always the same. */
  readonly stands: Placeholder | undefined;
  readonly text: string;
}

/** A comma inside a value is written `\,` and a backslash `\\`. Undefined: it cannot be read. */
export function parseParams(written: string, allowed: readonly Placeholder[]): Param[] | undefined {
  const params: Param[] = [];
  for (const pair of splitPairs(written) ?? [undefined]) {
    const equals = pair?.indexOf('=') ?? -1;
    if (pair === undefined || equals < 1) return undefined;
    const name = pair.slice(0, equals).trim();
    const text = pair.slice(equals + 1).trim();
    if (name === '' || params.some((other) => other.name === name)) return undefined;
    const stands = olderNames[text] ?? text;
    if (allowed.includes(stands as Placeholder)) {
      params.push({ name, stands: stands as Placeholder, text: '' });
    } else if (/^%[a-zA-Z]{1,2}$/.test(text)) {
      return undefined;
    } else params.push({ name, stands: undefined, text });
  }
  return params;
}

function splitPairs(written: string): string[] | undefined {
  if (/\\(?![\\,])/.test(written.replaceAll('\\\\', ''))) return undefined;
  const pairs = written.match(/(?:\\.|[^,\\])+/g) ?? [];
  // As many commas stand between them as there are pairs, less one.
  const commas = written.replaceAll(/\\./g, '').split(',').length;
  if (commas !== pairs.length) return undefined;
  return pairs.map((pair) => pair.replaceAll(/\\(.)/g, '$1'));
}

/** For a query and for the body of a form. Bytes that are no text are sent as they are. */
export function formOf(params: readonly Param[], subject: Subject): string {
  return params
    .map((param) => `${percentEncoded(param.name)}=${percentEncoded(valueOf(param, subject))}`)
    .join('&');
}

/** Undefined: the password is no text, and JSON has no way to say it. */
export function jsonOf(params: readonly Param[], subject: Subject): string | undefined {
  const fields: [string, string][] = [];
  for (const param of params) {
    const value = valueOf(param, subject);
    if (typeof value !== 'string' && !isUtf8(value)) return undefined;
    fields.push([param.name, value.toString()]);
  }
  return JSON.stringify(Object.fromEntries(fields));
}

/** What a client does not have is empty. */
function valueOf({ stands, text }: Param, subject: Subject): string | Buffer {
  return stands === undefined ? text : (placeholders[stands](subject) ?? '');
}

const plain = /^[A-Za-z0-9_.~-]*$/;

function percentEncoded(value: string | Buffer): string {
  if (typeof value === 'string' && plain.test(value)) return value;
  let encoded = '';
  for (const byte of Buffer.from(value as string)) {
    const letter = String.fromCharCode(byte);
    encoded += plain.test(letter) ? letter : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return encoded;
}
