// From the words of a command line to a command and its raw parameters. Law: the longest words that
// match win; what begins with a known word is that group's, and everything else is unknown.

import type { TObject, TSchema } from 'typebox';
import type { Command } from './catalogue.ts';
import { firstWord } from './console-usage.ts';
import type { CliFace } from './operation.ts';

export type Parsed =
  | { readonly kind: 'help'; readonly group: string | undefined }
  | { readonly kind: 'unknown' }
  /** Its group is known, and no command of it takes these arguments. */
  | { readonly kind: 'wrong'; readonly group: string }
  | {
      readonly kind: 'run';
      readonly group: string;
      readonly command: Command;
      /** Not checked yet. */
      readonly raw: Readonly<Record<string, unknown>>;
    };

export function parseCommand(commands: readonly Command[], words: readonly string[]): Parsed {
  const [group, topic] = words;
  if (group === undefined) return { kind: 'help', group: undefined };
  if (group === 'help' && words.length <= 2) return { kind: 'help', group: topic };
  const command = longestMatch(commands, words);
  if (command !== undefined) {
    const rest = words.slice(wordsOf(command).length);
    const raw = argumentsOf(command.face, command.operation.params, rest);
    return raw === undefined ? { kind: 'wrong', group } : { kind: 'run', group, command, raw };
  }
  const isKnown = commands.some(({ face }) => firstWord(face.words) === group);
  return isKnown ? { kind: 'wrong', group } : { kind: 'unknown' };
}

function longestMatch(commands: readonly Command[], words: readonly string[]): Command | undefined {
  let longest: Command | undefined;
  for (const command of commands) {
    const own = wordsOf(command);
    const isLonger = longest === undefined || own.length > wordsOf(longest).length;
    if (isLonger && own.every((word, i) => words[i] === word)) longest = command;
  }
  return longest;
}

function wordsOf({ face }: Command): readonly string[] {
  return face.words.split(' ');
}

type Raw = Record<string, unknown>;

/** Undefined: too few, too many, or an option without its value. */
function argumentsOf(
  { args, olderArgs, options = {}, fixed }: CliFace<unknown, unknown>,
  schema: TObject,
  words: readonly string[],
): Raw | undefined {
  const raw: Raw = {};
  const values: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as string;
    const [flag = word, inline] = splitOption(word);
    const name = Object.hasOwn(options, flag) ? options[flag] : undefined;
    if (name === undefined) {
      values.push(word);
      continue;
    }
    const value = inline ?? words[++i];
    if (value === undefined) return undefined;
    raw[name] = valueOf(schema, name, value);
  }
  const wanted = values.length === olderArgs?.length ? olderArgs : args;
  if (
    !take(wanted, values, (name, value) => {
      raw[name] = Array.isArray(value) ? value : valueOf(schema, name, value);
    })
  )
    return undefined;
  return { ...raw, ...(fixed as Raw | undefined) };
}

/** `--for=5m`; a short option has its value in the next word. */
function splitOption(word: string): readonly [flag: string, value?: string] {
  const at = word.startsWith('--') ? word.indexOf('=') : -1;
  return at < 0 ? [word] : [word.slice(0, at), word.slice(at + 1)];
}

/** False: there are too few values, or too many. */
function take(
  args: readonly string[],
  values: readonly string[],
  give: (name: string, value: string | string[]) => void,
): boolean {
  let next = 0;
  for (const arg of args) {
    if (arg.endsWith('...')) {
      const rest = values.slice(next);
      if (rest.length === 0) return false;
      give(arg.slice(0, -3), rest);
      return true;
    }
    const value = values[next++];
    const isOptional = arg.endsWith('?');
    if (value !== undefined) give(isOptional ? arg.slice(0, -1) : arg, value);
    else if (!isOptional) return false;
  }
  return next >= values.length;
}

/** What takes no text is written as JSON: the actions of a rule. */
function valueOf(schema: TObject, name: string, text: string): unknown {
  const part: (TSchema & { readonly type?: string }) | undefined = schema.properties[name];
  if (part?.type !== 'object' && part?.type !== 'array') return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The check says what is wanted in its place.
    return text;
  }
}
