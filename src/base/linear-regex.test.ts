// LinearRegex against the engine of the runtime wherever that one is safe, and against texts that are not.

import assert from 'node:assert/strict';
import test from 'node:test';
import { LinearRegex } from './linear-regex.ts';

const expressions = [
  'abc',
  '^abc$',
  'a|b|',
  '(a|ab)(c|bcd)(d*)',
  '(a*)(a|aa)',
  '(a*?)(a|aa)',
  '(a+|b)*c',
  '(?:ab?)+$',
  '^(.*)/(.*)/(.+)$',
  '^(.+?)/(.*)$',
  'x{2}',
  'x{2,}y',
  '(x{1,3}?)(x*)',
  '[a-c]+([^a-c/]*)',
  '[\\d.]+-\\w+',
  '[^\\W_]+',
  '\\S+\\s\\S+',
  '$',
  '(a*)*b',
  '(a|b*)*',
  '()',
  '^',
  '\\/\\.\\$',
  '(a)|(b)|(c)',
  '.',
];

const texts = [
  '',
  'a',
  'abc',
  'abcd',
  'aaab',
  'xxabcbcdd',
  'a/b/c/d',
  '//',
  'xxxy',
  'one two',
  '12.5-ab_c',
  '/.$',
  'cab',
  'line\nbreak',
  'ünïcode/😀/z',
];

test('a linear expression finds what the engine of the runtime finds', () => {
  for (const expression of expressions) {
    const ours = new LinearRegex(expression);
    const theirs = new RegExp(expression, 'u');
    for (const text of texts) {
      const wanted = theirs.exec(text)?.map((group) => group ?? '');
      // A group inside a repetition: the runtime forgets it with each round, most other engines do not.
      if (expression.startsWith('(a|b*)*') || expression.startsWith('(a*)*')) {
        assert.equal(ours.exec(text)?.[0], wanted?.[0], `${expression} on ${text}`);
        continue;
      }
      assert.deepEqual(ours.exec(text), wanted && [...wanted], `${expression} on ${text}`);
    }
  }
});

test('a linear expression agrees with the runtime on expressions made by chance', () => {
  let seed = 11;
  const below = (bound: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((seed / 2 ** 31) * bound);
  };
  const atoms = ['a', 'b', '.', '[ab]', '[^b]', '(a|b)', '(?:ab|b)', '(ab?)', '^', '$'];
  const times = ['', '', '', '*', '+', '?', '*?', '+?', '??', '{1,2}', '{2}'];
  for (let round = 0; round < 3000; round++) {
    let expression = '';
    for (let i = below(5); i >= 0; i--) {
      const atom = atoms[below(atoms.length)] as string;
      const isAnchor = atom === '^' || atom === '$';
      expression += atom + (isAnchor ? '' : (times[below(times.length)] as string));
      if (below(8) === 0) expression += '|';
    }
    const ours = new LinearRegex(expression);
    const theirs = new RegExp(expression, 'u');
    for (let i = 0; i < 10; i++) {
      const text = Array.from({ length: below(9) }, () => 'abc'[below(3)]).join('');
      const wanted = theirs.exec(text)?.map((group) => group ?? '');
      assert.deepEqual(ours.exec(text), wanted && [...wanted], `${expression} on ${text}`);
    }
  }
});

test('an expression that explodes elsewhere takes steps in proportion to the text (ReDoS)', () => {
  const evil = ['^(a+)+$', '^(a|a)*$', '^(a|aa)+$', '^(.*)/(.*)/(.*)/(.*)/z$', '(.*)*!'];
  const text = `${'a/'.repeat(1000)}${'a'.repeat(5000)}b`;
  // Each of them would keep the engine of the runtime busy for longer than the universe is old.
  for (const expression of evil) assert.equal(new LinearRegex(expression).exec(text), undefined);
});

test('what has another meaning elsewhere, or none here, is refused with its place', () => {
  const refused: readonly (readonly [string, RegExp])[] = [
    ['(a)\\1', /back-references are not allowed \(at character 5\)/],
    ['(?=a)b', /only "\(\?:" is known/],
    ['(?<n>a)', /only "\(\?:" is known/],
    ['a**', /behind a repetition/],
    ['a++', /behind a repetition/],
    ['*a', /nothing to repeat/],
    ['(a', /not closed/],
    ['a)', /without "\("/],
    ['[a', /a set is not closed/],
    ['[]', /without characters/],
    ['[b-a]', /no order/],
    ['[[:alpha:]]', /names of classes/],
    ['\\bword', /"\\b", which has no meaning/],
    ['a\\', /ends in/],
    ['a{2', /expected \{<n>\}/],
    ['a{3,2}', /from low to high/],
    ['a{9999}', /up to 1000/],
    ['a{', /expected \{<n>\}/],
    ['{', /alone/],
    ['^*', /an anchor cannot be repeated/],
    ['(a{1000}){1000}', /more than 2000 steps/],
    ['(?:(?:(?:){1000}){1000}){1000}', /more than 2000 steps/],
    ['('.repeat(60), /more than 50 deep/],
    ['x'.repeat(1001), /more than 1000 characters/],
  ];
  for (const [expression, why] of refused) {
    assert.throws(() => new LinearRegex(expression), { name: 'RegexFault', message: why });
  }
});
