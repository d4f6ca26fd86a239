// What people write who know other dialects, and how they get it here. Laws: a hint only adds to an error
// that is told anyway; no statement that can be read is refused because of one,
// SELECT DISTINCT aside.

import type { Token } from './lexer.ts';

/** A hint for `found`, which stands before `second` where one of `expected` should; undefined: none. */
export function hintFor(
  found: Token,
  second: Token,
  expected: readonly string[],
): string | undefined {
  if (found.kind === 'name') {
    return foreignWords.get(found.text.toLowerCase()) ?? misspelt(found.text, expected);
  }
  if (found.kind !== 'sign') return undefined;
  if (found.text === 'not') {
    return foreignWords.get(second.text.toLowerCase()) ?? notHelp;
  }
  return expected.includes('an operator') ? behindOperand(found) : insteadOfOperand(found, second);
}

const notHelp = 'NOT stands before IN or a whole condition, elsewhere in parentheses';
const alone = 'a rule sees one event at a time: nothing can be grouped, sorted or counted';
const several = 'several events are written as FROM "a", "b"';
const foreignWords: ReadonlyMap<string, string> = new Map([
  ['like', "use regex_match(text, 'pattern'), or =~ for topics"],
  ['ilike', "use regex_match(text, 'pattern'), or =~ for topics"],
  ['rlike', "use regex_match(text, 'pattern')"],
  ['regexp', "use regex_match(text, 'pattern')"],
  ['between', 'use x >= a AND x <= b'],
  ['is', 'use is_null(x) or is_not_null(x)'],
  ['xor', 'use (a OR b) AND NOT (a AND b)'],
  ['join', several],
  ['inner', several],
  ['left', several],
  ['right', several],
  ['cross', several],
  ['union', several],
  ['distinct', alone],
  ['group', alone],
  ['having', alone],
  ['order', alone],
  ['limit', alone],
]);

const comparisons: ReadonlySet<string> = new Set(['=', '!=', '<', '>', '<=', '>=', '=~', 'in']);

function behindOperand({ text }: Token): string | undefined {
  if (comparisons.has(text)) return 'comparisons are joined with AND or put in parentheses';
  if (text === '.' || text === '[')
    return 'only a column has parts: name the value first, … AS x, x.a';
  if (text === 'as') return 'AS names a field; int(x), float(x) and str(x) convert';
  return undefined;
}

function insteadOfOperand({ text }: Token, second: Token): string | undefined {
  if (text === '*') return '* stands alone for all columns';
  if (text === 'select' || (text === '(' && second.text === 'select'))
    return 'a statement cannot stand in another';
  return undefined;
}

function misspelt(word: string, expected: readonly string[]): string | undefined {
  const meant = expected.find((label) => /^[A-Z]{4,}$/.test(label) && isNearly(word, label));
  return meant === undefined ? undefined : `did you mean ${meant}?`;
}

/** One letter wrong, missing or too many, or two swapped. */
function isNearly(word: string, keyword: string): boolean {
  const large = word.toUpperCase();
  let same = 0;
  while (same < keyword.length && large[same] === keyword[same]) same += 1;
  const given = large.slice(same);
  const meant = keyword.slice(same);
  const swapped = `${given.slice(1, 2)}${given.slice(0, 1)}${given.slice(2)}`;
  return (
    [given.slice(1), swapped].includes(meant) ||
    meant.slice(1) === given ||
    meant.slice(1) === given.slice(1)
  );
}
