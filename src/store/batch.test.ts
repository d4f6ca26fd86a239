import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import test from 'node:test';
import fc from 'fast-check';
import { Batch, forEachWrite, Op } from './batch.ts';
import { Table } from './table.ts';

interface Write {
  readonly op: number;
  readonly table: Table;
  readonly key: string;
  readonly value: string;
  readonly isLasting: boolean;
}

function writesOf(batch: Batch): Write[] {
  const writes: Write[] = [];
  forEachWrite(batch.bytes, batch.length, (op, table, key, value, isLasting) => {
    const hex = { key: key.toString('hex'), value: value.toString('hex') };
    writes.push({ op, table, ...hex, isLasting });
  });
  return writes;
}

test('Batch that is empty has no writes', () => {
  const batch = new Batch();
  assert.equal(batch.size, 0);
  assert.equal(batch.length, 0);
  assert.deepEqual(writesOf(batch), []);
});

test('Batch gives each write a number to take it back by', () => {
  const batch = new Batch();
  assert.equal(batch.put(Table.queue, Buffer.from('a'), Buffer.from('1')), 0);
  assert.equal(batch.remove(Table.queue, Buffer.from('b')), 1);
  assert.equal(batch.refer(Table.bodies, Buffer.from('c'), -3), 2);
  batch.cancel(1);
  assert.equal(batch.size, 3);
  assert.deepEqual(
    writesOf(batch).map(({ op }) => op),
    [Op.put, Op.refer],
  );
  assert.throws(() => batch.cancel(3), /Invariant broken/);
  assert.throws(() => batch.cancel(-1), /Invariant broken/);
});

test('Batch has room for a value that the caller writes, also when it had to grow', () => {
  const batch = new Batch();
  batch.put(Table.queue, Buffer.from('a'), Buffer.alloc(16_000, 1));
  const at = batch.putRoom(Table.queue, Buffer.from('b'), 20_000);
  batch.bytes.fill(2, at, at + 20_000);
  batch.put(Table.queue, Buffer.from('c'), Buffer.from([3]));
  const values = writesOf(batch).map(({ value }) => value);
  assert.deepEqual(values, ['01'.repeat(16_000), '02'.repeat(20_000), '03']);
});

test('Batch has its memory to itself, so that it can be lent to another thread', () => {
  const batch = new Batch();
  for (let i = 0; i < 2; i += 1) {
    assert.equal(batch.bytes.byteOffset, 0);
    assert.equal(batch.bytes.length, batch.bytes.buffer.byteLength);
    batch.put(Table.queue, Buffer.from('a'), Buffer.alloc(100_000));
  }
});

test('Batch that was cleared takes writes in the same memory', () => {
  const batch = new Batch();
  batch.put(Table.queue, Buffer.from('a'), Buffer.alloc(100));
  const { bytes } = batch;
  batch.clear();
  assert.equal(batch.size, 0);
  assert.deepEqual(writesOf(batch), []);
  batch.remove(Table.wills, Buffer.from('b'));
  assert.equal(batch.bytes, bytes);
  assert.deepEqual(writesOf(batch), [
    { op: Op.remove, table: Table.wills, key: '62', value: '', isLasting: false },
  ]);
});

const bytes = (max: number): fc.Arbitrary<string> =>
  fc.uint8Array({ maxLength: max }).map((array) => Buffer.from(array).toString('hex'));

const write = fc.record({
  op: fc.constantFrom(Op.put, Op.remove, Op.refer),
  table: fc.constantFrom(...Object.values(Table)),
  key: bytes(40),
  value: bytes(3000),
  by: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  isLasting: fc.boolean(),
  isCancelled: fc.boolean(),
});

test('Batch gives back what was written, in order, and knows whether some of it is brief', (t) => {
  const seed = Number(process.env['SEED'] ?? randomInt(2 ** 31));
  t.diagnostic(`SEED=${seed}`);
  const law = fc.property(fc.array(write, { maxLength: 40 }), (writes) => {
    const batch = new Batch();
    const expected: Write[] = [];
    for (const { op, table, key, value, by, isLasting, isCancelled } of writes) {
      const keyBytes = Buffer.from(key, 'hex');
      const number = Buffer.alloc(4);
      number.writeInt32LE(by);
      let index: number;
      if (op === Op.put) index = batch.put(table, keyBytes, Buffer.from(value, 'hex'), isLasting);
      else if (op === Op.remove) index = batch.remove(table, keyBytes, isLasting);
      else index = batch.refer(table, keyBytes, by, isLasting);
      const values = { [Op.put]: value, [Op.remove]: '', [Op.refer]: number.toString('hex') };
      if (isCancelled) batch.cancel(index);
      else expected.push({ op, table, key, value: values[op], isLasting });
    }
    assert.deepEqual(writesOf(batch), expected);
    assert.equal(
      batch.hasBrief,
      expected.some(({ isLasting }) => !isLasting),
    );
    assert.equal(batch.clear().hasBrief, false);
  });
  fc.assert(law, { seed, numRuns: 200 });
});
