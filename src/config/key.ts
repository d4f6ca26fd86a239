// What a key of the configuration is: how it is written, what it accepts, what holds when it is
// absent, what the shipped file says, and the words that explain it. In a pattern `$` stands for a
// name that the user chooses, `<n>` for a number, `(a|b)` for one of several words.

import type { ValueType } from './value-type.ts';

export interface Key<out T> {
  readonly pattern: string;
  readonly type: ValueType<NonNullable<T>>;
  /** What holds without a line for it, as it would be written; undefined: nothing is set. */
  readonly absent: string | undefined;
  /** Read before `absent`: the key of the whole broker that a zone overrides. */
  readonly inherits: Key<T> | undefined;
  /** Lines of the shipped file: key as written there → value. */
  readonly shipped: Readonly<Record<string, string>>;
  /** What the shipped file shows, commented out, where it has no line for the key. */
  readonly sample: string | undefined;
  /** The key as written beside the sample, where no instance of the file fills the pattern. */
  readonly sampleKey: string | undefined;
  readonly text: string;
}

/** A table: one key for each field of a part of the settings. */
export type KeysOf<S> = { readonly [F in keyof S]-?: Key<S[F]> };

interface KeyWords {
  readonly text: string;
  /** For a pattern without names the value itself; otherwise values by the names that fill it. */
  readonly shipped?: string | Readonly<Record<string, string>>;
  readonly sample?: string;
  /** Names for the sample, where no instance of the file fills the pattern. */
  readonly sampleNames?: string;
}

/** A key that always has a value. */
export function key<T>(
  pattern: string,
  type: ValueType<NonNullable<T>>,
  absent: string,
  words: KeyWords,
): Key<T> {
  return { ...common(pattern, words), type, absent, inherits: undefined };
}

/** A key that may be left unset. */
export function optionalKey<T>(
  pattern: string,
  type: ValueType<NonNullable<T>>,
  words: KeyWords,
): Key<T | undefined> {
  return { ...common(pattern, words), type, absent: undefined, inherits: undefined };
}

/** A key of a zone that stands before a key of the whole broker. */
export function overriding<T>(
  pattern: string,
  inherits: Key<T>,
  words: Omit<KeyWords, 'text'> = {},
): Key<T> {
  const text = `Overrides ${inherits.pattern} for the clients of this zone.`;
  return {
    ...common(pattern, { ...words, text }),
    type: inherits.type,
    absent: undefined,
    inherits,
  };
}

function common(pattern: string, words: KeyWords) {
  const { text, sample } = words;
  const byName = typeof words.shipped === 'string' ? { '': words.shipped } : (words.shipped ?? {});
  const shipped = Object.fromEntries(
    Object.entries(byName).map(([names, value]) => [fillPattern(pattern, names.split('.')), value]),
  );
  const { sampleNames } = words;
  const sampleKey =
    sampleNames === undefined ? undefined : fillPattern(pattern, sampleNames.split('.'));
  return { pattern, shipped, sample, sampleKey, text };
}

/** `zone.$.max_inflight` with `external` → `zone.external.max_inflight`. */
export function fillPattern(pattern: string, names: readonly string[]): string {
  const left = [...names];
  return pattern
    .split('.')
    .map((segment) => (isFixed(segment) ? segment : (left.shift() ?? segment)))
    .join('.');
}

/** The names that fill the pattern, in order; undefined when the key is not of this pattern. */
export function matchPattern(pattern: string, written: string): string[] | undefined {
  const wanted = pattern.split('.');
  const found = written.split('.');
  if (wanted.length !== found.length) return undefined;
  const names: string[] = [];
  for (const [place, segment] of wanted.entries()) {
    const word = found[place] ?? '';
    if (!matchesSegment(segment, word)) return undefined;
    if (!isFixed(segment)) names.push(word);
  }
  return names;
}

export function matchesSegment(segment: string, word: string): boolean {
  if (segment === '$') return /^[a-z0-9_-]+$/.test(word);
  if (segment === '<n>') return /^\d{1,6}$/.test(word);
  return wordsOf(segment).includes(word);
}

/** Whether a user chooses a part of it. */
export function hasNames(pattern: string): boolean {
  return /[$(<]/.test(pattern);
}

/** The words that a fixed segment or an alternative can be; none for `$` and `<n>`. */
export function wordsOf(segment: string): readonly string[] {
  if (segment === '$' || segment === '<n>') return [];
  return segment.startsWith('(') ? segment.slice(1, -1).split('|') : [segment];
}

function isFixed(segment: string): boolean {
  return segment !== '$' && segment !== '<n>' && !segment.startsWith('(');
}

/** A secret is never shown. Names of hash functions are none; a header may be a token. */
export function isSecretKey(written: string): boolean {
  return /password|secret|cookie|\.headers?\./.test(written) && !written.endsWith('_hash');
}

/** As people read it: `zone.<name>.max_inflight`, `listener.<ssl|wss>.<name>.keyfile`. */
export function showPattern(pattern: string): string {
  return pattern.replaceAll('$', '<name>').replaceAll('(', '<').replaceAll(')', '>');
}
