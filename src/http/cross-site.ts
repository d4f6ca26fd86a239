// Whether a page of another origin has a browser ask, which adds the credentials that it knows: then
// nothing may change. A body is taken for JSON whatever its type says, so that the browser itself would
// not ask for leave first. Programs say none of these headers.

import type { IncomingMessage } from 'node:http';

const readingMethods: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS']);

export function isCrossSite({ method, headers }: IncomingMessage): boolean {
  if (readingMethods.has(method)) return false;
  const site = headers['sec-fetch-site'];
  // It knows better than we do behind a proxy, and is not sent where there is no TLS.
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  const { origin, host } = headers;
  return origin !== undefined && hostOf(origin) !== host?.toLowerCase();
}

/** Undefined: no page that we could have served. */
function hostOf(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase();
}
