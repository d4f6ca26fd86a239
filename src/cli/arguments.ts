// The command line of `broker`: commands, options, and the help that is made from the same table.

import { parseArgs } from 'node:util';

const commands = {
  start: 'start in the background and wait until it is ready',
  stop: 'stop the broker and wait until it is gone',
  restart: 'stop, then start with the options given now, not those of the last start',
  foreground: 'run in this terminal until Ctrl-C',
  console: 'as foreground, with the log at level debug on the console only',
  ping: 'answer pong when the broker responds; exit code 1 when not',
  status: 'tell whether the broker runs, its version and listeners; exit code 1 when not',
  pid: 'print the process id; exit code 1 when it does not run',
  'config check': 'check the configuration without starting',
  'config show': 'print every value that holds and where it comes from',
} as const;

export type Command = keyof typeof commands;

export interface Arguments {
  readonly command: Command | 'help' | 'version';
  readonly configFile: string | undefined;
  readonly dataDir: string | undefined;
  readonly sets: readonly string[];
  /** How `start` runs its child: there is no console to log to. */
  readonly isDetached: boolean;
}

/** A command line that cannot be understood: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function parseArguments(argv: readonly string[]): Arguments {
  const { values, positionals } = parse(argv);
  return {
    command: values.help ? 'help' : values.version ? 'version' : commandOf(positionals),
    configFile: values.config,
    dataDir: values['data-dir'],
    sets: values.set ?? [],
    isDetached: values.detached ?? false,
  };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        config: { type: 'string', short: 'c' },
        'data-dir': { type: 'string' },
        set: { type: 'string', multiple: true },
        detached: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean' },
      },
    });
  } catch (error) {
    // The messages of parseArgs have a first sentence that says it all.
    const [reason = ''] = (error as Error).message.split('. ');
    throw new UsageError(reason, { cause: error });
  }
}

function commandOf(words: readonly string[]): Command | 'help' {
  if (words.length === 0) throw new UsageError('Cannot do anything: expected a command');
  const written = words.join(' ');
  if (written === 'help') return 'help';
  if (!Object.hasOwn(commands, written))
    throw new UsageError(`Cannot run "${written}": unknown command`);
  return written as Command;
}

export function usage(): string {
  const rows = Object.entries(commands).map(([name, text]) => `  ${name.padEnd(15)}${text}`);
  return `Usage: broker <command> [options]

Commands:
${rows.join('\n')}

Options:
  -c, --config FILE  the main configuration file (etc/broker.conf)
  --data-dir DIR     the data directory, before node.data_dir of the configuration
  --set KEY=VALUE    a key of the configuration; as often as wanted
  -h, --help         print this
  --version          print the version
`;
}
