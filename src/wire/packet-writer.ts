// The outer shape of every packet we send and the small fields inside. Law: a packet is one
// allocation of its exact size; the encoders count first and then write, answering offsets.

import { fieldMax } from './utf8.ts';
import { varintSize, writeVarint } from './varint.ts';

/** A packet with its fixed header written; the body begins at `bytes.length - remaining`. */
export function startPacket(header: number, remaining: number): Buffer {
  const bytes = Buffer.allocUnsafe(1 + varintSize(remaining) + remaining);
  bytes[0] = header;
  writeVarint(bytes, 1, remaining);
  return bytes;
}

export function writeUint16(bytes: Buffer, at: number, value: number): number {
  bytes[at] = value >>> 8;
  bytes[at + 1] = value & 0xff;
  return at + 2;
}

/** Bytes of a binary field without its length. Throws when no length field can hold it. */
export function binarySize(value: Buffer): number {
  if (value.length > fieldMax) {
    throw new RangeError(
      `Cannot write binary field: ${value.length} bytes, ${fieldMax} is the most`,
    );
  }
  return value.length;
}

/** Writes length and bytes; answers where the next byte goes. */
export function writeBinary(bytes: Buffer, at: number, value: Buffer): number {
  bytes.set(value, writeUint16(bytes, at, value.length));
  return at + 2 + value.length;
}
