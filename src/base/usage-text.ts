// How the commands of `broker_ctl` are listed, by the node that has them and by the program itself when
// no node answers: a group of lines for each first word, under a rule of dashes.

export interface UsageGroup {
  /** The first word of its commands. */
  readonly name: string;
  readonly lines: readonly string[];
}

const textColumns = 48;
const rule = '-'.repeat(80);

/** A text that is too long for its column has the explanation below. */
export function usageLine(text: string, explanation: string): string {
  const isLong = text.length >= textColumns;
  const padded = isLong ? `${text}\n${' '.repeat(textColumns)}` : text.padEnd(textColumns);
  return `${padded}# ${explanation}`;
}

export function groupUsage({ lines }: UsageGroup): string {
  return lines.join('\n');
}

export function fullUsage(groups: readonly UsageGroup[]): string {
  return ['Usage: broker_ctl', ...groups.flatMap(({ lines }) => [rule, ...lines])].join('\n');
}

/** What the program does itself, without a node. */
export const ownCommands: readonly UsageGroup[] = [
  {
    name: 'help',
    lines: [
      usageLine('help', 'List all commands'),
      usageLine('help <Command>', 'List the commands that begin with a word'),
    ],
  },
  {
    name: 'completion',
    lines: [usageLine('completion bash|zsh|fish', 'Print a script that completes commands')],
  },
];
