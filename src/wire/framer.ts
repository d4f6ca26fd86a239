// Cuts a byte stream into MQTT frames. A frame that lies whole in the chunk is handed on in place,
// without a copy; only the unfinished tail of a chunk is kept. Law: a length is checked against the
// limit before anything is allocated for it, and memory grows with bytes that have really arrived.

import { ProtocolError } from './protocol-error.ts';
import { Reason } from './reason-codes.ts';

/** Takes the frames. `bytes[start]` is the first byte of the header, `[body..end)` what follows it. */
export interface FrameSink {
  /** False: stop here. The rest of the stream is kept until `resume`. */
  frame(bytes: Buffer, start: number, body: number, end: number): boolean;
}

const tailBytesMin = 256;

export class Framer {
  #tail: Buffer | null = null;
  #from = 0;
  #to = 0;
  #isStopped = false;
  /** MQTT 5 forbids a length of more bytes than it needs [MQTT-1.5.5-1]; older versions do not. */
  isMinimal = false;
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Throws ProtocolError for a length that is malformed or over the limit. */
  push(sink: FrameSink, bytes: Buffer, start: number, end: number): void {
    if (this.#tail !== null || this.#isStopped) {
      this.#keep(bytes, start, end);
      if (!this.#isStopped) this.#drainTail(sink);
      return;
    }
    const at = this.#cut(sink, bytes, start, end);
    if (at < end) this.#keep(bytes, at, end);
  }

  /** Goes on after a sink had answered false. */
  resume(sink: FrameSink): void {
    this.#isStopped = false;
    if (this.#tail !== null) this.#drainTail(sink);
  }

  #drainTail(sink: FrameSink): void {
    const tail = this.#tail as Buffer;
    const at = this.#cut(sink, tail, this.#from, this.#to);
    if (this.#tail !== tail) return; // the sink was resumed from within: that run owns the tail now
    this.#from = at;
    if (at === this.#to) {
      this.#tail = null;
      this.#from = 0;
      this.#to = 0;
    }
  }

  /** Hands on every whole frame of `[start..end)`; answers where the first unfinished one begins. */
  #cut(sink: FrameSink, bytes: Buffer, start: number, end: number): number {
    let at = start;
    while (at + 1 < end) {
      let length = bytes[at + 1] as number;
      let body = at + 2;
      if (length > 0x7f) {
        length &= 0x7f;
        let shift = 7;
        for (;;) {
          if (shift > 21) {
            throw new ProtocolError(
              Reason.malformedPacket,
              'Cannot read remaining length: it has more than four bytes',
            );
          }
          if (body >= end) return at;
          const digit = bytes[body++] as number;
          length |= (digit & 0x7f) << shift;
          if (digit === 0 && this.isMinimal) {
            throw new ProtocolError(
              Reason.malformedPacket,
              'Cannot read remaining length: it has more bytes than it needs',
            );
          }
          if (digit < 0x80) break;
          shift += 7;
        }
      }
      const frameEnd = body + length;
      if (frameEnd - at > this.#maxBytes) {
        throw new ProtocolError(
          Reason.packetTooLarge,
          `Cannot accept a packet of ${frameEnd - at} bytes: the limit is ${this.#maxBytes}`,
        );
      }
      if (frameEnd > end) return at;
      if (!sink.frame(bytes, at, body, frameEnd)) {
        this.#isStopped = true;
        return frameEnd;
      }
      at = frameEnd;
    }
    return at;
  }

  #keep(bytes: Buffer, start: number, end: number): void {
    const more = end - start;
    const kept = this.#to - this.#from;
    if (this.#tail === null || this.#to + more > this.#tail.length) {
      let capacity = Math.max(tailBytesMin, this.#tail?.length ?? 0);
      while (capacity < kept + more) capacity *= 2;
      const roomy = Buffer.allocUnsafeSlow(capacity);
      this.#tail?.copy(roomy, 0, this.#from, this.#to);
      this.#tail = roomy;
      this.#from = 0;
      this.#to = kept;
    }
    bytes.copy(this.#tail, this.#to, start, end);
    this.#to += more;
  }
}
