// The words of a statement. Laws: whatever the text is, reading it ends, in time proportional to it; what
// cannot be a word is a token of its own, the last one, so that an error further left is told first.
//
//   payload.a[1..3].'odd key' >= .5 -- why        name . name [ number .. number ] . text >= number end
//
// A dot right behind a word is a step, and what follows right behind it a key, be it a digit or a keyword;
// elsewhere `.5` is a number. `<>` is read as `!=`, and `~=` as `=~`.

/** Only these cannot name a column or an alias without quotes. */
const keywords: ReadonlySet<string> = new Set(
  'select from where and or not in as case when then else end foreach do incase div'.split(' '),
);

export type TokenKind =
  /** A keyword in small letters, an operator or a mark. */
  | 'sign'
  /** As it was written. */
  | 'name'
  /** Between backquotes: a name, whatever is in it. */
  | 'quoted name'
  /** Between single quotes. */
  | 'text'
  /** Between double quotes: a name where one is wanted, elsewhere a text. */
  | 'double text'
  | 'number'
  /** `text` says what is wrong. */
  | 'bad'
  | 'end';

export interface Token {
  readonly kind: TokenKind;
  /** Without quotes. */
  readonly text: string;
  readonly value: number | bigint;
  readonly at: number;
  readonly end: number;
}

const blank = /(?:\s|--[^\r\n]*)+/y;
// NOTE `a~=b` compares: a tilde before `=` is no part of a name.
const name = /[\p{L}_](?:[\p{L}\p{M}\p{Nd}_$@]|~(?!=))*/uy;
const key = /(?:[\p{L}\p{M}\p{Nd}_$@]|~(?!=))+/uy;
const number = /(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/y;
const sign = /<>|!=|<=|>=|=~|~=|\.\.|[-+*/=<>()[\],.;]/y;
const sameSign: ReadonlyMap<string, string> = new Map([
  ['<>', '!='],
  ['~=', '=~'],
]);
const quotes: ReadonlyMap<string, TokenKind> = new Map([
  ["'", 'text'],
  ['"', 'double text'],
  ['`', 'quoted name'],
]);
/** More than anybody counts; what calculates with it must not be made to work for long. */
const integerDigitsMax = 100;

/** What people write out of habit, and how it is written here. */
const foreign = /\|\||&&|==|=<|=>|\/\*|\/\/|\$\{|[^]/uy;
const foreignHelp: ReadonlyMap<string, string> = new Map([
  ['||', 'concat(a, b) joins texts'],
  ['&&', 'use AND'],
  ['==', 'use ='],
  ['=<', 'use <='],
  ['=>', 'use >='],
  ['!', 'use NOT'],
  ['%', 'use mod'],
  ['^', 'use power(x, y) or bitxor(x, y)'],
  ['|', 'use OR or bitor(x, y)'],
  ['&', 'use AND or bitand(x, y)'],
  ['/*', 'a comment begins with --'],
  ['//', 'a comment begins with --'],
  ['#', 'a comment begins with --, a topic filter is written in double quotes'],
  ['$', 'a name like $events/… is written in double quotes'],
  ['${', 'a placeholder belongs into the template of an action, not into SQL'],
  ...'“ ” ‘ ’ „ « » ， ； （ ） 。 ：'
    .split(' ')
    .map((piece): [string, string] => [piece, `use plain ' " , ; ( )`]),
]);

/** Whether it names a column or an alias without quotes. */
export function isPlainName(text: string): boolean {
  return (
    lengthOf(name, text, 0) === text.length && text !== '' && !keywords.has(text.toLowerCase())
  );
}

/** Whether it needs no quotes behind a dot. */
export function isPlainKey(text: string): boolean {
  return lengthOf(key, text, 0) === text.length && text !== '';
}

/** Always ends with a token of kind `end` or `bad`. */
export function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let last: Token = { kind: 'sign', text: '', value: 0, at: 0, end: 0 };
  while (last.kind !== 'end' && last.kind !== 'bad') {
    const at = last.end + lengthOf(blank, text, last.end);
    last = tokenAt(text, at, last);
    tokens.push(last);
  }
  return tokens;
}

function tokenAt(text: string, at: number, before: Token): Token {
  const first = text.charAt(at);
  if (first === '') return { kind: 'end', text: '', value: 0, at, end: at };
  const quote = quotes.get(first);
  if (quote !== undefined) return quotedAt(text, at, quote, first);
  const isKey = before.kind === 'sign' && before.text === '.' && before.end === at;
  const wordLength = lengthOf(isKey ? key : name, text, at);
  if (wordLength > 0) return wordAt(text, at, at + wordLength, isKey);
  const isStep = before.end === at && mayHaveSteps(before);
  const numberLength = isStep ? 0 : lengthOf(number, text, at);
  if (numberLength > 0) return numberAt(text, at, at + numberLength);
  const signLength = lengthOf(sign, text, at);
  const foreignLength = lengthOf(foreign, text, at);
  // A lone character that is a sign is one; `==` is no `=`.
  if (signLength >= foreignLength) {
    const written = text.slice(at, at + signLength);
    const meant = sameSign.get(written) ?? written;
    return { kind: 'sign', text: meant, value: 0, at, end: at + signLength };
  }
  return foreignAt(text, at, at + foreignLength);
}

function lengthOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex - at : 0;
}

