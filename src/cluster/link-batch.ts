// What one worker has for another in one loop turn, in one piece of memory, one record behind another:
//
//   run       u8 kind  u8 flags  u16 topic  u32 names  u32 count  u32 frames │ topic  names  frames
//   message   u8 kind  u8 flags  [u48 timestamp  u32 names  names]  [id]  [passage]  [member]  frame
//   word      u8 kind  u32 length │ JSON
//
// A message of the same publisher and time as the one before it says neither again, and an MQTT frame
// knows its own length. Runs and messages are the data path. Words are everything else that has to keep its place among
// them: what is subscribed, which session moves. Whoever reads must not keep the memory.

import { writeUint16 } from '#wire/packet-writer';
import { utf8Size, writeUtf8 } from '#wire/utf8';
import type { FrameRun } from '#core/delivery';
import type { FrameRef, Message, Publisher } from '#core/message';
import type { MemberName } from '#core/peers-port';
import { namesOf } from './publisher-names.ts';

export const Kind = { run: 1, message: 2, word: 3 } as const;
export const Flag = {
  isV5: 1,
  isAwaited: 2,
  hasId: 4,
  hasPassage: 8,
  mayBeHad: 16,
  isDirected: 32,
  isHandedOn: 64,
  /** Publisher and timestamp are those of the message before it in the batch. */
  isAsBefore: 128,
} as const;

export const runHeadBytes = 16;
export const messageHeadBytes = 2;
/** Timestamp and length of the names. */
export const originBytes = 10;
export const wordHeadBytes = 5;

const firstBytes = 64 * 1024;
/** A piece of memory that a flood has made larger is not kept. */
export const spareBytesMax: number = 1024 * 1024;
const publishType = 0x30;

const noBytes: Buffer = Buffer.alloc(0);
const frame: FrameRef = { bytes: Buffer.alloc(0), start: 0, end: 0, idAt: 0 };

export class LinkBatch {
  bytes: Buffer;
  length = 0;
  /** Of the last message. */
  #from: Publisher | undefined;
  #timestampMs = 0;

  constructor(memory?: ArrayBuffer) {
    this.bytes = memory === undefined ? Buffer.allocUnsafeSlow(firstBytes) : Buffer.from(memory);
  }

  run(
    { bytes: from, start, end, count }: FrameRun,
    topic: Buffer,
    isV5: boolean,
    publisher: Publisher,
  ): void {
    const names = namesOf(publisher);
    const frames = end - start;
    let at = this.#room(runHeadBytes + topic.length + names.length + frames);
    const { bytes } = this;
    bytes[at] = Kind.run;
    bytes[at + 1] = isV5 ? Flag.isV5 : 0;
    writeUint16(bytes, at + 2, topic.length);
    bytes.writeUInt32BE(names.length, at + 4);
    bytes.writeUInt32BE(count, at + 8);
    bytes.writeUInt32BE(frames, at + 12);
    at += runHeadBytes;
    bytes.set(topic, at);
    at += topic.length;
    bytes.set(names, at);
    at += names.length;
    from.copy(bytes, at, start, end);
    this.length = at + frames;
  }

  /** `member`: to one member of a shared subscription, not to whoever subscribes. */
  message(message: Message, flags: number, member: MemberName | undefined): void {
    const { givenId, passage, qos, retain, from, timestampMs } = message;
    const isAsBefore = from === this.#from && timestampMs === this.#timestampMs;
    const names = isAsBefore ? noBytes : namesOf(from);
    const isV5 = message.frameToKeep(frame);
    const frameBytes = frame.end - frame.start;
    const idBytes = givenId === undefined ? 0 : 2 + utf8Size(givenId);
    const extra = idBytes + (passage === undefined ? 0 : 8) + memberBytes(member);
    let at = this.#room(messageHeadBytes + originBytes + names.length + extra + frameBytes);
    const { bytes } = this;
    bytes[at] = Kind.message;
    bytes[at + 1] =
      flags |
      (isV5 ? Flag.isV5 : 0) |
      (givenId === undefined ? 0 : Flag.hasId) |
      (passage === undefined ? 0 : Flag.hasPassage) |
      (message.mayBeHad ? Flag.mayBeHad : 0) |
      (member === undefined ? 0 : Flag.isDirected) |
      (isAsBefore ? Flag.isAsBefore : 0);
    at += messageHeadBytes;
    if (!isAsBefore) at = this.#origin(at, from, timestampMs, names);
    if (givenId !== undefined) at = writeUtf8(bytes, at, givenId, idBytes - 2);
    if (passage !== undefined) {
      at = bytes.writeUIntBE(passage.sessionNo, at, 6);
      at = bytes.writeUInt16BE(passage.packetId, at);
    }
    if (member !== undefined) at = writeMember(bytes, at, member);
    frame.bytes.copy(bytes, at, frame.start, frame.end);
    // An encoded frame carries the flags of nobody, a received one perhaps DUP.
    bytes[at] = publishType | (qos << 1) | (retain ? 1 : 0);
    this.length = at + frameBytes;
  }

  #origin(at: number, from: Publisher, timestampMs: number, names: Buffer): number {
    const { bytes } = this;
    this.#from = from;
    this.#timestampMs = timestampMs;
    bytes.writeUIntBE(timestampMs, at, 6);
    bytes.writeUInt32BE(names.length, at + 6);
    bytes.set(names, at + originBytes);
    return at + originBytes + names.length;
  }

  word(word: unknown): void {
    const text = Buffer.from(JSON.stringify(word), 'utf8');
    const at = this.#room(wordHeadBytes + text.length);
    this.bytes[at] = Kind.word;
    this.bytes.writeUInt32BE(text.length, at + 1);
    this.bytes.set(text, at + wordHeadBytes);
    this.length = at + wordHeadBytes + text.length;
  }

  /** Answers where the next record begins; there is memory for it. */
  #room(bytes: number): number {
    const needed = this.length + bytes;
    if (needed > this.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2));
      this.bytes.copy(larger, 0, 0, this.length);
      this.bytes = larger;
    }
    return this.length;
  }
}

function memberBytes(member: MemberName | undefined): number {
  if (member === undefined) return 0;
  return 6 + utf8Size(member.group) + utf8Size(member.filter) + utf8Size(member.clientId);
}

function writeMember(bytes: Buffer, at: number, member: MemberName): number {
  const { group, filter, clientId } = member;
  const filterAt = writeUtf8(bytes, at, group, utf8Size(group));
  const clientIdAt = writeUtf8(bytes, filterAt, filter, utf8Size(filter));
  return writeUtf8(bytes, clientIdAt, clientId, utf8Size(clientId));
}
