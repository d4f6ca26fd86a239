import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { matches } from '#topics/match';
import { filterFault } from '#topics/topic';
import { keyBytesMax } from './table.ts';
import { FilterScan } from './filter-scan.ts';
import { retainedKey } from './keys.ts';
import { topicOfKey } from './retained-fixture.ts';

const given = process.env['FUZZ_SEED'];
const seed: number = given === undefined ? (Math.random() * 0x7fff_ffff) | 0 : Number(given);

/** Short texts of few characters, so that levels are often equal or beginnings of one another. */
const levels = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    'b',
    'ab',
    'a!',
    '!',
    '-',
    '%',
    '$',
    '$SYS',
    '\x01',
    'a\x01',
    '0',
    '\x7f',
  ),
  fc.constantFrom('ä', '€', '\u{1f600}', '\uffff', 'a€'),
);
const names = fc
  .array(levels, { minLength: 1, maxLength: 5, size: 'max' })
  .map((parts) => parts.join('/'))
  .filter((name) => name !== '');
const filters = fc
  .tuple(
    fc.array(fc.oneof(levels, fc.constant('+')), { maxLength: 5, size: 'max' }),
    fc.constantFrom(undefined, '#'),
  )
  .map(([parts, last]) => (last === undefined ? parts : [...parts, last]).join('/'))
  .filter((filter) => filterFault(filter) === undefined && !/^\$(share|queue)\//.test(filter));

/** Walks a sorted list as a store walks its table; answers what it found and how often it looked. */
function walk(filter: string, sorted: readonly Buffer[]): { found: string[]; looks: number } {
  const scan = new FilterScan(filter);
  const found: string[] = [];
  let looks = 0;
  let from = scan.first;
  for (let at = 0; at < sorted.length; ) {
    const key = sorted[at] as Buffer;
    if (key.compare(from) < 0) {
      at++;
      continue;
    }
    looks++;
    if (scan.matches(key)) {
      found.push(topicOfKey(key));
      at++;
    } else if (scan.next === undefined) {
      break;
    } else {
      assert.ok(scan.next.compare(key) > 0, 'a leap goes forward');
      from = scan.next;
    }
  }
  return { found, looks };
}

const sortedKeys = (list: readonly string[]): Buffer[] =>
  [...new Set(list)].map(retainedKey).sort((a, b) => a.compare(b));

test('a scan finds exactly the names that match, in order, and passes none', (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const law = fc.property(
    filters,
    fc.array(names, { maxLength: 40, size: 'max' }),
    (filter, list) => {
      const sorted = sortedKeys(list);
      const wanted = sorted.map(topicOfKey).filter((name) => matches(filter, name));
      assert.deepEqual(walk(filter, sorted).found, wanted);
    },
  );
  fc.assert(law, { seed, numRuns: 3000 });
});

test('a scan finds what matches a filter made of one of the names', (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const cases = fc
    .array(names, { minLength: 1, maxLength: 40, size: 'max' })
    .chain((list) =>
      fc.tuple(
        fc.constant(list),
        fc.constantFrom(...list),
        fc.nat({ max: 31 }),
        fc.nat({ max: 6 }),
      ),
    );
  const law = fc.property(cases, ([list, name, plusBits, hashAt]) => {
    const parts = name.split('/').map((part, i) => ((plusBits >> i) & 1 ? '+' : part));
    const filter = (hashAt <= parts.length ? [...parts.slice(0, hashAt), '#'] : parts).join('/');
    const sorted = sortedKeys(list);
    const wanted = sorted.map(topicOfKey).filter((one) => matches(filter, one));
    assert.deepEqual(walk(filter, sorted).found, wanted);
  });
  fc.assert(law, { seed, numRuns: 3000 });
});

test('a scan begins at the literal beginning of its filter', () => {
  const firsts = ['a/b', 'a/b/#', 'a/b/+/c', '+/a', '#', '/a'].map(
    (filter) => new FilterScan(filter).first,
  );
  assert.deepEqual(
    firsts.map((key) => key.toString('latin1')),
    ['a\0b', 'a\0b', 'a\0b\0', '\0', '\0', '\0a'],
  );
});

test('a scan leaps over what lies below a level and over siblings that cannot match', () => {
  const list: string[] = [];
  for (let i = 0; i < 20; i++) {
    for (let j = 0; j < 50; j++) list.push(`a/${i}/${j}`, `a/${i}/${j}/deep`, `b/${i}/${j}`);
  }
  const sorted = sortedKeys(list);
  const { found, looks } = walk('a/+/7', sorted);
  assert.equal(found.length, 20);
  assert.ok(looks <= 3 * 20 + 1, `${looks} keys were looked at`);
  assert.deepEqual(walk('a/3/7', sorted), { found: ['a/3/7'], looks: 2 });
  assert.equal(walk('#', sorted).looks, list.length);
});

test('a scan for names longer than keys leaps to none of them, and past all that cannot match', () => {
  const deep = `${'/'.repeat(65_000)}#`;
  const literal = new FilterScan(deep);
  assert.deepEqual(literal.first, Buffer.of(0xff), 'nothing can begin like that');
  assert.equal(literal.matches(retainedKey('/'.repeat(keyBytesMax))), false);
  assert.equal(literal.next, undefined);
  const wild = new FilterScan(`+/${deep}`);
  for (const name of ['a', 'a/', 'a/b', 'a//c']) {
    assert.equal(wild.matches(retainedKey(name)), false);
    assert.deepEqual(wild.next, Buffer.from('a\x01'), name);
  }
});
