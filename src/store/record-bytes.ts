// Records as bytes: fields one behind another, integers big-endian, texts with their length before
// them. Reading past the end is damage, not a crash.

import { StoreDamaged } from './store-damaged.ts';

/** The length that stands for "there is none". */
const absent = 0xffff_ffff;

/** Writes into memory that grows; `done` answers a copy of exactly what was written. */
export class RecordWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(512);
  #at = 0;

  start(): this {
    this.#at = 0;
    return this;
  }

  u8(value: number): this {
    this.#room(1);
    this.#at = this.#bytes.writeUInt8(value, this.#at);
    return this;
  }

  u16(value: number): this {
    this.#room(2);
    this.#at = this.#bytes.writeUInt16BE(value, this.#at);
    return this;
  }

  u32(value: number): this {
    this.#room(4);
    this.#at = this.#bytes.writeUInt32BE(value, this.#at);
    return this;
  }

  u48(value: number): this {
    this.#room(6);
    this.#at = this.#bytes.writeUIntBE(value, this.#at, 6);
    return this;
  }

  text(value: string | undefined): this {
    if (value === undefined) return this.u32(absent);
    const length = Buffer.byteLength(value);
    this.u32(length).#room(length);
    this.#at += this.#bytes.write(value, this.#at);
    return this;
  }

  bytes(value: Uint8Array): this {
    this.u32(value.length).#room(value.length);
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
    return this;
  }

  done(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#at));
  }

  #room(length: number): void {
    if (this.#at + length <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#at + length, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

export class RecordReader {
  readonly bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  u8(): number {
    return this.bytes.readUInt8(this.#take(1));
  }

  u16(): number {
    return this.bytes.readUInt16BE(this.#take(2));
  }

  u32(): number {
    return this.bytes.readUInt32BE(this.#take(4));
  }

  u48(): number {
    return this.bytes.readUIntBE(this.#take(6), 6);
  }

  /** A text that may be missing. */
  maybeText(): string | undefined {
    const length = this.u32();
    if (length === absent) return undefined;
    const start = this.#take(length);
    return this.bytes.toString('utf8', start, start + length);
  }

  text(): string {
    const text = this.maybeText();
    if (text === undefined) throw new StoreDamaged('Cannot read a record: a text is missing');
    return text;
  }

  blob(): Buffer {
    const length = this.u32();
    const start = this.#take(length);
    return this.bytes.subarray(start, start + length);
  }

  #take(length: number): number {
    const start = this.at;
    if (start + length > this.bytes.length) {
      const text = `it ends at ${this.bytes.length}, wanted are ${start + length} bytes`;
      throw new StoreDamaged(`Cannot read a record: ${text}`);
    }
    this.at = start + length;
    return start;
  }
}
