import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { matches } from './match.ts';
import { NameTrie } from './name-trie.ts';

function trieOf(...names: string[]): NameTrie<string> {
  const trie = new NameTrie<string>();
  for (const name of names) trie.set(name, `value of ${name}`);
  return trie;
}

function hits(trie: NameTrie<string>, filter: string): string[] {
  const found: string[] = [];
  trie.match(filter, (name, value) => {
    assert.equal(value, `value of ${name}`);
    found.push(name);
  });
  return found;
}

/** `a/0` to `a/<count - 1>`, scattered. */
function manyNames(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `a/${(i * 7919) % count}`);
}

test('NameTrie answers a filter in the order of the names', () => {
  const trie = trieOf('c', 'b/1/y', 'a/2/y', 'a/2/x', 'a/1/z', 'a/1/y', 'a/1/x', 'a', 'a-b', 'a/');
  assert.deepEqual(hits(trie, 'a/+/y'), ['a/1/y', 'a/2/y']);
  assert.deepEqual(hits(trie, 'a/1/+'), ['a/1/x', 'a/1/y', 'a/1/z']);
  assert.deepEqual(hits(trie, 'a/1/#'), ['a/1/x', 'a/1/y', 'a/1/z']);
  assert.deepEqual(hits(trie, '+'), ['a', 'a-b', 'c']);
  assert.deepEqual(hits(trie, 'a/#'), ['a', 'a/', 'a/1/x', 'a/1/y', 'a/1/z', 'a/2/x', 'a/2/y']);
  assert.deepEqual(hits(trie, 'a/+'), ['a/']);
  assert.deepEqual(hits(trie, 'a/2/y'), ['a/2/y']);
  assert.deepEqual(hits(trie, '+/+/z'), ['a/1/z']);
  assert.deepEqual(hits(trie, 'z/#'), []);
  assert.equal(hits(trie, '#').length, trie.size);
});

test('NameTrie finds levels whose texts sort around the slash', () => {
  const trie = trieOf('a', 'a!', 'a!/x', 'a-/x', 'a./x', 'a/x', 'a0/x', 'a/!', 'a/x/', 'a/x.');
  assert.deepEqual(hits(trie, '+/x'), ['a!/x', 'a-/x', 'a./x', 'a/x', 'a0/x']);
  assert.deepEqual(hits(trie, 'a/#'), ['a', 'a/!', 'a/x', 'a/x.', 'a/x/']);
  assert.deepEqual(hits(trie, 'a/x/#'), ['a/x', 'a/x/']);
});

test('[MQTT-4.7.2-1] NameTrie keeps names that begin with $ from leading wildcards', () => {
  const trie = trieOf('!', '$s', '$s/a', '$s/b', '%', 'a/a');
  assert.deepEqual(hits(trie, '#'), ['!', '%', 'a/a']);
  assert.deepEqual(hits(trie, '+/a'), ['a/a']);
  assert.deepEqual(hits(trie, '$s/#'), ['$s', '$s/a', '$s/b']);
  assert.deepEqual(hits(trie, '$s/+'), ['$s/a', '$s/b']);
});

test('NameTrie set replaces a value, get and size tell, delete says whether it was there', () => {
  const trie = new NameTrie<number>();
  assert.equal(trie.get('a'), undefined);
  assert.equal(trie.delete('a'), false);
  trie.set('a', 1);
  trie.set('a', 2);
  assert.equal(trie.size, 1);
  assert.equal(trie.get('a'), 2);
  assert.equal(trie.get('A'), undefined);
  assert.equal(trie.delete('b'), false);
  assert.equal(trie.delete('a'), true);
  assert.equal(trie.size, 0);
  assert.deepEqual([...trie], []);
});

test('NameTrie keeps thousands of names in order while they come and go', () => {
  const names = manyNames(5000);
  for (const order of [names, [...names].sort(), [...names].sort().reverse()]) {
    const trie = trieOf(...order);
    const left = new Set(names);
    for (let round = 0; left.size > 0; round++) {
      assert.equal(trie.size, left.size);
      assert.deepEqual(hits(trie, 'a/+'), [...left].sort());
      for (const name of order) {
        if (round < 2 && Number(name.slice(2)) % 3 !== round) continue;
        assert.equal(trie.delete(name), left.delete(name), name);
      }
    }
    assert.equal(trie.size, 0);
    assert.deepEqual(hits(trie, '#'), []);
  }
});

test('NameTrie fills its chunks in whatever order names come, and gives them up again', () => {
  const names = manyNames(20_000);
  const ascending = [...names].sort();
  const descending = [...ascending].reverse();
  for (const order of [names, ascending, descending, [...ascending.slice(0, 512), ...descending]]) {
    const trie = trieOf(...order);
    assert.ok(trie.chunkCount <= names.length / 200, `${trie.chunkCount} chunks`);
    for (const name of names) if (!name.endsWith('7')) trie.delete(name);
    assert.ok(trie.chunkCount <= trie.size / 50, `${trie.chunkCount} chunks after deletes`);
    for (const name of names) trie.delete(name);
    assert.equal(trie.chunkCount, 0);
  }
});

