// Keys of the engine's tables as bytes. Laws: different things have different keys; the order of
// bytes is the order of numbers, and of topics level by level; no key is empty or too long.

import { hash } from 'node:crypto';
import type { GroupName } from '#core/store-port';
import { keyBytesMax } from './table.ts';

const slash = 0x2f;
/** The end of a level in a topic's key. No topic contains U+0000, and no other character has the byte. */
export const levelEndByte = 0x00;
/** UTF-8 has no such byte, so no text begins with it. */
const hashedByte = 0xff;
const numberBytes = 6;
/** In the key of a passage: to whom, and where that one's name stands. */
const toSession = 0x00;
const toGroup = 0x01;
const receiverAt = numberBytes + 2 + 1;
const groupBytes = 8;
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

/** Who was given a message: a session by its number, or a shared subscription. */
export type PassageReceiver = number | GroupName;

/**
 * The mark of a QoS 2 publish that was stored for somebody: all marks of one publish stand together,
 * and all of one publisher.
 *
 *   publisher's session  packet id  0x00  session of the receiver
 *   u48                  u16        0x01  8 bytes of a hash of group and filter
 */
export function passageKey(sessionNo: number, packetId: number, receiver: PassageReceiver): Buffer {
  if (typeof receiver === 'number') {
    const key = Buffer.allocUnsafe(receiverAt + numberBytes);
    key[writePublish(key, sessionNo, packetId)] = toSession;
    writeNumber(key, receiverAt, receiver);
    return key;
  }
  const group = hash('sha256', `${receiver.name}\0${receiver.filter}`, 'buffer');
  const key = Buffer.allocUnsafe(receiverAt + groupBytes);
  key[writePublish(key, sessionNo, packetId)] = toGroup;
  group.copy(key, receiverAt, 0, groupBytes);
  return key;
}

/** Where the marks of a publish begin and (excluded) end. */
export function passageRange(sessionNo: number, packetId: number): readonly [Buffer, Buffer] {
  const from = Buffer.allocUnsafe(numberBytes + 2);
  writePublish(from, sessionNo, packetId);
  return [from, Buffer.concat([from, Buffer.of(0xff)])];
}

/** Undefined: the mark is not one of a session. */
export function receiverOfPassage(key: Buffer): number | undefined {
  const isOfSession = key.length === receiverAt + numberBytes && key[receiverAt - 1] === toSession;
  return isOfSession ? readNumber(key, receiverAt) : undefined;
}

function writePublish(key: Buffer, sessionNo: number, packetId: number): number {
  return key.writeUInt16BE(packetId, writeNumber(key, 0, sessionNo));
}

/** Answers where the next byte goes. */
export function writeNumber(bytes: Buffer, at: number, number: number): number {
  return bytes.writeUIntBE(number, at, numberBytes);
}

export function readNumber(key: Buffer, at: number): number {
  return key.readUIntBE(at, numberBytes);
}
