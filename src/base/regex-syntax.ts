// The regular expressions that users may write, as a tree. Law: only what can be matched in time that grows
// with the length of the text (linear-regex.ts): no back-reference, no look-around. What another dialect
// would read in another way is refused with its place, never guessed.

/** Ranges of code points, both ends included; negated: everything else. */
export interface CharSet {
  readonly ranges: readonly (readonly [from: number, to: number])[];
  readonly isNegated: boolean;
}

export type RegexNode =
  | { readonly kind: 'char'; readonly code: number }
  | { readonly kind: 'set'; readonly set: CharSet }
  | { readonly kind: 'begin' }
  | { readonly kind: 'end' }
  /** `index`: undefined for a group that captures nothing. */
  | { readonly kind: 'group'; readonly index: number | undefined; readonly body: RegexNode }
  | { readonly kind: 'sequence'; readonly parts: readonly RegexNode[] }
  | { readonly kind: 'choice'; readonly options: readonly RegexNode[] }
  | Repeat;

export interface Repeat {
  readonly kind: 'repeat';
  readonly body: RegexNode;
  readonly least: number;
  /** Infinity: as often as it likes. */
  readonly most: number;
  readonly isGreedy: boolean;
}

export interface ParsedRegex {
  readonly root: RegexNode;
  /** How many groups capture. */
  readonly groups: number;
}

/** What was written is not an expression, or not one that is allowed. */
export class RegexFault extends Error {
  override readonly name = 'RegexFault';
}

const textMax = 1000;
const timesMax = 1000;
/** Of groups inside groups: reading goes down as deep. */
const depthMax = 50;

const digits = [[0x30, 0x39]] as const;
const words = [...digits, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]] as const;
const spaces = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x2028, 0x2029],
] as const;
const classes: ReadonlyMap<string, CharSet> = new Map([
  ['d', { ranges: digits, isNegated: false }],
  ['D', { ranges: digits, isNegated: true }],
  ['w', { ranges: words, isNegated: false }],
  ['W', { ranges: words, isNegated: true }],
  ['s', { ranges: spaces, isNegated: false }],
  ['S', { ranges: spaces, isNegated: true }],
]);
const controls: ReadonlyMap<string, number> = new Map([
  ['t', 0x09],
  ['n', 0x0a],
  ['r', 0x0d],
]);
const anyButNewline: CharSet = { ranges: [[0x0a, 0x0a]], isNegated: true };

/** Throws a RegexFault, worded to follow a colon. */
export function parseRegex(text: string): ParsedRegex {
  if (text.length > textMax) throw new RegexFault(`it has more than ${textMax} characters`);
  return new RegexParser(text).parse();
}

class RegexParser {
  /** Whole characters, so that none is split. */
  readonly #chars: readonly string[];
  #at = 0;
  #groups = 0;
  #depth = 0;

  constructor(text: string) {
    this.#chars = Array.from(text);
  }

