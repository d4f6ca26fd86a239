import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import test from 'node:test';
import fc from 'fast-check';
import { Batch } from './batch.ts';
import type { Engine } from './engine.ts';
import { Table } from './table.ts';
import { openTemporary } from './lmdb/store-fixture.ts';
import { MemoryEngine } from './memory-engine.ts';

/** Keys and values as hex, which sorts as the bytes do. */
type Model = Map<string, string>;

const letters = fc.constantFrom(0, 1, 2, 5, 47, 127, 128, 255);
const keyHex = fc
  .array(letters, { minLength: 1, maxLength: 4 })
  .map((bytes) => Buffer.from(bytes).toString('hex'));
const valueHex = fc
  .oneof(fc.nat(8), fc.constantFrom(63, 64, 65, 2000, 4100, 20_000))
  .chain((length) => fc.nat(255).map((byte) => Buffer.alloc(length, byte).toString('hex')));

const write = fc.record({
  do: fc.constantFrom('put', 'put', 'remove'),
  key: keyHex,
  value: valueHex,
  isCancelled: fc.boolean(),
});
const bound = fc.oneof(fc.constant(''), keyHex);
const step = fc.record({ writes: fc.array(write, { maxLength: 30 }), from: bound, to: bound });

for (const [name, make] of [
  ['MemoryEngine', openMemory],
  ['LmdbEngine', openTemporary],
] as const) {
  test(`${name} behaves like a sorted list under any sequence of commits`, async (t) => {
    const seed = Number(process.env['SEED'] ?? randomInt(2 ** 31));
    t.diagnostic(`SEED=${seed}`);
    await using made = await make();
    const { engine } = made;
    const law = fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      await clear(engine);
      const model: Model = new Map();
      for (const { writes, from, to } of steps) {
        const batch = new Batch();
        for (const next of writes) {
          const key = Buffer.from(next.key, 'hex');
          const index =
            next.do === 'put'
              ? batch.put(Table.queue, key, Buffer.from(next.value, 'hex'))
              : batch.remove(Table.queue, key);
          if (next.isCancelled) batch.cancel(index);
          else if (next.do === 'put') model.set(next.key, next.value);
          else model.delete(next.key);
        }
        await engine.commit(batch);
        compare(engine, model, from, to);
      }
    });
    await fc.assert(law, { seed, numRuns: 60 });
  });
}

async function openMemory(): Promise<AsyncDisposable & { readonly engine: Engine }> {
  const engine = new MemoryEngine();
  return { engine, [Symbol.asyncDispose]: () => engine.close() };
}

async function clear(engine: Engine): Promise<void> {
  const batch = new Batch();
  engine.keys(Table.queue, Buffer.alloc(0), undefined, (key) => {
    return batch.remove(Table.queue, key) >= 0;
  });
  await engine.commit(batch);
  assert.equal(engine.count(Table.queue), 0);
}

function compare(engine: Engine, model: Model, from: string, to: string): void {
  const sorted = [...model.keys()].sort();
  assert.equal(engine.count(Table.queue), sorted.length);
  const fromBytes = Buffer.from(from, 'hex');
  const toBytes = Buffer.from(to, 'hex');
  for (const [end, expected] of [
    [undefined, sorted.filter((key) => key >= from)],
    [toBytes, sorted.filter((key) => key >= from && key < to)],
  ] as const) {
    const keys: string[] = [];
    engine.keys(Table.queue, fromBytes, end, (key) => keys.push(key.toString('hex')) > 0);
    assert.deepEqual(keys, expected);
    const entries: string[][] = [];
    engine.range(Table.queue, fromBytes, end, (key, value) => {
      return entries.push([key.toString('hex'), value.toString('hex')]) > 0;
    });
    assert.deepEqual(
      entries,
      expected.map((key) => [key, model.get(key)]),
    );
  }
  const last = sorted.filter((key) => key >= from && key < to).at(-1);
  assert.equal(engine.lastKey(Table.queue, fromBytes, toBytes)?.toString('hex'), last);
  assert.equal(engine.has(Table.queue, fromBytes), model.has(from));
  assert.equal(engine.get(Table.queue, fromBytes)?.toString('hex'), model.get(from));
}
