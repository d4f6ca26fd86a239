// A message as the store keeps it: who published it and when, then the PUBLISH it came in, so that
// reading it back needs no encoding to send it on. A message that came in no frame, or in one that
// said something to the broker alone, is kept in one encoded for it.
//
//   format  flags  timestamp  client id, [username], address  port  [message id]  PUBLISH frame
//   u8      u8     u48        u16 + UTF-8 each                u16   u16 + UTF-8   to the end

import type { Properties } from '#wire/packet';
import { PacketReader } from '#wire/packet-reader';
import { writeUint16 } from '#wire/packet-writer';
import { readProperties } from '#wire/properties';
import { ProtocolError } from '#wire/protocol-error';
import { type PublishParts, publishParts, scanPublish } from '#wire/publish-scan';
import { readUtf8, utf8Size, writeUtf8 } from '#wire/utf8';
import { type FrameRef, Message, type Publisher } from '#core/message';
import { writeNumber } from './keys.ts';
import { StoreDamaged } from './store-damaged.ts';

const format = 1;
const Flag = { isV5: 1, hasUsername: 2, hasId: 4 } as const;
/** Behind the flags: how many rules it has gone through. */
const hopsShift = 3;
const hopsMax = 15;
const flagsMax: number = (hopsMax << hopsShift) | 7;
const publishType = 3;

const frame: FrameRef = { bytes: Buffer.alloc(0), start: 0, end: 0, idAt: 0 };
const parts: PublishParts = publishParts();

/** Format, flags, timestamp. */
const headBytes = 2 + 6;

/** Messages come in runs, and those of one connection share the object: it is written once a run. */
let lastFrom: Publisher | undefined;
let lastNames: Buffer = Buffer.alloc(0);

/** Bytes of the record that `writeMessage` writes. */
export function messageBytes(message: Message): number {
  const { from, givenId } = message;
  message.frameToKeep(frame);
  const idBytes = givenId === undefined ? 0 : 2 + utf8Size(givenId);
  return headBytes + namesOf(from).length + idBytes + frame.end - frame.start;
}

/** Answers where the next byte goes. */
export function writeMessage(message: Message, bytes: Buffer, at: number): number {
  const { from, givenId, qos, retain } = message;
  const isV5 = message.frameToKeep(frame);
  bytes[at] = format;
  bytes[at + 1] =
    (isV5 ? Flag.isV5 : 0) |
    (from.username === undefined ? 0 : Flag.hasUsername) |
    (givenId === undefined ? 0 : Flag.hasId) |
    (Math.min(from.hops ?? 0, hopsMax) << hopsShift);
  at = writeNumber(bytes, at + 2, message.timestampMs);
  const names = namesOf(from);
  bytes.set(names, at);
  at += names.length;
  if (givenId !== undefined) at = writeUtf8(bytes, at, givenId, utf8Size(givenId));
  frame.bytes.copy(bytes, at, frame.start, frame.end);
  // An encoded frame carries the flags of nobody, a received one perhaps DUP.
  bytes[at] = (publishType << 4) | (qos << 1) | (retain ? 1 : 0);
  return at + frame.end - frame.start;
}

function namesOf(from: Publisher): Buffer {
  if (from === lastFrom) return lastNames;
  const { clientId, username, address, port } = from;
  const [idSize, addressSize] = [utf8Size(clientId), utf8Size(address)];
  const nameSize = username === undefined ? 0 : utf8Size(username);
  const names = Buffer.allocUnsafeSlow(
    2 + idSize + (username === undefined ? 0 : 2 + nameSize) + 2 + addressSize + 2,
  );
  let at = writeUtf8(names, 0, clientId, idSize);
  if (username !== undefined) at = writeUtf8(names, at, username, nameSize);
  at = writeUtf8(names, at, address, addressSize);
  writeUint16(names, at, port);
  lastFrom = from;
  lastNames = names;
  return names;
}

/** What else is known of a publisher, from where the record stands. */
type Origin = Pick<Publisher, 'zone' | 'mountpoint' | 'askedTopic'>;

/**
 * The message whose record is `bytes[start..]`, which it keeps: they must not be written to again.
 * Throws `StoreDamaged` when they are no such record.
 */
export function readMessage(bytes: Buffer, start = 0, origin?: Origin): Message {
  try {
    return read(new PacketReader(bytes, start, bytes.length), origin);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    throw new StoreDamaged(`Cannot read a stored message: ${error.message}`, { cause: error });
  }
}

function read(reader: PacketReader, origin: Origin | undefined): Message {
  const found = reader.byte();
  if (found !== format) {
    throw new StoreDamaged(
      `Cannot read a stored message: its format is ${found}, known is ${format}`,
    );
  }
  const flags = reader.byte();
  if (flags > flagsMax) throw new StoreDamaged(`Cannot read a stored message: flags ${flags}`);
  const timestampMs = readTimestamp(reader);
  const from: Publisher = {
    clientId: takeText(reader),
    username: (flags & Flag.hasUsername) === 0 ? undefined : takeText(reader),
    address: takeText(reader),
    port: reader.uint16(),
    ...origin,
    ...(flags >> hopsShift > 0 && { hops: flags >> hopsShift }),
  };
  const id = (flags & Flag.hasId) === 0 ? undefined : takeText(reader);
  return readFrame(reader, from, timestampMs, id, (flags & Flag.isV5) !== 0);
}

/** Names that did not come in an MQTT string (a certificate's, a plugin's) may contain anything. */
function takeText(reader: PacketReader): string {
  const length = reader.uint16();
  const start = reader.at;
  if (length > reader.left)
    throw new StoreDamaged('Cannot read a stored message: a name is cut off');
  reader.at = start + length;
  return reader.bytes.toString('utf8', start, start + length);
}

function readTimestamp(reader: PacketReader): number {
  const high = reader.uint16();
  return high * 0x1_0000_0000 + reader.uint32();
}

function readFrame(
  reader: PacketReader,
  from: Publisher,
  timestampMs: number,
  id: string | undefined,
  isV5: boolean,
): Message {
  const { bytes, at: frameStart } = reader;
  const header = reader.byte();
  const length = reader.varint();
  if (header >> 4 !== publishType || length !== reader.left) {
    throw new StoreDamaged('Cannot read a stored message: no PUBLISH fills the rest of the record');
  }
  scanPublish(parts, header, bytes, reader.at, bytes.length, isV5);
  const { topicStart, topicEnd, packetId, payloadStart } = parts;
  if (topicStart === topicEnd) throw new StoreDamaged('Cannot read a stored message: no topic');
  return Message.loaded(
    readUtf8(bytes, topicStart, topicEnd),
    header,
    propertiesOf(bytes),
    from,
    timestampMs,
    id,
    bytes,
    frameStart,
    packetId === 0 ? 0 : topicEnd,
    payloadStart,
    isV5,
  );
}

function propertiesOf(bytes: Buffer): Properties | undefined {
  const { propertiesStart, propertiesEnd } = parts;
  if (propertiesStart === propertiesEnd) return undefined;
  return readProperties(bytes, propertiesStart, propertiesEnd, 'publish');
}
