import assert from 'node:assert/strict';
import test from 'node:test';
import { TopicIndex } from './topic-index.ts';

test('those of a topic are found once each, with those of all topics', () => {
  const index = new TopicIndex<string>();
  index.add(['a/+', 'a/b'], 'both');
  index.add(['a/b'], 'exact');
  index.add(['c'], 'other');
  const of = (topic: string | undefined): readonly string[] => [...index.find(topic)].toSorted();
  assert.deepEqual(of('a/b'), ['both', 'exact']);
  assert.deepEqual(of('a/c'), ['both']);
  assert.deepEqual(of('d'), []);
  index.add(undefined, 'all');
  assert.deepEqual(of('a/b'), ['all', 'both', 'exact']);
  assert.deepEqual(of('d'), ['all']);
  assert.deepEqual(of(undefined), ['all']);
});

test('what is removed leaves nothing behind', () => {
  const index = new TopicIndex<string>();
  index.add(['a', 'b'], 'x');
  index.add(['a'], 'y');
  index.add(undefined, 'z');
  index.remove(['a', 'b'], 'x');
  assert.deepEqual([...index.find('a')].toSorted(), ['y', 'z']);
  index.remove(undefined, 'z');
  index.remove(['a'], 'y');
  assert.equal(index.isEmpty, true);
});
