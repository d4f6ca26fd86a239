// Headers of requests to other servers, as the user sets them: `<word>.$ = value`. Law: what the request
// itself decides cannot be set.

import { type Key, optionalKey } from './key.ts';
import type { PluginValues } from './plugin-values.ts';
import type { ValueType } from './value-type.ts';

export const headerValue: ValueType<string> = {
  expects: 'the value of a header: printable characters of ASCII',
  parse: (written) => (/^[\x20-\x7E]+$/.test(written) ? written : undefined),
};

/** `pattern`: `auth.http.header.$`. */
export function headerKey(pattern: string): Key<string | undefined> {
  return optionalKey<string>(pattern, headerValue, {
    sample: 'Bearer token-of-the-broker',
    sampleNames: 'authorization',
    text: 'A header of every request, by its name in small letters. Its value is never shown.',
  });
}

const ownHeaders = new Set([
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export function readHeaders(
  values: PluginValues,
  headers: Key<string | undefined>,
): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { key: written, names, value } of values.lines(headers)) {
    const [name = ''] = names;
    if (ownHeaders.has(name)) {
      const text = `Cannot set header ${name}: the request itself decides it, expected another header`;
      values.problem(written, text);
    } else if (value !== undefined) found[name] = value;
  }
  return found;
}
