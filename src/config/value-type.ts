// The kinds of value a key can have. A type knows how to read its text and how to say what it
// accepts; that sentence is shown in errors, in the shipped files and in the documentation.

import { formatByteSize, parseByteSize } from '#base/byte-size';
import { formatDuration, parseDurationMs } from '#base/duration';

export interface ValueType<out T> {
  /** One word, as the API tells the kind of a value; undefined: text. */
  readonly name?: string;
  /** What is allowed, as the end of "expected …". */
  readonly expects: string;
  /** Every allowed word, where there is a short list of them; for "did you mean". */
  readonly choices?: readonly string[];
  /** True: the value names a file that must be there. */
  readonly isFile?: true;
  /** Undefined: the text is not allowed. */
  parse(text: string): T | undefined;
}

/** Longest delay that a timer of the runtime can hold is a little above this. */
const timerMaxMs = 24 * 86_400_000;

/** `on` and `off`; `true` and `false` are read as the same, because both are used side by side. */
export const flag: ValueType<boolean> = {
  name: 'flag',
  expects: 'on or off',
  choices: ['on', 'off'],
  parse: parseTruth,
};

export const truth: ValueType<boolean> = {
  name: 'boolean',
  expects: 'true or false',
  choices: ['true', 'false'],
  parse: parseTruth,
};

function parseTruth(text: string): boolean | undefined {
  if (text === 'on' || text === 'true') return true;
  if (text === 'off' || text === 'false') return false;
  return undefined;
}

export function int(least: number, most: number = 2 ** 31 - 1): ValueType<number> {
  const isOpen = most === 2 ** 31 - 1;
  return {
    name: 'integer',
    expects: isOpen
      ? `a whole number, ${least} or more`
      : `a whole number from ${least} to ${most}`,
    parse: (text) => (/^-?\d+$/.test(text) ? within(Number(text), least, most) : undefined),
  };
}

/** A number with a decimal point, above `floor` and up to `most`. */
export function decimalAbove(floor: number, most: number): ValueType<number> {
  return {
    name: 'float',
    expects: `a number above ${floor}, up to ${most}`,
    parse(text) {
      const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
      return value > floor && value <= most ? value : undefined;
    },
  };
}

export function durationMs(least: number = 0, most: number = timerMaxMs): ValueType<number> {
  return {
    name: 'duration',
    expects: `a duration such as 15s, 1h30m or 100ms, from ${formatDuration(least)} to ${formatDuration(most)}`,
    parse: (text) => within(parseDurationMs(text), least, most),
  };
}

/** A duration that the protocol counts in seconds; a bare number is seconds as well. */
export function durationSeconds(least: number, most: number): ValueType<number> {
  return {
    name: 'duration',
    expects: `a duration such as 90s, 2h or 1d, or a number of seconds, from ${least} to ${most} seconds`,
    parse(text) {
      if (/^\d+$/.test(text)) return within(Number(text), least, most);
      const ms = parseDurationMs(text);
      return ms === undefined ? undefined : within(Math.ceil(ms / 1000), least, most);
    },
  };
}

export function byteSize(least: number, most: number): ValueType<number> {
  return {
    name: 'bytesize',
    expects: `a size such as 512, 16KB, 1MB or 1GB, from ${formatByteSize(least)} to ${formatByteSize(most)}`,
    parse: (text) => within(parseByteSize(text), least, most),
  };
}

export function oneOf<const W extends string>(...words: readonly W[]): ValueType<W> {
  return {
    name: 'enum',
    expects: `one of ${words.join(', ')}`,
    choices: words,
    parse: (text) => words.find((word) => word === text),
  };
}

/** Any text that is not empty. */
export function text(expects: string = 'text'): ValueType<string> {
  return { expects, parse: (value) => (value === '' ? undefined : value) };
}

export function matching(pattern: RegExp, expects: string): ValueType<string> {
  return { expects, parse: (value) => (pattern.test(value) ? value : undefined) };
}

/** A file that the broker reads: it must exist when the configuration is loaded. */
export const existingFile: ValueType<string> = {
  name: 'file',
  expects: 'the path of a file that exists and can be read',
  isFile: true,
  parse: (value) => (value === '' ? undefined : value),
};

function within(value: number | undefined, least: number, most: number): number | undefined {
  return value !== undefined && value >= least && value <= most ? value : undefined;
}
