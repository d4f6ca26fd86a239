// What a publisher's rights are asked with, long after: before the record of a retained message, where
// there was a client that access control decides about. Law: records without it are as good as ever.
//
//   mark   zone  mountpoint  topic asked for, or ''   message record
//   2      u16 + UTF-8 each                           (begins with 1)

import { utf8Size, writeUtf8 } from '#wire/utf8';
import type { Message, Publisher } from '#core/message';
import { readMessage } from './message-record.ts';
import { StoreDamaged } from './store-damaged.ts';

const mark = 2;
const noBytes: Buffer = Buffer.alloc(0);

/** Messages come in runs, and those of one connection share the object. */
let lastFrom: Publisher | undefined;
let lastRecord: Buffer = noBytes;

/** Empty for one whose rights nobody asks for. */
export function originRecord(from: Publisher): Buffer {
  if (from === lastFrom) return lastRecord;
  lastFrom = from;
  lastRecord = write(from);
  return lastRecord;
}

function write({ zone, mountpoint = '', askedTopic = '', isSuperuser }: Publisher): Buffer {
  if (zone === undefined || isSuperuser === true) return noBytes;
  const texts = [zone, mountpoint, askedTopic];
  const record = Buffer.alloc(texts.reduce((sum, text) => sum + 2 + utf8Size(text), 1));
  record[0] = mark;
  let at = 1;
  for (const text of texts) at = writeUtf8(record, at, text, utf8Size(text));
  return record;
}

/** The message whose record is `bytes[start..]`, with or without an origin; as `readMessage`. */
export function readOriginated(bytes: Buffer, start: number): Message {
  if (bytes[start] !== mark) return readMessage(bytes, start);
  let at = start + 1;
  const text = (): string => {
    const from = at + 2;
    if (from > bytes.length) throw new StoreDamaged('Cannot read a stored message: it is cut off');
    at = from + bytes.readUInt16BE(at);
    return bytes.toString('utf8', from, at);
  };
  const [zone, mountpoint, askedTopic] = [text(), text(), text()];
  return readMessage(bytes, at, { zone, mountpoint, ...(askedTopic !== '' && { askedTopic }) });
}
