// Scripts by which shells complete the commands of `broker_ctl`: what may follow the words so far, as a
// table. They ask no node: completing must not take the time of starting a program.

interface Completed {
  readonly groups: readonly { readonly name: string }[];
  readonly commands: readonly string[];
}

export type Shell = 'bash' | 'zsh' | 'fish';

const shells: Readonly<Record<Shell, (table: Table) => string>> = { bash, zsh, fish };
const own = ['help', ...Object.keys(shells).map((shell) => `completion ${shell}`)];

export function isShell(word: string | undefined): word is Shell {
  return word !== undefined && Object.hasOwn(shells, word);
}

export function completionScript(shell: Shell, { groups, commands }: Completed): string {
  const helped = groups.map(({ name }) => `help ${name}`);
  return shells[shell](nextWords([...commands, ...own, ...helped]));
}

/** By the words so far, '' at first: the words that may come next. */
type Table = ReadonlyMap<string, readonly string[]>;

function nextWords(commands: readonly string[]): Table {
  const table = new Map<string, Set<string>>();
  for (const command of commands) {
    const words = command.split(' ');
    words.forEach((word, i) => {
      const before = words.slice(0, i).join(' ');
      table.set(before, (table.get(before) ?? new Set()).add(word));
    });
  }
  return new Map(
    [...table].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, set]) => [key, [...set].sort()]),
  );
}

function cases(table: Table, line: (next: string) => string): string {
  const rows = Array.from(table, ([so, next]) => `    '${so}') ${line(next.join(' '))} ;;`);
  return rows.join('\n');
}

function bash(table: Table): string {
  return `# Completion of broker_ctl for bash: eval "$(broker_ctl completion bash)"
_broker_ctl() {
  local current=\${COMP_WORDS[COMP_CWORD]} so= next= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      -c | --config | --data-dir | --set) ((i++)) ;;
      -*) ;;
      *) so="\${so:+$so }\${COMP_WORDS[i]}" ;;
    esac
  done
  case $so in
${cases(table, (next) => `next='${next}'`)}
  esac
  [[ $current == -* ]] && next='--config --data-dir --set --json --help --version'
  COMPREPLY=($(compgen -W "$next" -- "$current"))
}
complete -F _broker_ctl broker_ctl`;
}

function zsh(table: Table): string {
  return `#compdef broker_ctl
# Completion of broker_ctl for zsh: eval "$(broker_ctl completion zsh)"
_broker_ctl() {
  local -a next
  local so="\${(j: :)words[2,CURRENT-1]}"
  case $so in
${cases(table, (next) => `next=(${next})`)}
  esac
  compadd -a next
}
compdef _broker_ctl broker_ctl`;
}

function fish(table: Table): string {
  const rows = Array.from(
    table,
    ([so, next]) => `complete -c broker_ctl -f -n '__broker_ctl_at ${so}' -a '${next.join(' ')}'`,
  );
  return `# Completion of broker_ctl for fish: broker_ctl completion fish | source
function __broker_ctl_at
  set -l typed (commandline -opc)
  set -e typed[1]
  test "$typed" = "$argv"
end
${rows.join('\n')}`;
}
