// The parameters of a request from wherever they stand: path before query before body, and of a query the
// first of a name. Every body is JSON, whatever its content type says.

import { isUtf8 } from 'node:buffer';
import { OperatingError } from '#admin/failures';
import type { HttpFace } from '#admin/operation';

type Params = Record<string, unknown>;

export interface RequestParts {
  readonly path: Readonly<Record<string, string>>;
  /** As it stands in the request line. */
  readonly url: string;
  /** Undefined: there was none. */
  readonly body: unknown;
}

/** Throws BadEscape, or OperatingError when the body is not what it should be. */
export function requestParams(face: HttpFace, { path, url, body }: RequestParts): Params {
  // Without a prototype, so that a field may have any name.
  const params = Object.create(null) as Params;
  if (face.bodyAs === undefined) Object.assign(params, fieldsOf(body));
  else if (body !== undefined) params[face.bodyAs] = body;
  return Object.assign(params, readQuery(url), path);
}

function fieldsOf(body: unknown): object {
  if (body === undefined) return {};
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body;
  const found = Array.isArray(body) ? 'an array' : body === null ? 'null' : `a ${typeof body}`;
  throw new OperatingError('invalid', `Cannot use the body: found ${found}, expected an object`);
}

function readQuery(url: string): Params {
  const params = Object.create(null) as Params;
  const start = url.indexOf('?');
  if (start < 0) return params;
  for (const pair of url.slice(start + 1).split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decoded(equals < 0 ? pair : pair.slice(0, equals));
    params[name] ??= equals < 0 ? '' : decoded(pair.slice(equals + 1));
  }
  return params;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (cause) {
    throw new BadEscape(text, { cause });
  }
}

/** A percent sign in the address that is followed by no character. */
export class BadEscape extends Error {
  override readonly name = 'BadEscape';

  constructor(text: string, options?: ErrorOptions) {
    super(`Cannot decode "${text.slice(0, 60)}": expected %XX for bytes of UTF-8`, options);
  }
}

export function readJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  if (!isUtf8(bytes)) {
    throw new OperatingError('notJson', 'Cannot read the body as JSON: it is not UTF-8');
  }
  if (isTooDeep(bytes)) {
    const text = `Cannot read the body: it is nested deeper than ${depthMax} levels, the most`;
    throw new OperatingError('notJson', text);
  }
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch (cause) {
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new OperatingError('notJson', `Cannot read the body as JSON: ${found}`, { cause });
  }
}

/** Whoever walks through what was said walks in a stack that has an end. */
const depthMax = 100;

/** Looks at brackets outside of texts; what is no JSON may be anything. */
function isTooDeep(bytes: Buffer): boolean {
  let depth = 0;
  let isText = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === quote) isText = !isText;
    else if (isText && byte === backslash) i++;
    else if (isText) continue;
    else if (byte === openArray || byte === openObject) depth++;
    else if (byte === closeArray || byte === closeObject) depth--;
    if (depth > depthMax) return true;
  }
  return false;
}

const [quote, backslash] = Buffer.from('"\\');
const [openArray, closeArray, openObject, closeObject] = Buffer.from('[]{}');
