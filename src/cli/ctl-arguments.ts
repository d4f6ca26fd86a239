// The command line of `broker_ctl`: what is meant for the program itself, and the words of the command,
// which are the node's to understand. Law: whatever stands behind the first word belongs to the command,
// except for the long options of the program; behind `--` everything does.

export interface CtlArguments {
  /** The command and its arguments. */
  readonly words: readonly string[];
  readonly isJson: boolean;
  readonly isVersion: boolean;
  readonly configFile: string | undefined;
  readonly dataDir: string | undefined;
  readonly sets: readonly string[];
}

/** A command line that cannot be understood: exit code 2. */
export class CtlUsageError extends Error {
  override readonly name = 'CtlUsageError';
}

const valued: ReadonlySet<string> = new Set(['--config', '--data-dir', '--set']);

export function parseCtl(argv: readonly string[]): CtlArguments {
  const words: string[] = [];
  const found = new Map<string, string[]>();
  let isJson = false;
  let isVersion = false;
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i] as string;
    if (word === '--') {
      words.push(...argv.slice(i + 1));
      break;
    }
    const at = word.startsWith('--') ? word.indexOf('=') : -1;
    // `-c` behind the command is an option of commands.
    const isShort = words.length === 0 && word === '-c';
    const flag = isShort ? '--config' : at < 0 ? word : word.slice(0, at);
    if (valued.has(flag)) {
      const value = at < 0 ? argv[++i] : word.slice(at + 1);
      if (value === undefined) throw new CtlUsageError(`Cannot use ${word}: expected a value`);
      found.set(flag, [...(found.get(flag) ?? []), value]);
    } else if (word === '--json') {
      isJson = true;
    } else if (words.length > 0) {
      words.push(word);
    } else if (word === '--version') {
      isVersion = true;
    } else if (word === '--help' || word === '-h') {
      words.push('help');
    } else if (word.startsWith('-')) {
      throw new CtlUsageError(`Cannot use ${word}: unknown option`);
    } else {
      words.push(word);
    }
  }
  return {
    words,
    isJson,
    isVersion,
    configFile: found.get('--config')?.at(-1),
    dataDir: found.get('--data-dir')?.at(-1),
    sets: found.get('--set') ?? [],
  };
}

export const ctlOptions: string = `
Options, before the command:
  -c, --config FILE  the main configuration file (etc/broker.conf)
  --data-dir DIR     the data directory, before node.data_dir of the configuration
  --set KEY=VALUE    a key of the configuration; as often as wanted
  --json             print the result as one JSON document
  --version          print the version`;