/** Behind these a dot begins a step, and no number. */
function mayHaveSteps(before: Token): boolean {
  if (before.kind === 'sign') return before.text === ']' || before.text === ')';
  return before.kind !== 'number';
}

/** A doubled quote is one quote. */
function quotedAt(text: string, at: number, kind: TokenKind, quote: string): Token {
  let end = text.indexOf(quote, at + 1);
  while (end !== -1 && text.charAt(end + 1) === quote) end = text.indexOf(quote, end + 2);
  if (end === -1) {
    return bad(
      at,
      text.length,
      `${quote} begins a text that has no end, a second ${quote} is wanted`,
    );
  }
  const inside = text.slice(at + 1, end).replaceAll(quote + quote, quote);
  return { kind, text: inside, value: 0, at, end: end + 1 };
}

function wordAt(text: string, at: number, end: number, isKey: boolean): Token {
  const written = text.slice(at, end);
  const small = written.toLowerCase();
  const isKeyword = !isKey && keywords.has(small);
  return {
    kind: isKeyword ? 'sign' : 'name',
    text: isKeyword ? small : written,
    value: 0,
    at,
    end,
  };
}

function numberAt(text: string, at: number, end: number): Token {
  const written = text.slice(at, end);
  const shown = written.length > 40 ? `${written.slice(0, 40)}…` : written;
  const more = lengthOf(key, text, end);
  if (more > 0) {
    const letters = text.slice(end, end + Math.min(more, 40));
    return bad(at, end, `"${shown}${letters}" is no number, and a name cannot begin with a digit`);
  }
  if (text.charAt(end) === '.' && text.charAt(end + 1) !== '.') {
    return bad(at, end, `"${shown}." is no number, a digit is wanted behind the dot`);
  }
  if (!/^[0-9]+$/.test(written)) {
    const value = Number(written);
    if (Number.isFinite(value)) return { kind: 'number', text: written, value, at, end };
    return bad(at, end, `a number must be below ${Number.MAX_VALUE}`);
  }
  if (written.length > integerDigitsMax) {
    return bad(at, end, `found ${written.length} digits, at most ${integerDigitsMax} are allowed`);
  }
  const value = Number.isSafeInteger(Number(written)) ? Number(written) : BigInt(written);
  return { kind: 'number', text: written, value, at, end };
}

function foreignAt(text: string, at: number, end: number): Token {
  const piece = text.slice(at, end);
  const help = foreignHelp.get(piece);
  const shown = /[\p{Cc}\p{Cs}\u2028\u2029]/u.test(piece)
    ? `the character with code ${piece.charCodeAt(0)}`
    : `"${piece}"`;
  const tail = help === undefined ? '' : `: ${help}`;
  return bad(at, end, `${shown} has no meaning here${tail}`);
}

function bad(at: number, end: number, problem: string): Token {
  return { kind: 'bad', text: problem, value: 0, at, end };
}
