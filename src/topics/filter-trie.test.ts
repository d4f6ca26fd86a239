import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { FilterTrie } from './filter-trie.ts';
import { matches } from './match.ts';

function trieOf(...filters: string[]): FilterTrie<string> {
  const trie = new FilterTrie<string>();
  for (const filter of filters) trie.set(filter, filter);
  return trie;
}

function hits(trie: FilterTrie<string>, topic: string): string[] {
  const found: string[] = [];
  trie.match(topic, (value) => found.push(value));
  return found.sort();
}

test('FilterTrie finds every filter that matches and no other', () => {
  const trie = trieOf('a/b', 'a/+', 'a/#', '+/c', '#', 'a', 'b/#', '+/+/+');
  assert.deepEqual(hits(trie, 'a/b'), ['#', 'a/#', 'a/+', 'a/b']);
  assert.deepEqual(hits(trie, 'a'), ['#', 'a', 'a/#']);
  assert.deepEqual(hits(trie, 'x/c'), ['#', '+/c']);
  assert.deepEqual(hits(trie, '//'), ['#', '+/+/+']);
  assert.deepEqual(hits(trie, ''), ['#']);
});

test('[MQTT-4.7.2-1] FilterTrie keeps leading wildcards away from topics that begin with $', () => {
  const trie = trieOf('#', '+', '+/a', '+/#', '$s/#', '$s/+', '$s');
  assert.deepEqual(hits(trie, '$s/a'), ['$s/#', '$s/+']);
  assert.deepEqual(hits(trie, '$s'), ['$s', '$s/#']);
  assert.deepEqual(hits(trie, 's/a'), ['#', '+/#', '+/a']);
});

test('FilterTrie set replaces a value, get and size tell, delete says whether it was there', () => {
  const trie = new FilterTrie<number | undefined>();
  trie.set('a/#', 1);
  trie.set('a/#', 2);
  trie.set('a', undefined);
  assert.equal(trie.size, 2);
  assert.equal(trie.get('a/#'), 2);
  assert.equal(trie.get('a/+'), undefined);
  const seen: (number | undefined)[] = [];
  trie.match('a', (value) => seen.push(value));
  assert.deepEqual(seen, [undefined, 2]);
  assert.equal(trie.delete('a/+'), false);
  assert.equal(trie.delete('a/#'), true);
  assert.equal(trie.delete('a/#'), false);
  assert.deepEqual([...trie], [['a', undefined]]);
});

test('FilterTrie keeps what shares a path with a deleted filter', () => {
  const trie = trieOf('a/b/c', 'a/b', 'a/b/#', 'a/b/d', 'a/b/+', 'a');
  trie.delete('a/b/c');
  trie.delete('a/b');
  assert.deepEqual(hits(trie, 'a/b/c'), ['a/b/#', 'a/b/+']);
  assert.deepEqual(hits(trie, 'a/b/d'), ['a/b/#', 'a/b/+', 'a/b/d']);
  trie.delete('a/b/d');
  trie.delete('a/b/+');
  trie.delete('a/b/#');
  assert.deepEqual(hits(trie, 'a/b/d'), []);
  assert.deepEqual(hits(trie, 'a'), ['a']);
});

test('FilterTrie stands a visit that deletes and adds filters', () => {
  const trie = trieOf('a/#', 'a/+', '+/b', '#', 'a/b');
  trie.match('a/b', (filter) => {
    trie.delete(filter);
    trie.set(`${filter === '#' ? 'z' : filter.replace('#', 'z')}/more`, filter);
  });
  assert.equal(trie.size, 5);
  assert.deepEqual(hits(trie, 'a/b'), []);
  assert.deepEqual(hits(trie, 'a/b/more').length, 3);
});

test('FilterTrie survives topics and filters of 65535 levels', () => {
  const deep = '/'.repeat(65534);
  const trie = trieOf('#', '+/+/#', deep);
  assert.deepEqual(hits(trie, deep), ['#', '+/+/#', deep].sort());
  assert.deepEqual(hits(trie, `${deep}a`), ['#', '+/+/#']);
  assert.equal(trie.nodeCount, 65535 + 2);
  assert.equal(trie.delete(deep), true);
  assert.equal(trie.nodeCount, 2);
  assert.deepEqual(hits(trie, deep), ['#', '+/+/#']);
});

test('FilterTrie matches as each of its filters does after any sets and deletes', (t) => {
  const seed = Date.now() | 0;
  t.diagnostic(`seed ${seed}`);
  const level = fc.constantFrom('', 'a', 'b', '$s');
  const topic = fc.array(level, { minLength: 1, maxLength: 4 }).map((levels) => levels.join('/'));
  const filter = fc
    .tuple(
      fc.array(fc.oneof(level, fc.constant('+')), { minLength: 1, maxLength: 4 }),
      fc.boolean(),
    )
    .map(([levels, isOpen]) => (isOpen ? [...levels.slice(1), '#'] : levels).join('/'));
  const steps = fc.array(fc.tuple(filter, fc.integer({ min: 0, max: 2 })), { maxLength: 60 });
  const agrees = fc.property(steps, fc.array(topic, { maxLength: 8 }), (changes, topics) => {
    const trie = new FilterTrie<string>();
    const model = new Set<string>();
    for (const [text, kind] of changes) {
      if (kind === 0) {
        assert.equal(trie.delete(text), model.delete(text));
      } else {
        trie.set(text, text);
        model.add(text);
      }
    }
    assert.equal(trie.size, model.size);
    assert.deepEqual([...trie].map(([text]) => text).sort(), [...model].sort());
    for (const name of topics) {
      assert.deepEqual(hits(trie, name), [...model].filter((text) => matches(text, name)).sort());
    }
    assert.equal(trie.nodeCount, nodesOf(model));
    for (const text of model) assert.equal(trie.delete(text), true);
    assert.equal(trie.nodeCount, 0);
    for (const name of topics) assert.deepEqual(hits(trie, name), []);
  });
  fc.assert(agrees, { seed, numRuns: 500 });
});

/** One node for each distinct beginning of a filter; a last '#' has none. */
function nodesOf(filters: Iterable<string>): number {
  const beginnings = new Set<string>();
  for (const filter of filters) {
    const levels = filter.split('/');
    if (levels.at(-1) === '#') levels.pop();
    for (let i = 1; i <= levels.length; i++) beginnings.add(levels.slice(0, i).join('/'));
  }
  return beginnings.size;
}
