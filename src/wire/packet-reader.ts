// A position in the body of one packet, and the data types of MQTT read from there. Laws: nothing
// outside `bytes[at..end)` is ever read; what runs past the end is a malformed packet; strings and
// binary fields are copies, only the rest of a packet is a view of the input.

import { ProtocolError } from './protocol-error.ts';
import { Reason } from './reason-codes.ts';
import { readUtf8 } from './utf8.ts';

export class PacketReader {
  readonly bytes: Buffer;
  readonly end: number;
  at: number;

  /** The caller has the whole range: `end` is not beyond the buffer. */
  constructor(bytes: Buffer, at: number, end: number) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  get left(): number {
    return this.end - this.at;
  }

  byte(): number {
    return this.bytes[this.#take(1)] as number;
  }

  uint16(): number {
    const at = this.#take(2);
    return ((this.bytes[at] as number) << 8) | (this.bytes[at + 1] as number);
  }

  uint32(): number {
    const high = this.uint16();
    return high * 0x1_0000 + this.uint16();
  }

  /** Up to four bytes, and no more of them than the value needs [MQTT-1.5.5-1]. */
  varint(): number {
    let value = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const digit = this.byte();
      if (digit === 0 && shift > 0) break;
      value |= (digit & 0x7f) << shift;
      if (digit < 0x80) return value;
    }
    throw new ProtocolError(
      Reason.malformedPacket,
      'Cannot read variable byte integer: it has more bytes than it may or needs',
    );
  }

  text(): string {
    const length = this.uint16();
    const at = this.#take(length);
    return readUtf8(this.bytes, at, at + length);
  }

  /** A copy: passwords, wills and correlation data outlive the read buffer, and none is hot. */
  binary(): Buffer {
    const length = this.uint16();
    const at = this.#take(length);
    return Buffer.from(this.bytes.subarray(at, at + length));
  }

  /** All that is left, as a view. */
  rest(): Buffer {
    const at = this.#take(this.left);
    return this.bytes.subarray(at, this.end);
  }

  /** [MQTT-2.2.1-3] In every packet that has one the packet id is not zero. */
  packetId(): number {
    const id = this.uint16();
    if (id === 0) {
      throw new ProtocolError(Reason.malformedPacket, 'Cannot read packet id: 0 is not allowed');
    }
    return id;
  }

  /** Called when everything that belongs into the packet has been read. */
  finish(): void {
    if (this.at === this.end) return;
    throw new ProtocolError(
      Reason.malformedPacket,
      `Cannot read packet: ${this.left} bytes after its end`,
    );
  }

  #take(count: number): number {
    const at = this.at;
    if (count > this.end - at) {
      throw new ProtocolError(
        Reason.malformedPacket,
        `Cannot read packet: ${count} bytes wanted, ${this.end - at} left`,
      );
    }
    this.at = at + count;
    return at;
  }
}
