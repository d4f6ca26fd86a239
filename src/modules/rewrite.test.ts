import assert from 'node:assert/strict';
import test from 'node:test';
import { Rewriter } from './rewrite.ts';

/** Rules by number, from 1. */
function rewriterOf(...texts: readonly string[]): Rewriter & { readonly refusals: string[] } {
  const refusals: string[] = [];
  const rules = texts.map((text, i) => {
    const [filter = '', regex = '', dest = ''] = text.split(' ');
    return { number: i + 1, filter, regex, dest };
  });
  const rewriter = new Rewriter(rules, (rule, topic, why) => {
    refusals.push(`${rule} ${topic}: ${why}`);
  });
  return Object.assign(rewriter, { refusals });
}

const usual = [
  'y/+/z/# ^y/(.+)/z/(.+)$ y/z/$2',
  'x/# ^x/y/(.+)$ z/y/$1',
  'x/y/+ ^x/y/(\\d+)$ z/y/$1',
];

test('the first rule whose filter matches is used, also where its expression does not match', () => {
  const rewriter = rewriterOf(...usual);
  assert.equal(rewriter.topicOf('y/a/z/b'), 'y/z/b');
  assert.equal(rewriter.topicOf('y/def'), 'y/def');
  assert.equal(rewriter.topicOf('x/1/2'), 'x/1/2');
  assert.equal(rewriter.topicOf('x/y/2'), 'z/y/2');
  assert.equal(rewriter.topicOf('x/y/def'), 'z/y/def');
  assert.equal(rewriter.topicOf('other'), 'other');
  assert.deepEqual(rewriter.refusals, []);
  // Rule 2 stands before rule 3, and has the last word about x/#.
  assert.equal(rewriterOf('x/# ^never$ n', usual[2] ?? '').topicOf('x/y/1'), 'x/y/1');
});

test('all groups are put in, more than nine too, and one that took no part as nothing', () => {
  const letters = Array.from({ length: 11 }, () => '(.)').join('');
  const rewriter = rewriterOf(`l/# ^l/${letters}$ $11/$1/$10$2`, 'o/# ^o/(a)?(b)$ [$1][$2]');
  assert.equal(rewriter.topicOf('l/abcdefghijk'), 'k/a/jb');
  assert.equal(rewriter.topicOf('o/b'), '[][b]');
  assert.equal(rewriterOf('d/# ^d/(.+)$ cost$/$1').topicOf('d/5'), 'cost$/5');
});

test('filters are rewritten as texts, inside the prefix of a shared subscription', () => {
  const rewriter = rewriterOf(...usual);
  assert.equal(rewriter.filterOf('x/y/+', ''), 'z/y/+');
  assert.equal(rewriter.filterOf('x/y/#', ''), 'z/y/#');
  assert.equal(rewriter.filterOf('$share/g/x/y/1', ''), '$share/g/z/y/1');
  assert.equal(rewriter.filterOf('$queue/x/y/1', ''), '$queue/z/y/1');
  assert.equal(rewriter.filterOf('+/y/1', ''), '+/y/1', 'more than the rule speaks of');
  assert.equal(rewriter.filterOf('not/a#filter', ''), 'not/a#filter');
});

test('a filter is rewritten under its mountpoint, and does not leave it', () => {
  const rewriter = rewriterOf(
    't/+/x/# ^t/([^/]+)/x/(.+)$ t/$1/z/$2',
    't/+/o/# ^t/[^/]+/o/(.+)$ out/$1',
  );
  assert.equal(rewriter.topicOf('t/a/x/1'), 't/a/z/1');
  assert.equal(rewriter.filterOf('x/1', 't/a/'), 'z/1');
  assert.equal(rewriter.filterOf('$share/g/x/+', 't/a/'), '$share/g/z/+');
  assert.equal(rewriter.filterOf('o/1', 't/a/'), 'o/1');
  assert.deepEqual(rewriter.refusals, ['2 t/a/o/1: it is not under the mountpoint "t/a/"']);
});

test('what is no topic, or no filter, stays as it was', () => {
  const rewriter = rewriterOf('x/# ^x/?(.*)$ $1', `l/# ^l/(.+)$ ${'long/'.repeat(20)}$1`);
  assert.equal(rewriter.topicOf('x'), 'x');
  assert.match(rewriter.refusals[0] ?? '', /it is empty/);
  assert.equal(rewriter.topicOf(`l/${'x'.repeat(65_500)}`).length, 65_502);
  assert.match(rewriter.refusals[1] ?? '', /too long/);
  const halves = rewriterOf('x/# ^x/(.)(.*)$ a$1$2');
  assert.equal(halves.filterOf('x/+/1', ''), 'x/+/1');
  assert.match(halves.refusals[0] ?? '', /"\+" is allowed only as a whole level/);
});

test('no client gets to a name of the broker by what it writes', () => {
  const rewriter = rewriterOf(
    'x/# ^x/(.+)$ $1',
    'd/# ^d/(\\d+)/(.+)$ $delayed/$1/$2',
    'e/# ^e/(.+)$ $$1',
  );
  for (const topic of [
    'x/$SYS/brokers',
    'x/$share/g/t',
    'x/$delayed/1/t',
    'e/SYS/brokers',
    'e/share/g/t',
  ]) {
    assert.equal(rewriter.topicOf(topic), topic);
    assert.equal(rewriter.filterOf(topic, ''), topic);
  }
  assert.equal(rewriter.filterOf('x/$SYS/#', ''), 'x/$SYS/#');
  assert.equal(rewriter.filterOf('$share/g/x/$share/h/t', ''), '$share/g/x/$share/h/t');
  assert.equal(rewriter.topicOf('x/y'), 'y');
  assert.equal(rewriter.topicOf('d/5/t'), '$delayed/5/t', 'the destination says so itself');
});

test('a topic that comes again is answered from memory, which is bounded', () => {
  const rewriter = rewriterOf('x/# ^x/(.+)$ y/$1');
  for (let i = 0; i < 10_000; i++) assert.equal(rewriter.topicOf(`x/${i}`), `y/${i}`);
  assert.equal(rewriter.topicOf('x/1'), 'y/1');
  assert.equal(rewriter.topicOf('x/1'), 'y/1');
});
