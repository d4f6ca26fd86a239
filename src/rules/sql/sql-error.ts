// A statement that cannot be read: where, what stands there, and what could have stood there. Laws: the
// message is one line whatever the text was; line and column count from 1, columns in UTF-16 units.

const excerptCharactersMax = 80;

export interface SqlPlace {
  /** Of the text, from 0. */
  readonly at: number;
  readonly line: number;
  readonly column: number;
  /** The line, or the part of a long one around the place; without control characters. */
  readonly excerpt: string;
  /** Where in the excerpt, from 0. */
  readonly caret: number;
}

/** What is wrong, in one of two ways: something else was expected, or what was found cannot be. */
export type SqlFault =
  | { readonly found: string; readonly expected: readonly string[]; readonly hint?: string }
  | { readonly problem: string };

export class SqlError extends Error implements SqlPlace {
  override readonly name = 'SqlError';
  readonly at: number;
  readonly line: number;
  readonly column: number;
  readonly excerpt: string;
  readonly caret: number;
  /** Undefined: see the message. */
  readonly found: string | undefined;
  /** `FROM`, `","`, `an operator`; empty: see the message. */
  readonly expected: readonly string[];
  /** How people get what they tried to write. */
  readonly hint: string | undefined;

  constructor(text: string, at: number, fault: SqlFault) {
    const place = placeOf(text, at);
    super(`Cannot read the SQL: line ${place.line}, column ${place.column}: ${describe(fault)}`);
    this.at = at;
    this.line = place.line;
    this.column = place.column;
    this.excerpt = place.excerpt;
    this.caret = place.caret;
    this.found = 'found' in fault ? fault.found : undefined;
    this.expected = 'found' in fault ? fault.expected : [];
    this.hint = 'found' in fault ? fault.hint : undefined;
  }

  /** The excerpt, and below it a caret at the place. */
  get drawing(): string {
    return `${this.excerpt}\n${' '.repeat(this.caret)}^`;
  }
}

/** Where index `at` of the text is. Lines end with CR, LF or both. */
export function placeOf(text: string, at: number): SqlPlace {
  let line = 1;
  let start = 0;
  for (const { index, 0: end } of text.matchAll(/\r\n|[\r\n]/g)) {
    if (index + end.length > at) break;
    line += 1;
    start = index + end.length;
  }
  const whole = text.slice(start).split(/[\r\n]/, 1)[0] as string;
  const column = at - start;
  const cut = Math.max(
    0,
    Math.min(column - excerptCharactersMax / 2, whole.length - excerptCharactersMax),
  );
  const before = cut === 0 ? '' : '…';
  const after = cut + excerptCharactersMax < whole.length ? '…' : '';
  const excerpt = before + oneLine(whole.slice(cut, cut + excerptCharactersMax)) + after;
  return { at, line, column: column + 1, excerpt, caret: before.length + column - cut };
}

/** Each control character as a blank: what is quoted must not draw lines or colours of its own. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, ' ');
}

function describe(fault: SqlFault): string {
  if ('problem' in fault) return fault.problem;
  const hint = fault.hint === undefined ? '' : ` (${fault.hint})`;
  return `found ${fault.found}, expected ${either(fault.expected)}${hint}`;
}

/** `a, b or c` */
function either(words: readonly string[]): string {
  const last = words.slice(-1);
  return [words.slice(0, -1).join(', '), ...last].filter((part) => part !== '').join(' or ');
}
