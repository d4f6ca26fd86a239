// What a row of the shared case table is, and the notation of its bytes: hexadecimal in groups of
// any even length, text between single quotes: `0004 'MQTT' 04`. Lengths are written out, never
// computed, so that a wrong one in our code cannot hide.

import type { Packet, ProtocolVersion } from './packet.ts';

/** Bytes of one whole packet, fixed header included, and what they mean or why they are refused. */
export type WireCase = ReadableCase | RefusedCase;

interface ReadableCase {
  /** Begins with the clauses it proves. */
  readonly name: string;
  readonly version: ProtocolVersion;
  readonly bytes: Buffer;
  readonly packet: Packet;
  /** We read this form and write another. */
  readonly decodeOnly?: true;
}

interface RefusedCase {
  readonly name: string;
  readonly version: ProtocolVersion;
  readonly bytes: Buffer;
  /** The reason code of the ProtocolError. */
  readonly failure: number;
}

export function raw(notation: string): Buffer {
  const pieces: Buffer[] = [];
  for (const [, text, hex] of notation.matchAll(/'([^']*)'|(\S+)/g)) {
    const piece = text === undefined ? Buffer.from(hex as string, 'hex') : Buffer.from(text);
    if (text === undefined && piece.length * 2 !== (hex as string).length) {
      throw new TypeError(`Cannot read bytes "${hex}": not hexadecimal in pairs`);
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
