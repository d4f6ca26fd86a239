// The few DER encodings that a certificate needs (ITU-T X.690). Pure: values in, bytes out.

/** Tag, length, contents. */
export function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  return Buffer.concat([Buffer.of(tag), lengthOf(body.length), body]);
}

export const sequence = (...items: readonly Uint8Array[]): Buffer => der(0x30, ...items);
export const set = (...items: readonly Uint8Array[]): Buffer => der(0x31, ...items);
export const octets = (bytes: Uint8Array): Buffer => der(0x04, bytes);
export const utf8 = (text: string): Buffer => der(0x0c, Buffer.from(text, 'utf8'));
export const boolean = (value: boolean): Buffer => der(0x01, Buffer.of(value ? 0xff : 0));
/** `[n]`, constructed. */
export const explicit = (n: number, ...items: readonly Uint8Array[]): Buffer =>
  der(0xa0 | n, ...items);
/** `[n]`, primitive. */
export const implicit = (n: number, bytes: Uint8Array): Buffer => der(0x80 | n, bytes);

/** A number that is not negative, most significant byte first. */
export function integer(bytes: Uint8Array): Buffer {
  let from = 0;
  while (from < bytes.length - 1 && bytes[from] === 0) from++;
  const digits = bytes.subarray(from);
  const negativeLooking = (digits[0] ?? 0) >= 0x80;
  return der(0x02, negativeLooking ? Buffer.of(0) : Buffer.alloc(0), digits);
}

/** The lowest `unused` bits of the last byte are not part of the string. */
export function bits(bytes: Uint8Array, unused = 0): Buffer {
  return der(0x03, Buffer.of(unused), bytes);
}

export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const digits = [arc & 0x7f];
    for (let left = arc >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80);
    bytes.push(...digits);
  }
  return der(0x06, Buffer.from(bytes));
}

/** UTCTime up to 2049, GeneralizedTime from 2050 on (RFC 5280, 4.1.2.5). */
export function time(at: Date): Buffer {
  const digits = at.toISOString().replace(/[-:T]|\.\d+/g, '');
  return at.getUTCFullYear() < 2050
    ? der(0x17, Buffer.from(digits.slice(2), 'latin1'))
    : der(0x18, Buffer.from(digits, 'latin1'));
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  const digits: number[] = [];
  for (let left = length; left > 0; left >>>= 8) digits.unshift(left & 0xff);
  return Buffer.of(0x80 | digits.length, ...digits);
}
