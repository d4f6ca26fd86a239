// MQTT packets written byte by byte, for the tests that need what our encoder refuses to write:
// wrong flags, broken UTF-8, lengths that lie. Nothing here checks anything.

/** Two bytes, big endian. */
export function u16(value: number): Buffer {
  return Buffer.from([(value >> 8) & 0xff, value & 0xff]);
}

/** Four bytes, big endian. */
export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A variable byte integer in as few bytes as it needs. */
export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push((rest % 128) | (rest >= 128 ? 0x80 : 0));
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  return Buffer.from(bytes);
}

/** A string or binary field: two bytes of length, then the bytes as they are. */
export function field(value: string | Uint8Array): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u16(bytes.length), bytes]);
}

/** A property section: its length, then the properties as given (id byte and value each). */
export function properties(...parts: readonly (Uint8Array | number)[]): Buffer {
  const bytes = join(parts);
  return Buffer.concat([varint(bytes.length), bytes]);
}

/** A whole packet: first byte, remaining length, parts. A number stands for one byte. */
export function packet(header: number, ...parts: readonly (Uint8Array | number)[]): Buffer {
  const body = join(parts);
  return Buffer.concat([Buffer.from([header]), varint(body.length), body]);
}

export interface ConnectParts {
  readonly protocol?: string;
  readonly level?: number;
  readonly flags?: number;
  readonly keepaliveSeconds?: number;
  /** The property section; left out below level 5. */
  readonly properties?: Uint8Array;
  /** What follows the variable header: client id, will, username, password. */
  readonly payload?: readonly Uint8Array[];
}

/** A CONNECT of any kind, right or wrong; without parts it is a good one of MQTT 5.0. */
export function connectPacket(parts: ConnectParts = {}): Buffer {
  const level = parts.level ?? 5;
  return packet(
    0x10,
    field(parts.protocol ?? 'MQTT'),
    level,
    parts.flags ?? 0x02,
    u16(parts.keepaliveSeconds ?? 0),
    parts.properties ?? (level === 5 ? properties() : Buffer.alloc(0)),
    ...(parts.payload ?? [field('raw')]),
  );
}

/** Byte sequences that are no UTF-8 string of MQTT, by what is wrong with them (1.5.4). */
export const badStrings: Readonly<Record<string, Buffer>> = {
  'a lone continuation byte': Buffer.from([0x61, 0x80]),
  'an overlong slash': Buffer.from([0xc0, 0xaf]),
  'a truncated sequence': Buffer.from([0x61, 0xe2, 0x82]),
  'a high surrogate': Buffer.from([0xed, 0xa0, 0x80]),
  'a low surrogate': Buffer.from([0xed, 0xbf, 0xbf]),
  'a code point above U+10FFFF': Buffer.from([0xf4, 0x90, 0x80, 0x80]),
  'the null character': Buffer.from([0x61, 0x00, 0x62]),
};

function join(parts: readonly (Uint8Array | number)[]): Buffer {
  return Buffer.concat(
    parts.map((part) => (typeof part === 'number' ? Buffer.from([part]) : part)),
  );
}
