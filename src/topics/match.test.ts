import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { matches } from './match.ts';

const table: [filter: string, topic: string, expected: boolean][] = [
  ['a/b', 'a/b', true],
  ['a/b', 'a/bc', false],
  ['a/bc', 'a/b', false],
  ['a', 'a/b', false],
  ['a/b', 'a', false],
  ['a/#', 'a', true],
  ['a/#', 'a/', true],
  ['a/#', 'a/b/c', true],
  ['a/#', 'ab', false],
  ['a/+', 'a', false],
  ['a/+', 'a/', true],
  ['a/+', 'a/b/c', false],
  ['+/b', 'a/b', true],
  ['+/+', '/', true],
  ['/+', '/', true],
  ['+', '/', false],
  ['+', '/a', false],
  ['/', '/', true],
  ['/', '//', false],
  ['a//b', 'a//b', true],
  ['a/+/b', 'a//b', true],
  ['a/b', 'a//b', false],
  ['#', '/', true],
  ['+/#', 'a', true],
  ['/#', 'a', false],
  ['+/a/#', 'x/a', true],
  ['a/+/#', 'a', false],
];

test('matches decides by levels, empty ones included', () => {
  for (const [filter, topic, expected] of table) {
    assert.equal(matches(filter, topic), expected, `${filter} against ${topic}`);
  }
});

test('[MQTT-4.7.2-1] matches never takes a leading wildcard for a topic that begins with $', () => {
  for (const filter of ['#', '+/a', '+/#', '+/+']) {
    assert.equal(matches(filter, '$SYS/a'), false, filter);
  }
  assert.equal(matches('$SYS/#', '$SYS/a'), true);
  assert.equal(matches('$SYS/+', '$SYS/a'), true);
  assert.equal(matches('a/+', 'a/$SYS'), true);
});

test('[MQTT-4.7.3-4] matches compares characters as they are', () => {
  assert.equal(matches('A', 'a'), false);
  assert.equal(matches('e\u0301', 'é'), false);
  assert.equal(matches('a ', 'a'), false);
});

test('matches covers a filter given as the topic when no level of it reaches further', () => {
  for (const [outer, inner] of [
    ['a/#', 'a/#'],
    ['a/#', 'a/+'],
    ['a/+', 'a/+'],
    ['#', '#'],
    ['#', '+/a/#'],
    ['$SYS/#', '$SYS/+/x'],
  ] as const) {
    assert.equal(matches(outer, inner), true, `${outer} covers ${inner}`);
  }
  for (const [outer, inner] of [
    ['a/+', 'a/#'],
    ['+', '#'],
    ['a/b', 'a/+'],
    ['+/+', 'a/#'],
    ['#', '$SYS/#'],
    ['$SYS/#', '#'],
  ] as const) {
    assert.equal(matches(outer, inner), false, `${outer} does not cover ${inner}`);
  }
});

test('matches reads a misplaced wildcard as plain text', () => {
  assert.equal(matches('+a', 'xa'), false);
  assert.equal(matches('a#', 'a'), false);
  assert.equal(matches('#/a', 'b/a'), false);
  assert.equal(matches('a/+b', 'a/+b'), true);
});

test('matches scans 65535 levels', () => {
  const deep = '/'.repeat(65534);
  assert.equal(matches(deep, deep), true);
  assert.equal(matches(`${deep}#`, deep), true);
  assert.equal(matches('+/'.repeat(65534), deep), true);
  assert.equal(matches('+/'.repeat(65535), deep), false);
});

test('matches agrees with a comparison of split levels', (t) => {
  const level = fc.constantFrom('', 'a', 'b', 'ab', '$s', '+');
  const text = fc
    .tuple(fc.array(level, { minLength: 1, maxLength: 5 }), fc.boolean())
    .map(([levels, isOpen]) => (isOpen ? [...levels.slice(1), '#'] : levels).join('/'));
  const seed = Date.now() | 0;
  t.diagnostic(`seed ${seed}`);
  const agrees = fc.property(text, text, (filter, topic) => {
    assert.equal(matches(filter, topic), matchesNaively(filter.split('/'), topic.split('/')));
  });
  fc.assert(agrees, { seed, numRuns: 5000 });
});

function matchesNaively(filter: string[], topic: string[]): boolean {
  if (topic[0]?.startsWith('$') && (filter[0] === '+' || filter[0] === '#')) return false;
  const isOpen = filter.at(-1) === '#';
  const wanted = isOpen ? filter.slice(0, -1) : filter;
  if (isOpen ? topic.length < wanted.length : topic.length !== wanted.length) return false;
  return wanted.every((level, i) => (level === '+' ? topic[i] !== '#' : level === topic[i]));
}
