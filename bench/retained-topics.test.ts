import assert from 'node:assert/strict';
import test from 'node:test';
import { branchAt, devicesPerSite, topicAt, topicCount } from './retained-topics.ts';

test('the order of retained topics meets every topic once', () => {
  const met = new Set<string>();
  for (let place = 0; place < topicCount; place++) met.add(topicAt(place));
  assert.equal(met.size, topicCount);
});

test('a branch is a site of the field, another one each time', () => {
  const sites = topicCount / devicesPerSite;
  const met = new Set(Array.from({ length: sites }, (_, place) => branchAt(place)));
  assert.equal(met.size, sites);
  assert.equal(branchAt(0), 'site/77/dev/+');
  for (const filter of met) assert.match(filter, /^site\/\d{1,4}\/dev\/\+$/);
});
