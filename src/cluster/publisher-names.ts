// Who published, as bytes between workers: written once per publisher, read once per publisher as long
// as it is remembered, because thousands of messages say the same.
//
//   client id  [username]  address  port  has username | hops << 1
//   u16 + UTF-8 each                u16   u8

import { latin1Of } from '#base/latin1';
import { utf8Size, writeUtf8 } from '#wire/utf8';
import type { Publisher } from '#core/message';

/** That fit into the byte. */
const hopsMax = 0x7f;

/** The publisher of the last message, and others that are alive. */
let lastFrom: Publisher | undefined;
let lastNames: Buffer = Buffer.alloc(0);
const written = new WeakMap<Publisher, Buffer>();

export function namesOf(from: Publisher): Buffer {
  if (from === lastFrom) return lastNames;
  let names = written.get(from);
  if (names === undefined) {
    names = write(from);
    written.set(from, names);
  }
  lastFrom = from;
  lastNames = names;
  return names;
}

function write({ clientId, username, address, port, hops = 0 }: Publisher): Buffer {
  const nameSize = username === undefined ? 0 : 2 + utf8Size(username);
  const names = Buffer.allocUnsafeSlow(
    2 + utf8Size(clientId) + nameSize + 2 + utf8Size(address) + 3,
  );
  let at = writeUtf8(names, 0, clientId, utf8Size(clientId));
  if (username !== undefined) at = writeUtf8(names, at, username, nameSize - 2);
  at = writeUtf8(names, at, address, utf8Size(address));
  at = names.writeUInt16BE(port, at);
  names[at] = (username === undefined ? 0 : 1) | (Math.min(hops, hopsMax) << 1);
  return names;
}

/** Remembered at most; then it begins anew. */
const rememberedMax = 4096;

/** One for each link. */
export class PublisherNames {
  readonly #known = new Map<string, Publisher>();

  read(bytes: Buffer, start: number, end: number): Publisher {
    const key = latin1Of(bytes, start, end);
    let publisher = this.#known.get(key);
    if (publisher === undefined) {
      if (this.#known.size >= rememberedMax) this.#known.clear();
      publisher = read(bytes, start, end);
      this.#known.set(key, publisher);
    }
    return publisher;
  }
}

function read(bytes: Buffer, start: number, end: number): Publisher {
  let at = start;
  const text = (): string => {
    const from = at + 2;
    at = from + bytes.readUInt16BE(at);
    return bytes.toString('utf8', from, at);
  };
  const clientId = text();
  const flags = bytes[end - 1] as number;
  const username = (flags & 1) === 1 ? text() : undefined;
  const address = text();
  const publisher = { clientId, username, address, port: bytes.readUInt16BE(at) };
  const hops = flags >> 1;
  return hops === 0 ? publisher : { ...publisher, hops };
}
