// The notation of access rules: the part of Erlang's terms that rules are written in. Atoms, texts,
// tuples and lists, each term ended by a full stop, `%` up to the end of a line being a comment.
// Laws: a term knows where it stands; whatever the text is, reading ends with terms or an AclError,
// in time and memory proportional to the text, because nesting and length are bounded.

/** More than anybody writes; a generator that makes more than this wants a database plugin. */
export const aclCharactersMax: number = 16 * 1024 * 1024;
/** What nests deeper than this was not written by hand. Bounds the recursion of all who walk terms. */
const depthMax = 64;
const excerptCharactersMax = 80;

export interface AclPlace {
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units, as most editors count. */
  readonly column: number;
}

export type AclTerm =
  | (Spot & { readonly kind: 'atom'; readonly name: string })
  | (Spot & { readonly kind: 'text'; readonly value: string })
  | (Spot & { readonly kind: 'tuple' | 'list'; readonly items: readonly AclTerm[] });

interface Spot extends AclPlace {
  /** Index of its first character. */
  readonly at: number;
}

export interface AclFault extends AclPlace {
  /** `found x, want y`. */
  readonly text: string;
  /** The line where it stands, or the part of a long one around it. */
  readonly excerpt: string;
}

/** Rules that cannot be used. Says where the first fault is and has them all. */
export class AclError extends Error {
  override readonly name = 'AclError';
  readonly line: number;
  readonly column: number;
  readonly text: string;
  readonly excerpt: string;
  /** In the order of the file, this one first. */
  readonly faults: readonly AclFault[];

  constructor(first: AclFault, others: readonly AclFault[] = []) {
    const { line, column, text, excerpt } = first;
    const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
    super(`Cannot read access rules: line ${line}, column ${column}: ${text}: ${excerpt}${more}`);
    this.line = line;
    this.column = column;
    this.text = text;
    this.excerpt = excerpt;
    this.faults = [first, ...others];
  }
}

export class TermReader {
  readonly #text: string;
  #at = 0;
  #line = 1;
  #lineStart = 0;

  constructor(text: string) {
    this.#text = text;
    if (text.length > aclCharactersMax) {
      throw this.#fault(`found ${text.length} characters, want at most ${aclCharactersMax}`);
    }
    if (text.startsWith('\uFEFF')) this.#at = this.#lineStart = 1;
  }

