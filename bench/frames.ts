// The generator's own MQTT 3.1.1 on raw bytes: frames to send, built once, and a walker that counts
// frames where they lie. It shares nothing with src/wire, so that a broker is never judged by its
// own codec, and it knows only what the loads need.

export type Qos = 0 | 1;

export const connack = 0x20;
export const publish = 0x30;
export const puback = 0x40;
export const suback = 0x90;
export const pingresp = 0xd0;
export const pingFrame: Buffer = Buffer.of(0xc0, 0);
export const disconnectFrame: Buffer = Buffer.of(0xe0, 0);

/** Where a message's payload says which flow it belongs to and, if it was sampled, when it left. */
export const payloadBytes = 64;
export const flowAt = 0; // u16
export const sampledAt = 2; // u8
export const sentAt = 8; // f64, milliseconds of performance.now()
export const numberAt = 16; // u32, where messages of a flow are told apart

export function connectFrame(
  clientId: string,
  keepaliveSeconds: number,
  cleanSession = true,
): Buffer {
  const flags = cleanSession ? 0x02 : 0;
  const head = Buffer.concat([text('MQTT'), Buffer.of(4, flags), u16(keepaliveSeconds)]);
  return frame(0x10, head, text(clientId));
}

export function subscribeFrame(filter: string, qos: Qos): Buffer {
  return frame(0x82, u16(1), text(filter), Buffer.of(qos));
}

/** One PUBLISH whose payload names its flow; the payload is the frame's last `payloadBytes`. */
export function publishFrame(topic: string, qos: Qos, packetId: number, flow: number): Buffer {
  const payload = Buffer.alloc(payloadBytes, 'x');
  payload.writeUInt16LE(flow, flowAt);
  payload[sampledAt] = 0;
  const id = qos > 0 ? u16(packetId) : Buffer.alloc(0);
  return frame(publish | (qos << 1), text(topic), id, payload);
}

/** A PUBLISH of any size, for loads that do not look into it. */
export function bulkFrame(topic: string, qos: Qos, packetId: number, bytes: number): Buffer {
  const id = qos > 0 ? u16(packetId) : Buffer.alloc(0);
  return frame(publish | (qos << 1), text(topic), id, Buffer.alloc(bytes, 'x'));
}

/** A QoS 0 PUBLISH that the broker is to keep. */
export function retainedFrame(topic: string, payload: string): Buffer {
  const retain = 0x01;
  return frame(publish | retain, text(topic), Buffer.from(payload));
}

/** The packet id of a QoS 1 PUBLISH follows its topic. */
export function packetIdAt(bytes: Buffer, bodyAt: number): number {
  return bodyAt + 2 + bytes.readUInt16BE(bodyAt);
}

export interface FrameSink {
  /** One whole frame: its first byte, where its body begins, where it ends. */
  frame(bytes: Buffer, header: number, bodyAt: number, end: number): void;
}

/** Walks a byte stream frame by frame without copying; only a frame cut by a read is put together. */
export class FrameWalker {
  #carry: Buffer = Buffer.allocUnsafe(0);
  #carried = 0;

  walk(bytes: Buffer, length: number, sink: FrameSink): void {
    let at = this.#carried > 0 ? this.#resume(bytes, length, sink) : 0;
    while (at < length) {
      const remaining = remainingLength(bytes, at, length);
      const bodyAt = at + headerBytes(remaining);
      const end = bodyAt + remaining;
      if (remaining < 0 || end > length) return this.#keep(bytes, at, length);
      sink.frame(bytes, bytes[at] ?? 0, bodyAt, end);
      at = end;
    }
  }

  /** Feeds the cut frame until it is whole; answers where the next one begins. */
  #resume(bytes: Buffer, length: number, sink: FrameSink): number {
    let at = 0;
    for (;;) {
      const remaining = remainingLength(this.#carry, 0, this.#carried);
      const want = remaining < 0 ? this.#carried + 1 : headerBytes(remaining) + remaining;
      if (this.#carried === want) {
        this.#carried = 0;
        sink.frame(this.#carry, this.#carry[0] ?? 0, headerBytes(remaining), want);
        return at;
      }
      if (at === length) return at;
      const end = Math.min(length, at + want - this.#carried);
      this.#keep(bytes, at, end);
      at = end;
    }
  }

  #keep(bytes: Buffer, at: number, end: number): void {
    const needed = this.#carried + end - at;
    if (needed > this.#carry.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, 2 * this.#carry.length, 128));
      this.#carry.copy(grown, 0, 0, this.#carried);
      this.#carry = grown;
    }
    bytes.copy(this.#carry, this.#carried, at, end);
    this.#carried = needed;
  }
}

/** -1 while the length itself has not arrived whole. */
function remainingLength(bytes: Buffer, at: number, limit: number): number {
  let length = 0;
  for (let i = 1, scale = 1; i <= 4; i++, scale *= 128) {
    if (at + i >= limit) return -1;
    const digit = bytes[at + i] ?? 0;
    length += (digit & 0x7f) * scale;
    if (digit < 0x80) return length;
  }
  throw new RangeError('Cannot read remaining length: more than four bytes');
}

/** Fixed header size by remaining length; brokers write lengths in their shortest form. */
function headerBytes(remaining: number): number {
  if (remaining < 128) return 2;
  if (remaining < 16_384) return 3;
  return remaining < 2_097_152 ? 4 : 5;
}

function frame(header: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const lengthDigits: number[] = [];
  let left = body.length;
  do {
    const digit = left % 128;
    left = (left - digit) / 128;
    lengthDigits.push(left > 0 ? digit | 0x80 : digit);
  } while (left > 0);
  return Buffer.concat([Buffer.of(header, ...lengthDigits), body]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u16(bytes.length), bytes]);
}

function u16(value: number): Buffer {
  return Buffer.of(value >> 8, value & 0xff);
}
