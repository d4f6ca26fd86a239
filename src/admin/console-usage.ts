// The help of the console, as a function of the commands: one line for each, in groups by first word.

import { ownCommands, type UsageGroup, usageLine } from '#base/usage-text';
import type { Command } from './catalogue.ts';
import type { CliFace } from './operation.ts';

/** In the order of the commands; what the program does itself comes last. */
export function usageGroups(commands: readonly Command[]): readonly UsageGroup[] {
  const groups = new Map<string, string[]>();
  for (const { operation, face } of commands) {
    const name = firstWord(face.words);
    const lines = groups.get(name) ?? [];
    lines.push(usageLine(commandText(face), face.descr ?? operation.descr));
    groups.set(name, lines);
  }
  return [...Array.from(groups, ([name, lines]) => ({ name, lines })), ...ownCommands];
}

export function firstWord(words: string): string {
  return words.split(' ', 1)[0] ?? '';
}

/** `clients show <ClientId>` */
export function commandText({
  words,
  args,
  options = {},
  usage,
}: CliFace<unknown, unknown>): string {
  if (usage !== undefined) return usage === '' ? words : `${words} ${usage}`;
  const values = args.map(argumentText);
  const optional = Object.entries(options).map(([flag, name]) => `[${flag} <${titled(name)}>]`);
  return [words, ...values, ...optional].join(' ');
}

function argumentText(arg: string): string {
  if (arg.endsWith('...')) return `<${titled(arg.slice(0, -3))}>...`;
  if (arg.endsWith('?')) return `[<${titled(arg.slice(0, -1))}>]`;
  return `<${titled(arg)}>`;
}

/** `client_id` as `ClientId`. */
function titled(name: string): string {
  return name
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

/** What the program knows of the commands without a node: src/cli/catalogue.json. */
export function cliCatalogue(commands: readonly Command[]): string {
  const groups = usageGroups(commands).map(
    ({ name, lines }) => `    {
      "name": ${JSON.stringify(name)},
      "lines": ${jsonList(lines, 6, '"lines": ')}
    }`,
  );
  const words = commands.map(({ face }) => face.words).sort();
  return `{
  "groups": [
${groups.join(',\n')}
  ],
  "commands": ${jsonList(words, 2, '"commands": ')}
}
`;
}

/** As the formatter of the project would write it. */
function jsonList(texts: readonly string[], indent: number, before: string): string {
  const items = texts.map((text) => JSON.stringify(text));
  const line = `[${items.join(', ')}]`;
  if (indent + before.length + line.length <= 100) return line;
  const margin = ' '.repeat(indent);
  return `[\n${items.map((item) => `${margin}  ${item}`).join(',\n')}\n${margin}]`;
}
