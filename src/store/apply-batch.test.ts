import assert from 'node:assert/strict';
import test from 'node:test';
import { applyBatch, type BatchTarget } from './apply-batch.ts';
import { Batch } from './batch.ts';
import { Table } from './table.ts';

/** A target that notes what it is told. */
function noting(references: Readonly<Record<string, number>> = {}): BatchTarget & {
  readonly notes: string[];
} {
  const notes: string[] = [];
  return {
    notes,
    get(table, key) {
      notes.push(`get ${table} ${key.toString()}`);
      const count = references[key.toString()];
      return count === undefined ? undefined : Buffer.from([count, 0, 0, 0]);
    },
    put: (table, key, value) =>
      notes.push(`put ${table} ${key.toString()} ${value.toString('hex')}`),
    remove: (table, key) => notes.push(`remove ${table} ${key.toString()}`),
  };
}

test('applyBatch adds up what one body is referred by, and counts once, behind all writes', () => {
  const batch = new Batch();
  batch.refer(Table.bodies, Buffer.from('a'), 1);
  batch.put(Table.queue, Buffer.from('q'), Buffer.from([1]));
  batch.refer(Table.bodies, Buffer.from('a'), 2);
  batch.refer(Table.bodies, Buffer.from('b'), -1);
  const target = noting({ a: 1, b: 1 });
  applyBatch(batch.bytes, batch.length, target);
  assert.deepEqual(target.notes, [
    `put ${Table.queue} q 01`,
    `get ${Table.references} a`,
    `put ${Table.references} a 04000000`,
    `get ${Table.references} b`,
    `remove ${Table.bodies} b`,
    `remove ${Table.references} b`,
  ]);
});

test('applyBatch writes no count that stays as it was', () => {
  const batch = new Batch();
  batch.refer(Table.bodies, Buffer.from('a'), 1);
  batch.refer(Table.bodies, Buffer.from('a'), -1);
  const target = noting({ a: 3 });
  applyBatch(batch.bytes, batch.length, target);
  assert.deepEqual(target.notes, [`get ${Table.references} a`]);
});

test('applyBatch lets a body go that is let go of more often than it was held', () => {
  const batch = new Batch();
  batch.refer(Table.bodies, Buffer.from('a'), -5);
  const target = noting({ a: 3 });
  applyBatch(batch.bytes, batch.length, target);
  assert.deepEqual(target.notes.slice(1), [
    `remove ${Table.bodies} a`,
    `remove ${Table.references} a`,
  ]);
});

test('applyBatch refuses a write that it does not know', () => {
  const batch = new Batch();
  batch.put(Table.queue, Buffer.from('a'), Buffer.from([1]));
  batch.bytes[0] = 9;
  const target = noting();
  assert.throws(() => applyBatch(batch.bytes, batch.length, target), /Cannot apply write 9/);
  assert.deepEqual(target.notes, []);
});
