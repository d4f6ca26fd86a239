// Regular expressions on texts that strangers choose. Laws: only expressions whose time grows with the length
// of the text (#base/linear-regex: no back-reference, no look-around), on texts of bounded length, and
// replacing stops where its work passes a bound; a constant that is no expression fails the statement.

import { LinearRegex } from '#base/linear-regex';
import { parseRegex, RegexFault } from '#base/regex-syntax';
import { bounded } from './json.ts';
import { raise } from './raise.ts';
import { type SqlFunction, sqlFunctionWithMemory } from './sql-function.ts';
import type { ValueList } from './value.ts';

const subjectMax = 65_536;
/** Characters looked at while replacing, counted as if each search went to the end. */
const searchedMax = 4_000_000;

export const regexFunctions: readonly SqlFunction[] = [
  sqlFunctionWithMemory('Text', 'regex_match', {
    params: { s: 'text', expression: 'text' },
    text: 'Whether a regular expression matches somewhere in a text. No back-references, no look-around.',
    examples: {
      "regex_match('sensor-12', '^sensor-[0-9]+$')": 'true',
      "regex_match('abc', 'x')": 'false',
    },
    objection: patternObjection,
    open: () => {
      const of = remembered((pattern) => new LinearRegex(pattern));
      return ({ s, expression }) => of(expression).exec(checked(s)) !== undefined;
    },
  }),
  sqlFunctionWithMemory('Text', 'regex_replace', {
    params: { s: 'text', expression: 'text', by: 'text' },
    text: 'With another text in place of all matches; \\0 is the match, \\1 to \\9 are its groups.',
    examples: {
      "regex_replace('a1b22', '[0-9]+', '#')": '"a#b#"',
      "regex_replace('2024-05', '([0-9]+)-([0-9]+)', '\\2/\\1')": '"05/2024"',
    },
    objection: patternObjection,
    open: () => {
      const of = remembered(searchers);
      return ({ s, expression, by }) => replaced(checked(s), of(expression), by);
    },
  }),
];

function patternObjection([, pattern]: ValueList): string | undefined {
  if (typeof pattern !== 'string') return undefined;
  try {
    searchers(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof RegexFault)
      return `"${pattern}" is no regular expression: ${error.message}`;
    throw error;
  }
}

/** The last expression stays: nearly always there is no other. */
function remembered<T>(make: (pattern: string) => T): (pattern: string) => T {
  let last: { readonly pattern: string; readonly made: T } | undefined;
  return (pattern) => {
    if (last?.pattern === pattern) return last.made;
    try {
      last = { pattern, made: make(pattern) };
    } catch (error) {
      if (error instanceof RegexFault)
        raise(() => `the regular expression is wrong: ${error.message}`);
      throw error;
    }
    return last.made;
  };
}

function checked(s: string): string {
  if (s.length > subjectMax) raise(() => `the text has more than ${subjectMax} characters`);
  return s;
}

interface Searchers {
  /** What is before the match is the first group, the match the second. */
  readonly first: LinearRegex;
  /** For a text that begins one character before the place to search from: there `^` does not match. */
  readonly next: LinearRegex;
}

function searchers(pattern: string): Searchers {
  // By itself first: what is no expression alone must not become one inside of another.
  parseRegex(pattern);
  return {
    first: new LinearRegex(`^([\\s\\S]*?)(${pattern})`),
    next: new LinearRegex(`^([\\s\\S][\\s\\S]*?)(${pattern})`),
  };
}

function replaced(s: string, { first, next }: Searchers, by: string): string {
  let made = '';
  let searched = 0;
  for (let from = 0; ; ) {
    searched += s.length - from;
    if (searched > searchedMax)
      raise(() => `replacing takes too long: too many matches in too long a text`);
    const found = from === 0 ? first.exec(s) : next.exec(s.slice(from - 1));
    if (found === undefined) return bounded(made + s.slice(from));
    const [, before = '', match = ''] = found;
    const start = from + before.length - (from === 0 ? 0 : 1);
    made = bounded(made + s.slice(from, start) + filledIn(by, found));
    const end = start + match.length;
    if (end >= s.length) return made;
    // An empty match must not be found again: one character passes as it is.
    const passed = match === '' ? String.fromCodePoint(s.codePointAt(end) as number) : '';
    made += passed;
    from = end + passed.length;
  }
}

function filledIn(by: string, found: readonly string[]): string {
  return by.replace(/\\([0-9\\])/g, (_, digit: string) =>
    digit === '\\' ? '\\' : (found[Number(digit) + 2] ?? ''),
  );
}
