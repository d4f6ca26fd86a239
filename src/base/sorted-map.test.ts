import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import test from 'node:test';
import fc from 'fast-check';
import { SortedMap } from './sorted-map.ts';

test('SortedMap that is empty answers nothing', () => {
  const map = new SortedMap<number>();
  assert.equal(map.size, 0);
  assert.equal(map.get('a'), undefined);
  assert.equal(map.has('a'), false);
  assert.equal(map.delete('a'), false);
  assert.equal(map.lastBelow('z'), undefined);
  map.visit('', undefined, () => assert.fail('there is nothing to visit'));
});

test('SortedMap holds an undefined value apart from a missing one', () => {
  const map = new SortedMap<undefined>();
  map.set('a', undefined);
  assert.equal(map.has('a'), true);
  assert.equal(map.size, 1);
});

test('SortedMap orders keys by code unit, as bytes are ordered', () => {
  const map = new SortedMap<number>();
  const keys = ['a', 'B', '\x00', '\xff', 'a\x00', 'aa', '', '\x7f', '\x80'];
  for (const key of keys) map.set(key, 1);
  const bytes = keys.map((key) => Buffer.from(key, 'latin1')).sort((a, b) => a.compare(b));
  assert.deepEqual(
    keysOf(map),
    bytes.map((key) => key.toString('latin1')),
  );
});

test('SortedMap visits no further than a visit that answers false', () => {
  const map = new SortedMap<number>();
  for (let i = 0; i < 2000; i += 1) map.set(String(i).padStart(4, '0'), i);
  const seen: number[] = [];
  map.visit('0510', undefined, (_key, value) => seen.push(value) < 5);
  assert.deepEqual(seen, [510, 511, 512, 513, 514]);
});

for (const [order, keyOf] of [
  ['ascending', (i: number) => i],
  ['descending', (i: number) => 99_999 - i],
  ['scattered', (i: number) => (i * 7919) % 100_000],
] as const) {
  test(`SortedMap takes and gives back 100 000 keys in ${order} order`, () => {
    const map = new SortedMap<number>();
    for (let i = 0; i < 100_000; i += 1) map.set(padded(keyOf(i)), keyOf(i));
    assert.equal(map.size, 100_000);
    let next = 0;
    map.visit('', undefined, (key, value) => {
      assert.equal(key, padded(next));
      assert.equal(value, next);
      next += 1;
      return true;
    });
    assert.equal(next, 100_000);
    for (let i = 0; i < 100_000; i += 1) assert.ok(map.delete(padded(keyOf(i))));
    assert.equal(map.size, 0);
    assert.equal(map.lastBelow('z'), undefined);
  });
}

/** Runs of keys, so that chunks fill, split, shrink and join. */
interface Run {
  readonly do: 'set' | 'delete';
  readonly first: number;
  readonly step: number;
  readonly count: number;
}

const run: fc.Arbitrary<Run> = fc.record({
  do: fc.constantFrom('set', 'delete'),
  first: fc.nat(4999),
  step: fc.constantFrom(1, 7, 4999, 4993),
  count: fc.oneof(fc.nat(3), fc.nat(1500)),
});

test('SortedMap behaves like a sorted list under any sequence of calls', (t) => {
  const seed = Number(process.env['SEED'] ?? randomInt(2 ** 31));
  t.diagnostic(`SEED=${seed}`);
  const bound = fc.nat(5000).map(padded);
  const law = fc.property(fc.array(run, { maxLength: 12 }), bound, bound, (runs, from, to) => {
    const map = new SortedMap<number>();
    const model = new Map<string, number>();
    for (const [index, next] of runs.entries()) {
      apply(next, index, map, model);
      const sorted = [...model.keys()].sort();
      assert.equal(map.size, model.size);
      assert.deepEqual(keysOf(map), sorted);
      assert.deepEqual(
        keysOf(map, from, to),
        sorted.filter((key) => key >= from && key < to),
      );
      assert.equal(map.lastBelow(to), sorted.filter((key) => key < to).at(-1));
    }
    for (let i = 0; i < 5000; i += 13) assert.equal(map.get(padded(i)), model.get(padded(i)));
  });
  fc.assert(law, { seed, numRuns: 100 });
});

function apply(next: Run, value: number, map: SortedMap<number>, model: Map<string, number>): void {
  for (let i = 0; i < next.count; i += 1) {
    const key = padded((next.first + i * next.step) % 5000);
    if (next.do === 'set') {
      map.set(key, value);
      model.set(key, value);
    } else {
      assert.equal(map.delete(key), model.delete(key));
    }
  }
}

function keysOf(map: SortedMap<unknown>, from = '', to?: string): string[] {
  const keys: string[] = [];
  map.visit(from, to, (key) => keys.push(key) > 0);
  return keys;
}

function padded(number: number): string {
  return String(number).padStart(6, '0');
}
