// The writes of one commit, one behind another in one piece of memory, so that a thread can be given
// them without copying. A write can be taken back as long as its batch has not been handed over.
//
//   op  table  key length  value length  key    value
//   u8  u8     u16         u32           bytes  bytes
//
// `refer` changes how many sessions hold a message body: the key is the body's, the value a signed
// 32-bit number. Whoever applies the batch adds them up; a body that nobody holds goes. A *lasting*
// write cannot be taken back by whoever asked for it, so it is tried again when its batch failed.

import { invariant } from '#base/assert';
import type { Table } from './table.ts';

export const Op = { skipped: 0, put: 1, remove: 2, refer: 3 } as const;
const lastingBit = 0x80;

const headBytes = 8;
const firstBytes = 16 * 1024;

export class Batch {
  bytes: Buffer = Buffer.allocUnsafeSlow(firstBytes);
  length = 0;
  /** Where each write begins. */
  #starts: number[] = [];
  #brief = 0;

  /** Writes so far, those taken back included. */
  get size(): number {
    return this.#starts.length;
  }

  /** It has writes that are not lasting. */
  get hasBrief(): boolean {
    return this.#brief > 0;
  }

  put(table: Table, key: Uint8Array, value: Uint8Array, isLasting = false): number {
    const at = this.putRoom(table, key, value.length, isLasting);
    this.bytes.set(value, at);
    return this.#starts.length - 1;
  }

  /** Like `put`, for a value that the caller writes into `this.bytes` at the offset answered. */
  putRoom(table: Table, key: Uint8Array, valueBytes: number, isLasting = false): number {
    return this.#begin(isLasting ? Op.put | lastingBit : Op.put, table, key, valueBytes);
  }

  remove(table: Table, key: Uint8Array, isLasting = false): number {
    this.#begin(isLasting ? Op.remove | lastingBit : Op.remove, table, key, 0);
    return this.#starts.length - 1;
  }

  refer(table: Table, key: Uint8Array, by: number, isLasting = false): number {
    const at = this.#begin(isLasting ? Op.refer | lastingBit : Op.refer, table, key, 4);
    this.bytes.writeInt32LE(by, at);
    return this.#starts.length - 1;
  }

  /** The write did not happen. */
  cancel(index: number): void {
    const start = this.#starts[index];
    invariant(start !== undefined, 'only a write of this batch is taken back');
    if (isBrief(this.bytes[start] as number)) this.#brief--;
    this.bytes[start] = Op.skipped;
  }

  /** Ready for other writes, in the same memory. */
  clear(): this {
    this.length = 0;
    this.#starts = [];
    this.#brief = 0;
    return this;
  }

  #begin(op: number, table: Table, key: Uint8Array, valueBytes: number): number {
    const start = this.length;
    const value = start + headBytes + key.length;
    if (value + valueBytes > this.bytes.length) this.#grow(value + valueBytes);
    const { bytes } = this;
    if (isBrief(op)) this.#brief++;
    bytes[start] = op;
    bytes[start + 1] = table;
    bytes.writeUInt16LE(key.length, start + 2);
    bytes.writeUInt32LE(valueBytes, start + 4);
    bytes.set(key, start + headBytes);
    this.#starts.push(start);
    this.length = value + valueBytes;
    return value;
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}

function isBrief(op: number): boolean {
  return op !== Op.skipped && (op & lastingBit) === 0;
}

/** Visits the writes of a batch in order; `op` is one of `Op`. Key and value lie in `bytes`. */
export function forEachWrite(
  bytes: Buffer,
  length: number,
  visit: (op: number, table: Table, key: Buffer, value: Buffer, isLasting: boolean) => void,
): void {
  for (let at = 0; at < length; ) {
    const op = bytes[at] as number;
    const key = at + headBytes;
    const value = key + bytes.readUInt16LE(at + 2);
    const end = value + bytes.readUInt32LE(at + 4);
    if (op !== Op.skipped) {
      const isLasting = (op & lastingBit) !== 0;
      const table = bytes[at + 1] as Table;
      visit(
        op & ~lastingBit,
        table,
        bytes.subarray(key, value),
        bytes.subarray(value, end),
        isLasting,
      );
    }
    at = end;
  }
}
