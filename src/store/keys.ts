// Keys of the engine's tables as bytes. Laws: different things have different keys; the order of
// bytes is the order of numbers, and of topics level by level; no key is empty or too long.

import { hash } from 'node:crypto';
import { keyBytesMax } from './table.ts';

const slash = 0x2f;
/** The end of a level in a topic's key. No topic contains U+0000, and no other character has the byte. */
export const levelEndByte = 0x00;
/** UTF-8 has no such byte, so no text begins with it. */
const hashedByte = 0xff;
const numberBytes = 6;
/** The greatest number that a key can be; in records it stands for what never comes. */
export const numberMax: number = 2 ** 48 - 1;

/**
 * A topic with each '/' as a zero byte: everything below a level stands together, directly behind
 * the level itself. (As '/' it would stand behind siblings like `a!` and `a-b`.) It may be longer
 * than the engine takes: see `isLong`.
 *
 *   a   a␀   a␀b   a␀b␀c   a␀c   a!   a-b
 */
export function retainedKey(topic: string): Buffer {
  const key = Buffer.from(topic, 'utf8');
  for (let at = key.indexOf(slash); at >= 0; at = key.indexOf(slash, at + 1))
    key[at] = levelEndByte;
  return key;
}

/** Whether a key is one that only a table of hashes can hold. */
export function isLong(key: Uint8Array): boolean {
  return key.length > keyBytesMax;
}

/** The key of something whose own key is too long. */
export function hashKey(key: Uint8Array): Buffer {
  return hash('sha256', key, 'buffer');
}

/**
 * A key for any text, in at most `bytesMax` bytes: the text itself, or a hash where the text is too
 * long, empty, or not a text that UTF-8 can write.
 */
export function shortKey(text: string, bytesMax: number = keyBytesMax): Buffer {
  // No text has fewer bytes than code units.
  if (text.length > 0 && text.length <= bytesMax && text.isWellFormed()) {
    const key = Buffer.from(text, 'utf8');
    if (key.length <= bytesMax) return key;
  }
  const key = Buffer.allocUnsafe(33);
  key[0] = hashedByte;
  // UTF-16 tells apart what UTF-8 cannot write.
  key.set(hash('sha256', Buffer.from(text, 'utf16le'), 'buffer'), 1);
  return key;
}

/** A whole number up to 2^48 - 1; greater numbers have greater keys. */
export function numberKey(number: number): Buffer {
  const key = Buffer.allocUnsafe(numberBytes);
  writeNumber(key, 0, number);
  return key;
}

/** Ordered by the first number, then by the second. */
export function pairKey(first: number, second: number): Buffer {
  const key = Buffer.allocUnsafe(2 * numberBytes);
  writeNumber(key, 0, first);
  writeNumber(key, numberBytes, second);
  return key;
}

/** Answers where the next byte goes. */
export function writeNumber(bytes: Buffer, at: number, number: number): number {
  return bytes.writeUIntBE(number, at, numberBytes);
}

export function readNumber(key: Buffer, at: number): number {
  return key.readUIntBE(at, numberBytes);
}
