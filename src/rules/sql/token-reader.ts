// Walks over the tokens of a statement for the parser. Laws: what was asked for at a place and was not
// there is what the error says was expected; nesting and the length of every list are bounded, so that
// neither the parser nor those who walk its tree run out of stack or memory.

import { hintFor } from './sql-hints.ts';
import { tokensOf, type Token } from './lexer.ts';
import { oneLine, SqlError } from './sql-error.ts';

export const sqlCharactersMax: number = 64 * 1024;
/** Parentheses, calls, lists, signs and NOTs inside each other. */
export const sqlNestingMax: number = 128;
/** Fields, events, arguments, items, branches, steps: of each list. */
export const sqlItemsMax: number = 1024;
const foundCharactersMax = 40;

export class TokenReader {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #next = 0;
  #nesting = 0;
  #expected = new Set<string>();
  /** An alias without AS may be a misspelt keyword; asked when what follows it makes no sense. */
  #doubtful: { readonly next: number; readonly expected: ReadonlySet<string> } | undefined;

  constructor(text: string) {
    this.#text = text;
    if (text.length > sqlCharactersMax) {
      this.refuse(0, `found ${text.length} characters, at most ${sqlCharactersMax} are allowed`);
    }
    this.#tokens = tokensOf(text);
  }

  /** Where the next token begins. */
  get at(): number {
    return this.peek().at;
  }

  peek(): Token {
    return this.#tokens[this.#next] as Token;
  }

  /** The one behind the next; the last token again when there is none. */
  peekSecond(): Token {
    return this.#tokens[Math.min(this.#next + 1, this.#tokens.length - 1)] as Token;
  }

  take(): Token {
    const token = this.peek();
    this.#next += 1;
    this.#expected = new Set();
    return token;
  }

  /** Takes a name that, should the next token be wrong, is perhaps what was wrong. */
  takeDoubtful(): Token {
    this.#doubtful = { next: this.#next + 1, expected: this.#expected };
    return this.take();
  }

  /** Without noting that it was expected. */
  isNext(sign: string): boolean {
    const token = this.peek();
    return token.kind === 'sign' && token.text === sign;
  }

  /** Takes it if it is next, else notes `label` as expected. */
  accept(sign: string, label: string = labelOf(sign)): boolean {
    if (this.isNext(sign)) {
      this.take();
      return true;
    }
    this.#expected.add(label);
    return false;
  }

  expect(sign: string): void {
    if (!this.accept(sign)) this.fail();
  }

  /** Notes what could have stood here and does not. */
  note(label: string): void {
    this.#expected.add(label);
  }

  /** Of a list that has `count` items already and is given one more. */
  limit(count: number, what: string): void {
    if (count >= sqlItemsMax) this.refuse(this.at, `found more than ${sqlItemsMax} ${what}`);
  }

  /** `leave` follows when the part that nests was read; a reader that failed is not used again. */
  enter(): void {
    this.#nesting += 1;
    if (this.#nesting > sqlNestingMax) {
      this.refuse(this.at, `nested deeper than ${sqlNestingMax} levels`);
    }
  }

  leave(): void {
    this.#nesting -= 1;
  }

  /** The next token is not what was expected. */
  fail(hint?: string): never {
    const token = this.peek();
    const doubtful = this.#doubtful;
    if (doubtful?.next === this.#next) {
      const name = this.#tokens[this.#next - 1] as Token;
      const expected = [...doubtful.expected, ...this.#expected];
      const better = hintFor(name, token, expected);
      if (better !== undefined) this.#failAt(name, expected, better);
    }
    if (token.kind === 'bad') this.refuse(token.at, token.text);
    const expected = [...this.#expected];
    this.#failAt(token, expected, hint ?? hintFor(token, this.peekSecond(), expected));
  }

  /** What stands at `at` is understood, but cannot be. */
  refuse(at: number, problem: string): never {
    throw new SqlError(this.#text, at, { problem });
  }

  #failAt(token: Token, expected: readonly string[], hint: string | undefined): never {
    const found = foundIn(this.#text, token);
    const fault = { found, expected: [...new Set(expected)] };
    throw new SqlError(this.#text, token.at, hint === undefined ? fault : { ...fault, hint });
  }
}

function labelOf(sign: string): string {
  return /^[a-z]/.test(sign) ? sign.toUpperCase() : `"${sign}"`;
}

function foundIn(text: string, token: Token): string {
  if (token.kind === 'end') return 'the end of the text';
  const written = oneLine(text.slice(token.at, token.end));
  const short =
    written.length > foundCharactersMax ? `${written.slice(0, foundCharactersMax)}…` : written;
  return /^['"`]/.test(short) ? `the text ${short}` : `"${short}"`;
}
