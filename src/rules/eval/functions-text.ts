// Functions of texts. Laws: characters are counted as readers count them (graphemes.ts); a text that is made
// has at most `textMax` characters, a list at most `listMax` elements.

import { graphemeCount, graphemeSlice, graphemesOf } from './graphemes.ts';
import { bounded } from './json.ts';
import { raise } from './raise.ts';
import { type SqlFunction, sqlFunction } from './sql-function.ts';
import { listMax, textMax } from './value.ts';
import { textOf } from './value-text.ts';

const splitModes = ['leading', 'trailing', 'notrim', 'leading_notrim', 'trailing_notrim'] as const;
const padModes = ['leading', 'both', 'trailing'] as const;
const replaceModes = ['all', 'leading', 'trailing'] as const;
const findModes = ['leading', 'trailing'] as const;

export const textFunctions: readonly SqlFunction[] = [
  of('lower', 'In small letters.', { "lower('ABC')": '"abc"', "lower('Ä')": '"ä"' }, (s) =>
    s.toLowerCase(),
  ),
  of('upper', 'In capital letters.', { "upper('abc')": '"ABC"', "upper('ß')": '"SS"' }, (s) =>
    s.toUpperCase(),
  ),
  of(
    'trim',
    'Without white space at both ends.',
    { "trim('  a b ')": '"a b"', "trim('')": '""' },
    (s) => s.trim(),
  ),
  of(
    'ltrim',
    'Without white space at the beginning.',
    { "ltrim('  a ')": '"a "', "ltrim('a')": '"a"' },
    (s) => s.trimStart(),
  ),
  of(
    'rtrim',
    'Without white space at the end.',
    { "rtrim('  a ')": '"  a"', "rtrim('a')": '"a"' },
    (s) => s.trimEnd(),
  ),
  of('reverse', 'From back to front.', { "reverse('abc')": '"cba"', "reverse('')": '""' }, (s) =>
    graphemesOf(s).toReversed().join(''),
  ),
  sqlFunction('Text', 'strlen', {
    params: { s: 'text' },
    text: 'How many characters it has.',
    examples: { "strlen('abc')": '3', "strlen('né')": '2' },
    call: ({ s }) => graphemeCount(s),
  }),
  sqlFunction('Text', 'substr', {
    params: { s: 'text', start: 'count', length: 'count?' },
    text: 'The part from a place, counted from 0; at most so many characters.',
    examples: { "substr('abcdef', 2)": '"cdef"', "substr('abcdef', 2, 3)": '"cde"' },
    call: ({ s, start, length }) => {
      if (start < 0) raise(() => `cannot begin at ${start}: 0 or more is wanted`);
      if (length !== undefined && length < 0)
        raise(() => `cannot take ${length} characters: 0 or more is wanted`);
      return graphemeSlice(s, start, length);
    },
  }),
  sqlFunction('Text', 'split', {
    params: { s: 'text', separator: 'text', mode: 'text?' },
    text: "The pieces between separators, without empty ones; once at the 'leading' or 'trailing' one; with empty ones: 'notrim', 'leading_notrim', 'trailing_notrim'.",
    examples: {
      "split('a/b//c', '/')": '["a","b","c"]',
      "split('a/b/c', '/', 'leading')": '["a","b/c"]',
      "split('a/b/c', '/', 'trailing')": '["a/b","c"]',
      "split('/a/', '/', 'notrim')": '["","a",""]',
    },
    call: ({ s, separator, mode }) => split(s, separator, choice(mode, splitModes)),
  }),
  sqlFunction('Text', 'tokens', {
    params: { s: 'text', separators: 'text', mode: 'text?' },
    text: "The pieces between any of these characters, without empty ones; 'nocrlf': also between lines.",
    examples: {
      "tokens(' a, b', ' ,')": '["a","b"]',
      "tokens('a b', ' ', 'nocrlf')": '["a","b"]',
    },
    call: ({ s, separators, mode }) => {
      const isSeparator = new Set(separators);
      if (choice(mode, ['nocrlf'] as const) !== undefined)
        for (const end of '\r\n') isSeparator.add(end);
      return tokens(s, isSeparator);
    },
  }),
  sqlFunction('Text', 'concat', {
    params: { values: 'value*' },
    text: 'All of them as one text.',
    examples: { "concat('a', 'b')": '"ab"', "concat('n', 1, true)": '"n1true"' },
    call: ({ values }) => {
      let all = '';
      for (const value of values) all = bounded(all + textOf(value));
      return all;
    },
  }),
  sqlFunction('Text', 'pad', {
    params: { s: 'text', length: 'count', mode: 'text?', char: 'text?' },
    text: "Filled up to a length at the end, or at 'leading', 'both', 'trailing' sides; with blanks or another character.",
    examples: {
      "pad('a', 3)": '"a  "',
      "pad('7', 3, 'leading', '0')": '"007"',
      "pad('a', 4, 'both', '*')": '"*a**"',
    },
    call: ({ s, length, mode, char }) =>
      pad(s, length, choice(mode, padModes) ?? 'trailing', char ?? ' '),
  }),
  sqlFunction('Text', 'replace', {
    params: { s: 'text', what: 'text', by: 'text', mode: 'text?' },
    text: "With another text in place of 'all', the 'leading' or the 'trailing' occurrence.",
    examples: {
      "replace('ababab', 'b', '-')": '"a-a-a-"',
      "replace('ababab', 'b', '-', 'leading')": '"a-abab"',
      "replace('ababab', 'b', '-', 'trailing')": '"ababa-"',
    },
    call: ({ s, what, by, mode }) => replace(s, what, by, choice(mode, replaceModes) ?? 'all'),
  }),
  sqlFunction('Text', 'find', {
    params: { s: 'text', what: 'text', mode: 'text?' },
    text: "The rest from the 'leading' or the 'trailing' occurrence on; empty where there is none.",
    examples: {
      "find('a/b/c', '/')": '"/b/c"',
      "find('a/b/c', '/', 'trailing')": '"/c"',
      "find('abc', 'x')": '""',
    },
    call: ({ s, what, mode }) => {
      const isLast = choice(mode, findModes) === 'trailing';
      const at = isLast ? s.lastIndexOf(what) : s.indexOf(what);
      return at < 0 ? '' : s.slice(at);
    },
  }),
  sqlFunction('Text', 'ascii', {
    params: { char: 'text' },
    text: 'The code of one character.',
    examples: { "ascii('a')": '97', "ascii('€')": '8364' },
    call: ({ char }) => {
      const code = char.codePointAt(0);
      if (code === undefined || char.length > (code > 0xffff ? 2 : 1))
        raise(() => 'one character is wanted');
      return code;
    },
  }),
];

