// What the writes of a batch do to the tables, the same for every engine. Law: it throws before it
// does a wrong thing, never after; whoever calls it makes sure that a batch that threw left nothing.

import { latin1Of } from '#base/latin1';
import { forEachWrite, Op } from './batch.ts';
import { keyBytesMax, Table } from './table.ts';

/** Keys and values lie in the batch: who keeps one copies it. */
export interface BatchTarget {
  get(table: Table, key: Buffer): Buffer | undefined;
  put(table: Table, key: Buffer, value: Buffer): void;
  remove(table: Table, key: Buffer): void;
}

const tableCount = Object.keys(Table).length;

export function applyBatch(bytes: Buffer, length: number, target: BatchTarget): void {
  const references = new Map<string, Reference>();
  forEachWrite(bytes, length, (op, table, key, value) => {
    if (key.length === 0 || key.length > keyBytesMax || table >= tableCount) {
      throw new RangeError(
        `Cannot write to table ${table} under a key of ${key.length} bytes: tables go up to ${tableCount - 1}, keys from 1 to ${keyBytesMax} bytes`,
      );
    }
    if (op === Op.put) target.put(table, key, value);
    else if (op === Op.remove) target.remove(table, key);
    else if (op === Op.refer) refer(references, key, value.readInt32LE(0));
    else
      throw new RangeError(`Cannot apply write ${op}: it is none of ${Object.keys(Op).join(', ')}`);
  });
  for (const { key, by } of references.values()) count(target, key, by);
}

interface Reference {
  readonly key: Buffer;
  by: number;
}

/** Adds up first: a body is written and let go of many times, its count is read and written once. */
function refer(references: Map<string, Reference>, key: Buffer, by: number): void {
  const text = latin1Of(key, 0, key.length);
  const known = references.get(text);
  if (known) known.by += by;
  else references.set(text, { key, by });
}

/** NOTE: after all puts, so that a body that was written and let go of in one batch goes, too. */
function count(target: BatchTarget, key: Buffer, by: number): void {
  const before = target.get(Table.references, key)?.readUInt32LE(0) ?? 0;
  const after = before + by;
  if (after <= 0) {
    target.remove(Table.bodies, key);
    target.remove(Table.references, key);
  } else if (after !== before) {
    const value = Buffer.allocUnsafe(4);
    value.writeUInt32LE(after);
    target.put(Table.references, key, value);
  }
}
