// Cuts a byte stream into MQTT frames. A frame that lies whole in the chunk is handed on in place,
// without a copy; only one that is torn apart by the end of a chunk is put together in memory of its
// own. Law: a length is checked against the limit before anything is allocated for it, and memory
// grows with bytes that have really arrived.

import { ProtocolError } from './protocol-error.ts';
import { Reason } from './reason-codes.ts';

/** Takes the frames. `bytes[start]` is the first byte of the header, `[body..end)` what follows it. */
export interface FrameSink {
  /** False: stop here. The rest of the stream is kept until `resume`. */
  frame(bytes: Buffer, start: number, body: number, end: number): boolean;
}

const tailBytesMin = 256;
/** First byte and up to four bytes of remaining length. */
const headerBytesMax = 5;

export class Framer {
  /** What waits: the beginning of a torn frame, or, while stopped, whatever came since. */
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

  /** The next byte begins a frame. */
  get isClear(): boolean {
    return this.#tail === null && !this.#isStopped;
  }

  /** Throws ProtocolError for a length that is malformed or over the limit. */
  push(sink: FrameSink, bytes: Buffer, start: number, end: number): void {
    let at = start;
    if (this.#tail !== null || this.#isStopped) {
      at = this.#isStopped ? start : this.#mend(sink, bytes, start, end);
      if (this.#isStopped) {
        this.#keep(bytes, at, end);
        return;
      }
    }
    at = this.#cut(sink, bytes, at, end);
    if (at < end) this.#keep(bytes, at, end);
  }

  /** Goes on after a sink had answered false; never from within its `frame`. */
  resume(sink: FrameSink): void {
    this.#isStopped = false;
    const tail = this.#tail;
    if (tail === null) return;
    this.#from = this.#cut(sink, tail, this.#from, this.#to);
    if (this.#from === this.#to) this.#forget();
  }

  /** Completes the torn frame from the chunk and hands it on; answers where the chunk goes on. */
  #mend(sink: FrameSink, bytes: Buffer, start: number, end: number): number {
    let at = start;
    let frameEnd = -1;
    // The length may be torn as well: it takes a few bytes more to know it.
    for (let have = 0; frameEnd < 0 && have <= headerBytesMax; have++) {
      frameEnd = this.#frameEnd(this.#tail as Buffer, this.#from, this.#to);
      if (frameEnd >= 0) break;
      if (at === end) return end;
      this.#keep(bytes, at, at + 1);
      at++;
    }
    const missing = Math.min(frameEnd - this.#to, end - at);
    this.#keep(bytes, at, at + missing);
    at += missing;
    const tail = this.#tail as Buffer;
    // Keeping may have moved the tail to the front of a larger one.
    const length = this.#frameEnd(tail, this.#from, this.#to) - this.#from;
    if (this.#to - this.#from < length) return end;
    const from = this.#from;
    this.#forget();
    if (!sink.frame(tail, from, bodyOf(tail, from), from + length)) this.#isStopped = true;
    return at;
  }

  /** Hands on every whole frame of `[start..end)`; answers where the first unfinished one begins. */
  #cut(sink: FrameSink, bytes: Buffer, start: number, end: number): number {
    let at = start;
    while (at + 1 < end) {
      // Most frames are short and their length is one byte: no call to find that out.
      const length = bytes[at + 1] as number;
      let body = at + 2;
      let frameEnd = body + length;
      if (length > 0x7f || frameEnd - at > this.#maxBytes) {
        frameEnd = this.#frameEnd(bytes, at, end);
        if (frameEnd < 0) return at;
        body = bodyOf(bytes, at);
      }
      if (frameEnd > end) return at;
      const isGoingOn = sink.frame(bytes, at, body, frameEnd);
      at = frameEnd;
      if (!isGoingOn) {
        this.#isStopped = true;
        return at;
      }
    }
    return at;
  }

  /** Where the frame that begins at `at` ends; -1 when its length has not arrived whole. */
  #frameEnd(bytes: Buffer, at: number, end: number): number {
    if (at + 1 >= end) return -1;
    let length = bytes[at + 1] as number;
    let body = at + 2;
    if (length > 0x7f) {
      length &= 0x7f;
      for (let shift = 7; ; shift += 7) {
        if (shift > 21) throw badLength('it has more than four bytes');
        if (body >= end) return -1;
        const digit = bytes[body++] as number;
        if (digit === 0 && this.isMinimal) throw badLength('it has more bytes than it needs');
        length |= (digit & 0x7f) << shift;
        if (digit < 0x80) break;
      }
    }
    const frameEnd = body + length;
    if (frameEnd - at > this.#maxBytes) {
      throw new ProtocolError(
        Reason.packetTooLarge,
        `Cannot accept a packet of ${frameEnd - at} bytes: the limit is ${this.#maxBytes}`,
      );
    }
    return frameEnd;
  }

  #keep(bytes: Buffer, start: number, end: number): void {
    const more = end - start;
    if (more === 0) return;
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

  #forget(): void {
    this.#tail = null;
    this.#from = 0;
    this.#to = 0;
  }
}

/** Behind the remaining length, which is known to be whole. */
function bodyOf(bytes: Buffer, at: number): number {
  let body = at + 1;
  while ((bytes[body++] as number) > 0x7f);
  return body;
}

function badLength(what: string): ProtocolError {
  return new ProtocolError(Reason.malformedPacket, `Cannot read remaining length: ${what}`);
}
