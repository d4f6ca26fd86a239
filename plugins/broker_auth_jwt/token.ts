// What is a token and what is not, before anything is verified. Law: whatever has a readable header is a
// token, and refused if anything is wrong with it; everything else is somebody else's password.

export interface TokenHeader {
  readonly algorithm: unknown;
  readonly keyId: string | undefined;
  /** Extensions that a reader must understand (RFC 7515 section 4.1.11); this one knows none. */
  readonly isCritical: boolean;
}

/** More than an issuer needs; bounds what is parsed for somebody whom nobody knows yet. */
export const tokenBytesMax: number = 8192;
const headerCharactersMax = 2048;
const keyIdCharactersMax = 512;

/** Undefined: it is no token. */
export function readHeader(text: string): TokenHeader | undefined {
  const end = text.slice(0, headerCharactersMax + 1).indexOf('.');
  const encoded = text.slice(0, Math.max(end, 0));
  if (!/^[\w-]+$/.test(encoded)) return undefined;
  const header = parseObject(Buffer.from(encoded, 'base64url').toString());
  if (header === undefined) return undefined;
  const { alg, kid } = header;
  const keyId = typeof kid === 'string' && kid.length <= keyIdCharactersMax ? kid : undefined;
  return { algorithm: alg, keyId, isCritical: Object.hasOwn(header, 'crit') };
}

function parseObject(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined; // some other text with a dot in it
  }
}