function of(
  name: string,
  text: string,
  examples: Readonly<Record<string, string>>,
  change: (s: string) => string,
): SqlFunction {
  return sqlFunction('Text', name, {
    params: { s: 'text' },
    text,
    examples,
    call: ({ s }) => bounded(change(s)),
  });
}

/** Undefined where none was given; raises for one that there is not. */
function choice<T extends string>(mode: string | undefined, modes: readonly T[]): T | undefined {
  if (mode === undefined) return undefined;
  const found = modes.find((each) => each === mode);
  return found ?? raise(() => `there is no mode "${mode}", only ${modes.join(', ')}`);
}

function split(
  s: string,
  separator: string,
  mode: (typeof splitModes)[number] | undefined,
): string[] {
  if (separator === '') raise(() => 'the separator is empty');
  const pieces =
    mode === undefined || mode === 'notrim'
      ? splitAll(s, separator)
      : splitOnce(s, separator, mode.startsWith('trailing'));
  return mode?.endsWith('notrim') ? pieces : pieces.filter((piece) => piece !== '');
}

function splitAll(s: string, separator: string): string[] {
  const pieces = s.split(separator, listMax + 1);
  return checkCount(pieces);
}

function splitOnce(s: string, separator: string, isLast: boolean): string[] {
  const at = isLast ? s.lastIndexOf(separator) : s.indexOf(separator);
  return at < 0 ? [s] : [s.slice(0, at), s.slice(at + separator.length)];
}

function checkCount(pieces: string[]): string[] {
  if (pieces.length > listMax) raise(() => `there are more than ${listMax} pieces`);
  return pieces;
}

function tokens(s: string, isSeparator: ReadonlySet<string>): string[] {
  const pieces: string[] = [];
  let piece = '';
  for (const char of s) {
    if (!isSeparator.has(char)) piece += char;
    else if (piece !== '') {
      checkCount(pieces).push(piece);
      piece = '';
    }
  }
  if (piece !== '') pieces.push(piece);
  return checkCount(pieces);
}

function pad(s: string, length: number, mode: (typeof padModes)[number], char: string): string {
  if (graphemeCount(char) !== 1) raise(() => 'one character is wanted to pad with');
  if (length > textMax) raise(() => `cannot pad to ${length} characters: ${textMax} are allowed`);
  const missing = Math.max(0, length - graphemeCount(s));
  const before = mode === 'leading' ? missing : mode === 'both' ? Math.floor(missing / 2) : 0;
  return bounded(char.repeat(before) + s + char.repeat(missing - before));
}

function replace(s: string, what: string, by: string, mode: (typeof replaceModes)[number]): string {
  if (what === '') raise(() => 'the text to replace is empty');
  if (mode !== 'all') {
    const at = mode === 'leading' ? s.indexOf(what) : s.lastIndexOf(what);
    return at < 0 ? s : bounded(s.slice(0, at) + by + s.slice(at + what.length));
  }
  const pieces = s.split(what);
  const length = s.length + (pieces.length - 1) * (by.length - what.length);
  if (length > textMax) raise(() => `the text has more than ${textMax} characters`);
  return pieces.join(by);
}
