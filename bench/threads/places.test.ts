import assert from 'node:assert/strict';
import test from 'node:test';
import { choosePairs, type Places } from './places.ts';

const places: Places = [
  ['a0', 'a1', 'a2', 'a3'],
  ['b0', 'b1', 'b2', 'b3'],
];

test('pairs within a worker are in the same one, and in both workers alike', () => {
  const pairs = choosePairs(places, 4, false) ?? [];
  assert.deepEqual(
    pairs.map(({ publisher, subscriber }) => `${publisher[0]}→${subscriber[0]}`),
    ['a→a', 'b→b', 'a→a', 'b→b'],
  );
  assertEachOnce(pairs.flatMap(({ publisher, subscriber }) => [publisher, subscriber]));
});

test('pairs across workers go both ways alike', () => {
  const pairs = choosePairs(places, 4, true) ?? [];
  assert.deepEqual(
    pairs.map(({ publisher, subscriber }) => `${publisher[0]}→${subscriber[0]}`),
    ['a→b', 'b→a', 'a→b', 'b→a'],
  );
  assertEachOnce(pairs.flatMap(({ publisher, subscriber }) => [publisher, subscriber]));
});

test('there are no pairs while a worker has too few connections', () => {
  assert.equal(choosePairs([['a0', 'a1', 'a2'], ['b0']], 2, false), undefined);
  assert.equal(choosePairs([['a0', 'a1', 'a2'], ['b0']], 2, true), undefined);
  assert.equal(choosePairs([['a0', 'a1', 'a2']], 1, true), undefined);
});

function assertEachOnce(ids: readonly string[]): void {
  assert.deepEqual(ids.toSorted(), places.flat().toSorted());
}