  parse(): ParsedRegex {
    const root = this.#choice();
    if (this.#at < this.#chars.length) throw this.#fault('found ")" without "("');
    return { root, groups: this.#groups };
  }

  #choice(): RegexNode {
    const options = [this.#sequence()];
    while (this.#takes('|')) options.push(this.#sequence());
    return options.length === 1 ? (options[0] as RegexNode) : { kind: 'choice', options };
  }

  #sequence(): RegexNode {
    const parts: RegexNode[] = [];
    for (;;) {
      const char = this.#chars[this.#at];
      if (char === undefined || char === '|' || char === ')') return { kind: 'sequence', parts };
      parts.push(this.#repeated(this.#atom(char)));
    }
  }

  #atom(char: string): RegexNode {
    if ('*+?'.includes(char)) throw this.#fault(`found "${char}" with nothing to repeat before it`);
    this.#at++;
    if (char === '^') return { kind: 'begin' };
    if (char === '$') return { kind: 'end' };
    if (char === '.') return { kind: 'set', set: anyButNewline };
    if (char === '(') return this.#group();
    if (char === '[') return { kind: 'set', set: this.#set() };
    if (char === '{' || char === '}' || char === ']') {
      this.#at--;
      throw this.#fault(`found "${char}" alone, expected "\\${char}" for the character itself`);
    }
    if (char !== '\\') return { kind: 'char', code: char.codePointAt(0) as number };
    const escaped = this.#escaped();
    return typeof escaped === 'number'
      ? { kind: 'char', code: escaped }
      : { kind: 'set', set: escaped };
  }

  #group(): RegexNode {
    if (++this.#depth > depthMax) throw this.#fault(`groups are nested more than ${depthMax} deep`);
    let index: number | undefined;
    if (!this.#takes('?')) index = ++this.#groups;
    else if (!this.#takes(':')) throw this.#fault('found "(?", of which only "(?:" is known');
    const body = this.#choice();
    if (!this.#takes(')')) throw this.#fault('a group is not closed, expected ")"');
    this.#depth--;
    return { kind: 'group', index, body };
  }

  #repeated(body: RegexNode): RegexNode {
    const times = this.#times();
    if (times === undefined) return body;
    if (body.kind === 'begin' || body.kind === 'end') {
      throw this.#fault('an anchor cannot be repeated');
    }
    const [least, most] = times;
    const isGreedy = !this.#takes('?');
    if (!isGreedy || !this.#isNext('*+?{')) return { kind: 'repeat', body, least, most, isGreedy };
    throw this.#fault(`found "${this.#chars[this.#at]}" behind a repetition`);
  }

  #times(): readonly [least: number, most: number] | undefined {
    if (this.#takes('*')) return [0, Number.POSITIVE_INFINITY];
    if (this.#takes('+')) return [1, Number.POSITIVE_INFINITY];
    if (this.#takes('?')) return [0, 1];
    if (!this.#isNext('{')) return undefined;
    const end = this.#chars.indexOf('}', this.#at);
    const found = /^\{(\d{1,4})(?:(,)(\d{0,4}))?$/.exec(this.#chars.slice(this.#at, end).join(''));
    if (end < 0 || found === null) throw this.#fault('expected {<n>}, {<n>,} or {<n>,<m>}');
    const [, low = '', comma, high = ''] = found;
    const least = Number(low);
    const most =
      comma === undefined ? least : high === '' ? Number.POSITIVE_INFINITY : Number(high);
    const highest = most === Number.POSITIVE_INFINITY ? least : most;
    if (most < least || highest > timesMax) {
      throw this.#fault(`expected a repetition from low to high, up to ${timesMax}`);
    }
    this.#at = end + 1;
    return [least, most];
  }

  /** Behind the backslash. */
  #escaped(): number | CharSet {
    const char = this.#chars[this.#at];
    if (char === undefined) throw this.#fault('it ends in "\\"');
    const known = classes.get(char) ?? controls.get(char);
    if (known === undefined && /[\p{L}\p{N}]/u.test(char)) {
      const back = /\d/.test(char) ? ', and back-references are not allowed' : '';
      throw this.#fault(`found "\\${char}", which has no meaning here${back}`);
    }
    this.#at++;
    return known ?? (char.codePointAt(0) as number);
  }

  /** Behind the bracket. */
  #set(): CharSet {
    const isNegated = this.#takes('^');
    const ranges: (readonly [number, number])[] = [];
    while (!this.#takes(']')) {
      if (this.#isNext('[') && ':.='.includes(this.#chars[this.#at + 1] ?? ' ')) {
        throw this.#fault('found "[:" in a set, whose names of classes are not known');
      }
      const low = this.#member();
      if (typeof low !== 'number') {
        ranges.push(...rangesOf(low));
        continue;
      }
      const isRange = this.#isNext('-') && this.#chars[this.#at + 1] !== ']';
      if (isRange) this.#at++;
      const high = isRange ? this.#member() : low;
      if (typeof high !== 'number' || high < low) throw this.#fault('a range has no order');
      ranges.push([low, high]);
    }
    if (ranges.length === 0) throw this.#fault('found a set without characters');
    return { ranges, isNegated };
  }

  #member(): number | CharSet {
    const char = this.#chars[this.#at];
    if (char === undefined) throw this.#fault('a set is not closed, expected "]"');
    this.#at++;
    return char === '\\' ? this.#escaped() : (char.codePointAt(0) as number);
  }

  #isNext(chars: string): boolean {
    const char = this.#chars[this.#at];
    return char !== undefined && chars.includes(char);
  }

  #takes(char: string): boolean {
    if (this.#chars[this.#at] !== char) return false;
    this.#at++;
    return true;
  }

  #fault(text: string): RegexFault {
    return new RegexFault(`${text} (at character ${this.#at + 1})`);
  }
}

const codeMax = 0x10ffff;

/** Of a class inside a set, which may be one of those that stand for everything else. */
function rangesOf({ ranges, isNegated }: CharSet): (readonly [number, number])[] {
  if (!isNegated) return [...ranges];
  const others: [number, number][] = [];
  let from = 0;
  for (const [low, high] of ranges) {
    if (low > from) others.push([from, low - 1]);
    from = high + 1;
  }
  return [...others, [from, codeMax]];
}
