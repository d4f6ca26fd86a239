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

test('SortedMap finds the last key below a bound that begins a chunk', () => {
  const map = new SortedMap<number>();
  for (let i = 0; i < 2000; i += 1) map.set(padded(i), i);
  for (let i = 1; i < 2000; i += 1) assert.equal(map.lastBelow(padded(i)), padded(i - 1));
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

interface Weighed {
  /** Of each weight. */
  readonly counts: [number, number];
}

type Change =
  | { readonly do: 'set'; readonly key: number; readonly counts: readonly [number, number] }
  | { readonly do: 'delete'; readonly key: number }
  | { readonly do: 'reweigh'; readonly key: number; readonly weight: 0 | 1; readonly to: number };

/** Few keys, each many times over: what a chunk holds changes more often than how many there are. */
const changedKey = fc.nat(2999);
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    do: fc.constant('set' as const),
    key: changedKey,
    counts: fc.tuple(fc.nat(1), fc.nat(5)),
  }),
  fc.record({ do: fc.constant('delete' as const), key: changedKey }),
  fc.record({
    do: fc.constant('reweigh' as const),
    key: changedKey,
    weight: fc.constantFrom(0 as const, 1 as const),
    to: fc.nat(5),
  }),
);

test('SortedMap counts by each weight like a sum over a sorted list', (t) => {
  const seed = Number(process.env['SEED'] ?? randomInt(2 ** 31));
  t.diagnostic(`SEED=${seed}`);
  const changes = fc.array(change, { maxLength: 200 });
  const law = fc.property(fc.nat(2000), changes, fc.nat(3000), (filled, list, bound) => {
    const map = new SortedMap<Weighed>([({ counts }) => counts[0], ({ counts }) => counts[1]]);
    const model = new Map<string, Weighed>();
    for (let i = 0; i < filled; i += 1) put(map, model, (i * 7) % 3000, [i % 2, i % 4]);
    for (const next of list) changeBoth(map, model, next);
    const sorted = [...model].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const weight of [undefined, 0, 1]) checkRanks(map, sorted, padded(bound), weight);
  });
  fc.assert(law, { seed, numRuns: 60 });
});

function put(
  map: SortedMap<Weighed>,
  model: Map<string, Weighed>,
  key: number,
  counts: readonly [number, number],
): void {
  const value: Weighed = { counts: [...counts] };
  map.set(padded(key), value);
  model.set(padded(key), value);
}

function changeBoth(map: SortedMap<Weighed>, model: Map<string, Weighed>, next: Change): void {
  const key = padded(next.key);
  if (next.do === 'set') put(map, model, next.key, next.counts);
  else if (next.do === 'delete') assert.equal(map.delete(key), model.delete(key));
  else {
    const value = model.get(key);
    if (value === undefined) return;
    const by = next.to - value.counts[next.weight];
    value.counts[next.weight] = next.to;
    map.reweigh(key, next.weight, by);
  }
}

function checkRanks(
  map: SortedMap<Weighed>,
  sorted: readonly (readonly [string, Weighed])[],
  bound: string,
  weight: number | undefined,
): void {
  const counted = ({ counts }: Weighed): number =>
    weight === undefined ? 1 : (counts[weight] ?? 0);
  let before = 0;
  for (const [key, value] of sorted) {
    assert.equal(map.rank(key, weight), before);
    for (let inside = 0; inside < counted(value); inside += 1) {
      assert.deepEqual(map.at(before + inside, weight), { key, value, before });
    }
    before += counted(value);
  }
  assert.equal(map.total(weight), before);
  assert.equal(map.at(before, weight), undefined);
  const below = sorted.filter(([key]) => key < bound);
  assert.equal(
    map.rank(bound, weight),
    below.reduce((sum, [, value]) => sum + counted(value), 0),
  );
}

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

function keysOf<V>(map: SortedMap<V>, from = '', to?: string): string[] {
  const keys: string[] = [];
  map.visit(from, to, (key) => keys.push(key) > 0);
  return keys;
}

function padded(number: number): string {
  return String(number).padStart(6, '0');
}