test('NameTrie stops when a visit answers false', () => {
  const trie = trieOf('a', 'b', 'c');
  const seen: string[] = [];
  trie.match('#', (name) => {
    seen.push(name);
    return name !== 'b';
  });
  assert.deepEqual(seen, ['a', 'b']);
});

test('NameTrie slices look at a bounded number of names and add up to the whole match', () => {
  const trie = trieOf(...manyNames(2000), 'b/1');
  for (const [filter, expected] of [
    ['a/+', 2000],
    ['+/1', 2],
    ['+/none', 0],
  ] as const) {
    const seen: string[] = [];
    let slices = 0;
    for (let from: string | undefined = ''; from !== undefined; slices++) {
      const before = seen.length;
      from = trie.matchSlice(filter, from, 3, (name) => void seen.push(name));
      assert.ok(seen.length - before <= 3);
    }
    assert.equal(seen.length, expected);
    assert.deepEqual(seen, hits(trie, filter));
    assert.ok(slices >= expected / 3);
  }
});

test('NameTrie slices go on behind the name whose visit answered false', () => {
  const trie = trieOf('a', 'b', 'c');
  const seen: string[] = [];
  for (let from: string | undefined = ''; from !== undefined; ) {
    from = trie.matchSlice('+', from, 100, (name) => {
      seen.push(name);
      return false;
    });
  }
  assert.deepEqual(seen, ['a', 'b', 'c']);
});

test('NameTrie stands changes in visits, between slices and between steps of an iteration', () => {
  const names = manyNames(3000);
  const trie = trieOf(...names);
  const seen: string[] = [];
  trie.match('a/+', (name) => {
    seen.push(name);
    assert.equal(trie.delete(name), true);
  });
  assert.deepEqual(seen, [...names].sort());
  assert.equal(trie.size, 0);

  for (const name of names) trie.set(name, `value of ${name}`);
  const resume = trie.matchSlice('#', '', 10, () => {});
  for (const name of names) trie.delete(name);
  assert.equal(
    trie.matchSlice('#', resume ?? '', 10, () => assert.fail()),
    undefined,
  );

  for (const name of names) trie.set(name, `value of ${name}`);
  let count = 0;
  for (const [name] of trie) {
    count++;
    trie.delete(name);
    if (name !== 'z') trie.set('z', 'value of z');
  }
  assert.equal(count, 3001);
  assert.equal(trie.size, 0);
});

test('NameTrie survives names and filters of 65535 levels', () => {
  const deep = '/'.repeat(65534);
  const trie = trieOf(deep, `${deep}a`, 'a');
  assert.deepEqual(hits(trie, '#'), [deep, `${deep}a`, 'a']);
  assert.deepEqual(hits(trie, `${deep}+`), [deep, `${deep}a`]);
  assert.deepEqual(hits(trie, `${'+/'.repeat(65534)}a`), [`${deep}a`]);
  assert.deepEqual(hits(trie, `${'+/'.repeat(65535)}a`), []);
  assert.equal(trie.delete(deep), true);
  assert.deepEqual(hits(trie, '/#'), [`${deep}a`]);
});

test('NameTrie agrees with a scan of all names after any sets and deletes', (t) => {
  const seed = Date.now() | 0;
  t.diagnostic(`seed ${seed}`);
  const level = fc.constantFrom('', 'a', 'b', 'a!', 'a0', '$s');
  const name = fc.array(level, { minLength: 1, maxLength: 4 }).map((levels) => levels.join('/'));
  const filter = fc
    .tuple(
      fc.array(fc.oneof(level, fc.constant('+')), { minLength: 1, maxLength: 4 }),
      fc.boolean(),
    )
    .map(([levels, isOpen]) => (isOpen ? [...levels.slice(1), '#'] : levels).join('/'));
  const steps = fc.array(fc.tuple(name, fc.integer({ min: 0, max: 4 })), { maxLength: 120 });
  const agrees = fc.property(steps, fc.array(filter, { maxLength: 8 }), (changes, filters) => {
    const trie = new NameTrie<string>();
    const model = new Set<string>();
    for (const [text, kind] of changes) {
      if (kind === 0) {
        assert.equal(trie.delete(text), model.delete(text));
      } else {
        trie.set(text, `value of ${text}`);
        model.add(text);
      }
    }
    const sorted = [...model].sort();
    assert.equal(trie.size, model.size);
    assert.deepEqual(
      [...trie].map(([text]) => text),
      sorted,
    );
    for (const text of filters) {
      assert.deepEqual(
        hits(trie, text),
        sorted.filter((each) => matches(text, each)),
      );
    }
  });
  fc.assert(agrees, { seed, numRuns: 1000 });
});
