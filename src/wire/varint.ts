// Variable byte integers: seven bits a byte, low bits first, at most four bytes. This file sizes and
// writes them, always in the shortest form [MQTT-1.5.5-1]; `PacketReader.varint` reads them.

export const varintMax: number = 268_435_455;

/** How many bytes `writeVarint` takes for a value. */
export function varintSize(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x20_0000) return 3;
  if (value <= varintMax) return 4;
  throw new RangeError(`Cannot write variable byte integer "${value}": ${varintMax} is the most`);
}

/** Writes a value that `varintSize` has accepted; answers where the next byte goes. */
export function writeVarint(bytes: Buffer, at: number, value: number): number {
  while (value >= 0x80) {
    bytes[at++] = (value & 0x7f) | 0x80;
    value >>>= 7;
  }
  bytes[at++] = value;
  return at;
}
