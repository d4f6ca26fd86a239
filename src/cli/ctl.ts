// The program `broker_ctl`: has a running node do something and prints what it answers. Without a node
// it can still tell what there is to do. Exit codes: 0 done, 1 failed or no node, 2 the options were not
// understood.

import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describeError } from '#base/errors';
import { fullUsage, groupUsage, type UsageGroup } from '#base/usage-text';
import { ConfigError } from '#config/config-error';
import { installRoot } from '#base/install-root';
import { loadNodeOnly } from '#config/load';
import { completionScript, isShell } from './completion.ts';
import { type CtlArguments, ctlOptions, CtlUsageError, parseCtl } from './ctl-arguments.ts';
import { callNode, type Terminal } from './ctl-call.ts';
import { openTerminal } from './ctl-terminal.ts';

/** Derived from the operations of the broker: `npm run gen`. */
interface CliCatalogue {
  readonly groups: readonly UsageGroup[];
  readonly commands: readonly string[];
}

/** Answers the exit code. */
export async function ctlCommand(argv: readonly string[], terminal: Terminal): Promise<number> {
  try {
    const args = parseCtl(argv);
    if (args.isVersion) return await print(terminal, `broker_ctl ${version()}`);
    if (args.words[0] === 'completion') return await completion(args.words.slice(1), terminal);
    return await ask(args, terminal);
  } catch (error) {
    if (error instanceof CtlUsageError) {
      await terminal.err(`${error.message}\n${ctlOptions}\n`);
      return 2;
    }
    await terminal.err(`${error instanceof ConfigError ? error.message : describeError(error)}\n`);
    return 1;
  }
}

async function ask(args: CtlArguments, terminal: Terminal): Promise<number> {
  const { words, isJson, sets, dataDir: wanted } = args;
  const configFile = resolve(args.configFile ?? join(installRoot, 'etc', 'broker.conf'));
  // The shipped one may be missing: what holds without it is known.
  if (args.configFile !== undefined && !existsSync(configFile)) {
    return fail(terminal, `Cannot read "${configFile}": there is no such file`);
  }
  const { name, dataDir } = loadNodeOnly({ configFile, env: process.env, sets, dataDir: wanted });
  const isHelp = words.length === 0 || (words[0] === 'help' && words.length <= 2);
  const outcome = await callNode(dataDir, { args: words, json: isJson, ...here() }, terminal);
  if (typeof outcome === 'object') {
    if (isHelp && words.length < 2 && !isJson) await print(terminal, ctlOptions);
    return outcome.exitCode;
  }
  if (outcome === 'forbidden') {
    return fail(
      terminal,
      `Cannot ask node '${name}': its socket in "${dataDir}" is somebody else's`,
    );
  }
  if (outcome === 'lost') {
    return fail(terminal, `RPC to ${name} error: the connection was closed before the end`);
  }
  if (isHelp && !isJson) return help(words[1], terminal);
  const asWhat = 'one that was started with --data-dir or --config is asked with the same';
  return fail(
    terminal,
    `Node '${name}' not responding to pings.\nNo broker answers in "${dataDir}": ${asWhat}`,
  );
}

/** Where this program was called. The directory may be gone, which matters to few commands. */
function here(): { cwd?: string } {
  try {
    return { cwd: process.cwd() };
  } catch {
    return {};
  }
}

/** What the broker brings itself; what plugins add only a node knows. */
async function help(word: string | undefined, terminal: Terminal): Promise<number> {
  const { groups } = catalogue();
  const group = groups.find(({ name }) => name === word);
  if (group !== undefined) return print(terminal, groupUsage(group));
  await print(terminal, fullUsage(groups));
  if (word !== undefined) return fail(terminal, `Cannot run "help ${word}": unknown command`);
  return print(terminal, ctlOptions);
}

async function completion(words: readonly string[], terminal: Terminal): Promise<number> {
  const [shell, ...others] = words;
  if (!isShell(shell) || others.length > 0) return help('completion', terminal);
  return print(terminal, completionScript(shell, catalogue()));
}

function catalogue(): CliCatalogue {
  const text = readFileSync(new URL('catalogue.json', import.meta.url), 'utf8');
  return JSON.parse(text) as CliCatalogue;
}

function version(): string {
  const manifest = readFileSync(join(installRoot, 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

async function print(terminal: Terminal, text: string): Promise<number> {
  await terminal.out(`${text}\n`);
  return 0;
}

async function fail(terminal: Terminal, text: string): Promise<number> {
  await terminal.err(`${text}\n`);
  return 1;
}

if (import.meta.main) {
  process.exitCode = await ctlCommand(process.argv.slice(2), openTerminal());
}
