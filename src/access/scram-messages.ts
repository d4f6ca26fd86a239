// What a SCRAM client sends, read strictly (RFC 5802, section 7): attributes in their order, nothing
// missing, nothing twice; and how names and passwords are prepared. Law: a ScramError never quotes
// what the client sent, apart from the letter of an attribute.

/** What a client did wrong. The message is for the log. */
export class ScramError extends Error {
  override readonly name = 'ScramError';
}

export interface ClientFirst {
  /** As it came: the client repeats it in its final message. */
  readonly gs2Header: string;
  /** The message without that header, as it came: it will be signed. */
  readonly bare: string;
  readonly username: string;
  readonly nonce: string;
}

export interface ClientFinal {
  readonly withoutProof: string;
  readonly channelBinding: string;
  readonly nonce: string;
  readonly proof: Buffer;
}

/** Longer than any honest message: our part is bounded, and a username rarely has 100 bytes. */
const messageBytesMax = 4096;

/** Well-formed UTF-8 only, byte order mark kept: what is decoded must encode to the same bytes. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const gs2HeaderForm = /^(?<binding>n|y|p=[A-Za-z0-9.-]+),(?:a=(?<authzid>[^,]+))?,/;
const attributeForm = /^(?<name>[A-Za-z])=(?<value>[^\0]+)$/u;
/** Printable ASCII; the comma separates attributes. */
const nonceForm = /^[\x21-\x2b\x2d-\x7e]+$/;
const base64Form = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export function readClientFirst(bytes: Buffer): ClientFirst {
  const what = 'client-first-message';
  const text = decode(bytes, what);
  const header = gs2HeaderForm.exec(text);
  if (header === null) throw new ScramError(`Cannot read ${what}: it does not begin with "n,,"`);
  const { binding = '', authzid } = header.groups ?? {};
  if (binding.startsWith('p')) {
    throw new ScramError(`Cannot read ${what}: channel binding is not supported`);
  }
  const gs2Header = header[0];
  const bare = text.slice(gs2Header.length);
  const attributes = bare.split(',');
  if (attributes[0]?.startsWith('m=')) {
    throw new ScramError(`Cannot read ${what}: mandatory extensions are not supported`);
  }
  const username = readName(takeAttribute(attributes, 'n', what), what);
  const nonce = readNonce(takeAttribute(attributes, 'r', what), what);
  checkExtensions(attributes, 'nr', what);
  if (authzid !== undefined && readName(authzid, what) !== username) {
    throw new ScramError(`Cannot read ${what}: acting for another user is not supported`);
  }
  return { gs2Header, bare, username, nonce };
}

export function readClientFinal(bytes: Buffer): ClientFinal {
  const what = 'client-final-message';
  const text = decode(bytes, what);
  const proofAt = text.lastIndexOf(',');
  const withoutProof = text.slice(0, Math.max(0, proofAt));
  const attributes = withoutProof.split(',');
  const channelBinding = takeAttribute(attributes, 'c', what);
  const nonce = readNonce(takeAttribute(attributes, 'r', what), what);
  const proof = takeAttribute([text.slice(proofAt + 1)], 'p', what);
  checkExtensions(attributes, 'crp', what);
  if (!base64Form.test(proof)) {
    throw new ScramError(`Cannot read ${what}: attribute "p" is not base64`);
  }
  return { withoutProof, channelBinding, nonce, proof: Buffer.from(proof, 'base64') };
}

/**
 * A string as both sides hash and compare it: the parts of SASLprep (RFC 4013) that people meet,
 * namely odd spaces, invisible characters, NFKC, and no control characters. Right-to-left rules
 * and unassigned code points are not checked.
 */
export function saslPrep(text: string): string {
  const prepared = text
    .replace(/\p{Zs}/gu, ' ')
    .replace(/\u034f|[\ufe00-\ufe0f]|[\u00ad\u1806\u180b-\u180d\u200b-\u200d\u2060\ufeff]/gu, '')
    .normalize('NFKC');
  if (prepared === '') throw new ScramError('Cannot prepare string: nothing is left of it');
  if (/[\p{Cc}\p{Cs}\p{Co}\p{Noncharacter_Code_Point}\u2028\u2029]/u.test(prepared)) {
    throw new ScramError('Cannot prepare string: a character in it is not allowed');
  }
  return prepared;
}

function decode(bytes: Buffer, what: string): string {
  if (bytes.length > messageBytesMax) {
    throw new ScramError(
      `Cannot read ${what}: ${bytes.length} bytes found, at most ${messageBytesMax} wanted`,
    );
  }
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new ScramError(`Cannot read ${what}: it is not UTF-8`, { cause });
  }
}

/** Takes the next attribute off the list. */
function takeAttribute(attributes: string[], name: string, what: string): string {
  const found = attributeForm.exec(attributes.shift() ?? '')?.groups ?? {};
  const { name: foundName = 'nothing', value = '' } = found;
  if (foundName !== name) {
    throw new ScramError(`Cannot read ${what}: "${foundName}" found, attribute "${name}" wanted`);
  }
  return value;
}

/** Optional extensions are to be ignored, but must look like attributes, and not like ours. */
function checkExtensions(attributes: readonly string[], taken: string, what: string): void {
  for (const attribute of attributes) {
    const name = attributeForm.exec(attribute)?.groups?.['name'];
    if (name === undefined) throw new ScramError(`Cannot read ${what}: an extension is malformed`);
    if (taken.includes(name)) {
      throw new ScramError(`Cannot read ${what}: attribute "${name}" is out of place`);
    }
  }
}

function readName(encoded: string, what: string): string {
  if (/=(?!2C|3D)/.test(encoded)) {
    throw new ScramError(`Cannot read ${what}: "=" in a name is neither "=2C" nor "=3D"`);
  }
  return saslPrep(encoded.replaceAll('=2C', ',').replaceAll('=3D', '='));
}

function readNonce(nonce: string, what: string): string {
  if (!nonceForm.test(nonce)) {
    throw new ScramError(`Cannot read ${what}: the nonce has characters that are not allowed`);
  }
  return nonce;
}