  /** Undefined at the end of the text. Throws an AclError, after which there is nothing to read. */
  next(): AclTerm | undefined {
    this.#skipBlank();
    if (this.#at === this.#text.length) return undefined;
    const term = this.#term(1);
    const end = this.#spot();
    this.#skipBlank();
    if (this.#take('.')) return term;
    throw this.#fault(`found ${this.#seen()}, want a full stop after the rule`, end);
  }

  /** An error about a term that was read. */
  faultAt(term: AclTerm, text: string): AclError {
    return this.#fault(text, term);
  }

  #term(depth: number): AclTerm {
    const spot = this.#spot();
    if (depth > depthMax) throw this.#fault(`found a term ${depth} deep, want at most ${depthMax}`);
    if (this.#take('{')) return { ...spot, kind: 'tuple', items: this.#items('}', depth) };
    if (this.#take('[')) return { ...spot, kind: 'list', items: this.#items(']', depth) };
    if (this.#take('<<')) return { ...spot, kind: 'text', value: this.#binary() };
    if (this.#take('"')) return { ...spot, kind: 'text', value: this.#quoted('"', spot) };
    if (this.#take("'")) return { ...spot, kind: 'atom', name: this.#quoted("'", spot) };
    const [name] = this.#sticky(/[a-z][\w@]*/y);
    if (name === undefined) throw this.#unexpected('a term: {…}, […], "…", <<"…">> or an atom');
    return { ...spot, kind: 'atom', name };
  }

  /** What stands behind the opening bracket, up to and with the closing one. */
  #items(close: '}' | ']', depth: number): AclTerm[] {
    const items: AclTerm[] = [];
    this.#skipBlank();
    if (this.#take(close)) return items;
    for (;;) {
      this.#skipBlank();
      items.push(this.#term(depth + 1));
      this.#skipBlank();
      if (this.#take(close)) return items;
      if (!this.#take(',')) throw this.#unexpected(`"," or "${close}"`);
    }
  }

  /** A topic is UTF-8 in any case, so `/utf8` says nothing new. */
  #binary(): string {
    this.#skipBlank();
    const spot = this.#spot();
    if (!this.#take('"')) throw this.#unexpected('a text in quotes after "<<"');
    const value = this.#quoted('"', spot);
    this.#skipBlank();
    if (this.#take('/utf8')) this.#skipBlank();
    if (!this.#take('>>')) throw this.#unexpected('">>"');
    return value;
  }

  /**
   * The rest of a quoted text. A bare line break ends the reading: else one forgotten quote would turn
   * the rest of the file inside out, and the error would be found far from the mistake.
   */
  #quoted(quote: '"' | "'", open: Spot): string {
    const plain = quote === '"' ? /[^"\\\r\n]*/y : /[^'\\\r\n]*/y;
    let value = '';
    for (;;) {
      value += this.#sticky(plain)[0] ?? '';
      if (this.#take(quote)) return value;
      if (!this.#take('\\')) {
        throw this.#fault(`found no ${quote} that ends this text, want one on the same line`, open);
      }
      value += this.#escaped();
    }
  }

  /** What stands behind a backslash. One that is not in the table stands for itself. */
  #escaped(): string {
    const [, braced, short, octal, control, other] = this.#sticky(
      /x\{([\da-fA-F]{1,6})\}|x([\da-fA-F]{2})|([0-7]{1,3})|\^([@-_a-z])|([^x^\r\n])/uy,
    );
    if (control !== undefined) return String.fromCodePoint((control.codePointAt(0) ?? 0) & 0x1f);
    if (other !== undefined) return namedEscapes.get(other) ?? other;
    const digits = braced ?? short;
    if (digits === undefined && octal === undefined) {
      throw this.#unexpected('a character after "\\", as in \\" \\\\ \\n \\x41 or \\x{1F600}');
    }
    const code =
      octal === undefined ? Number.parseInt(digits ?? '', 16) : Number.parseInt(octal, 8);
    if (code > 0x10_ffff || (code >= 0xd800 && code <= 0xdfff)) {
      throw this.#fault(`found a code of U+${code.toString(16).toUpperCase()}, want a character`);
    }
    return String.fromCodePoint(code);
  }

  #skipBlank(): void {
    for (;;) {
      this.#sticky(/[^\S\r\n]+/y);
      if (this.#text[this.#at] === '%') this.#sticky(/[^\r\n]*/y);
      if (!(this.#take('\r\n') || this.#take('\n') || this.#take('\r'))) return;
      this.#line++;
      this.#lineStart = this.#at;
    }
  }

  #take(wanted: string): boolean {
    if (!this.#text.startsWith(wanted, this.#at)) return false;
    this.#at += wanted.length;
    return true;
  }

  #sticky(pattern: RegExp): readonly (string | undefined)[] {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return [];
    this.#at += match[0].length;
    return match;
  }

  #spot(): Spot {
    return { line: this.#line, column: this.#at - this.#lineStart + 1, at: this.#at };
  }

  #unexpected(wanted: string): AclError {
    return this.#fault(`found ${this.#seen()}, want ${wanted}`);
  }

  #fault(text: string, { line, column, at }: Spot = this.#spot()): AclError {
    return new AclError({ line, column, text, excerpt: this.#excerpt(at) });
  }

  /** What stands here, for an error: a word, or a single character. */
  #seen(): string {
    const here = this.#text.slice(this.#at, this.#at + excerptCharactersMax);
    if (here === '') return 'the end of the text';
    if (/^[\r\n]/.test(here)) return 'the end of the line';
    return visible(/^(?:[\w@]+|.)/u.exec(here)?.[0] ?? '');
  }

  #excerpt(at: number): string {
    const half = excerptCharactersMax / 2;
    const before = this.#text.slice(Math.max(0, at - half), at);
    const after = this.#text.slice(at, at + half);
    const [start = ''] = before.split(/[\r\n]/).slice(-1);
    const [end = ''] = after.split(/[\r\n]/);
    return visible(start + end).trim();
  }
}

const namedEscapes = new Map([
  ['b', '\b'],
  ['d', '\x7F'],
  ['e', '\x1B'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['s', ' '],
  ['t', '\t'],
  ['v', '\v'],
]);

/** Fit for one line of a log or a terminal. */
function visible(text: string): string {
  return text.toWellFormed().replaceAll(/\p{Cc}/gu, ' ');
}
