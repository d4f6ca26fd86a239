// The program `broker`: starts, stops and asks one broker. Exit codes: 0 done, 1 failed or not
// running, 2 the command line was not understood.

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { formatDuration } from '#base/duration';
import { describeError } from '#base/errors';
import { ConfigError } from '#config/config-error';
import { deepFreeze } from '#config/freeze';
import { installRoot } from '#base/install-root';
import { type LoadOptions, loadNodeOnly } from '#config/load';
import { quoteValue } from '#config/parse';
import { loadPluginsConfig, type PluginsConfig } from '#plugin/load-config';
import { type Arguments, type Command, parseArguments, UsageError, usage } from './arguments.ts';
import { startDetached, stopRunning } from './detach.ts';
import { runningPid } from './pid-file.ts';
import { feelPulse, type Pulse } from './pulse.ts';
import { runNode } from './run-node.ts';
import type { FilesCheck, Run } from './run-options.ts';

const pulseTimeoutMs = 5000;
const unreadMs = 500;

/** `loadRun` gives the broker itself: it is loaded only by the commands that run one. So is what checks its files. */
export async function brokerCommand(
  argv: readonly string[],
  loadRun: () => Promise<Run>,
  loadCheck: () => Promise<FilesCheck> = async () => async () => [],
): Promise<void> {
  try {
    const args = parseArguments(argv);
    process.exitCode = await dispatch(args, loadRun, loadCheck);
  } catch (error) {
    if (error instanceof UsageError) {
      console.error(`${error.message}\n\n${usage()}`);
      process.exitCode = 2;
    } else {
      console.error(error instanceof ConfigError ? error.message : describeError(error));
      process.exitCode = 1;
    }
  }
}

interface Context {
  readonly args: Arguments;
  readonly options: LoadOptions & { readonly configFile: string };
  readonly loadRun: () => Promise<Run>;
  readonly loadCheck: () => Promise<FilesCheck>;
}

async function dispatch(
  args: Arguments,
  loadRun: () => Promise<Run>,
  loadCheck: () => Promise<FilesCheck>,
): Promise<number> {
  if (args.command === 'help') return print(usage().trimEnd());
  if (args.command === 'version') return print(`broker ${version()}`);
  const options = {
    configFile: resolve(args.configFile ?? join(installRoot, 'etc', 'broker.conf')),
    env: process.env,
    // What the user sets himself stands after what the command implies, and wins.
    sets: [...impliedSets(args.command), ...args.sets],
    dataDir: args.dataDir,
  };
  return handlers[args.command]({ args, options, loadRun, loadCheck });
}

function impliedSets(command: Command): string[] {
  return command === 'console' ? ['log.to=console', 'log.level=debug'] : [];
}

const handlers: Readonly<Record<Command, (context: Context) => Promise<number>>> = {
  foreground,
  console: foreground,
  start,
  async stop({ options }) {
    const wasRunning = await stopRunning(loadNodeOnly(options).dataDir);
    return wasRunning ? print('broker is stopped') : fail('broker is not running');
  },
  async restart(context) {
    // A configuration that would not start must not take down what runs.
    const { dataDir } = (await checkedConfig(context)).settings.node;
    await stopRunning(dataDir);
    return start(context);
  },
  async ping({ options }) {
    const pulse = await feelPulse(loadNodeOnly(options).dataDir, pulseTimeoutMs);
    return pulse ? print('pong') : fail('broker is not responding');
  },
  async status({ options }) {
    const { name, dataDir } = loadNodeOnly(options);
    const pid = runningPid(dataDir);
    if (pid === undefined) return print(`Node ${name} is stopped`, 1);
    const pulse = await feelPulse(dataDir, pulseTimeoutMs);
    return pulse ? print(statusOf(pulse)) : print(`Node ${name} is not responding: pid ${pid}`, 1);
  },
  async pid({ options }) {
    const pid = runningPid(loadNodeOnly(options).dataDir);
    return pid === undefined ? fail('broker is not running') : print(String(pid));
  },
  async 'config check'(context) {
    const { listeners, zones } = (await checkedConfig(context)).settings;
    const found = `${listeners.length} listeners, ${zones.size} zones`;
    return print(`Configuration OK: ${context.options.configFile}, ${found}`);
  },
  async 'config show'({ options }) {
    const { effective } = await loadPluginsConfig(options);
    const lines = effective.map(
      ({ key, text, origin }) => `${key} = ${quoteValue(text)}  # ${origin}`,
    );
    return print(lines.join('\n'));
  },
};

/** With the files that it names. */
async function checkedConfig({ options, loadCheck }: Context): Promise<PluginsConfig> {
  const config = await loadPluginsConfig(options);
  const check = await loadCheck();
  const problems = await check(config);
  if (problems.length === 0) return config;
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
  const lines = problems.map((problem) => `  ${problem.replaceAll('\n', '\n  ')}`);
  throw new Error([`Cannot use files of the configuration: ${count}`, ...lines].join('\n'));
}

async function foreground({ args, options, loadRun }: Context): Promise<number> {
  const config = await loadPluginsConfig(options);
  const node = args.isDetached ? withoutConsole(config) : config;
  await runNode(node, options.configFile, version(), loadRun);
  return 0;
}

async function start({ args, options }: Context): Promise<number> {
  const { dataDir } = (await loadPluginsConfig(options)).settings.node;
  const other = runningPid(dataDir);
  if (other !== undefined) return fail(`broker is running already: pid ${other}`);
  const { pid, listeners, said } = await startDetached(
    process.argv[1] ?? '',
    [
      'foreground',
      '--detached',
      `--config=${options.configFile}`,
      `--data-dir=${dataDir}`,
      ...args.sets.map((set) => `--set=${set}`),
    ],
    dataDir,
  );
  const told = said === '' ? `  ${listeners.join('\n  ')}` : said;
  return print(`broker ${version()} is started: pid ${pid}\n${told}`);
}

/** A detached process has nobody who reads its console, and nothing that bounds what it writes. */
function withoutConsole(config: PluginsConfig): PluginsConfig {
  const { log } = config.settings;
  const to = log.to === 'off' ? 'off' : 'file';
  return { ...config, settings: deepFreeze({ ...config.settings, log: { ...log, to } }) };
}

function statusOf({ node, version: running, pid, startedAtMs, listeners }: Pulse): string {
  const upSeconds = Math.floor((Date.now() - startedAtMs) / 1000);
  const up = upSeconds === 0 ? '0s' : formatDuration(upSeconds * 1000);
  const process = `broker ${running}, pid ${pid}, up ${up}`;
  return [`Node ${node} is running`, process, ...listeners].join('\n  ');
}

function version(): string {
  const manifest = readFileSync(join(installRoot, 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

function print(text: string, exitCode = 0): number {
  console.log(text);
  return exitCode;
}

/** A failure is no answer: `kill $(broker pid)` must not be given words. */
function fail(text: string): number {
  console.error(text);
  return 1;
}

if (import.meta.main) {
  await brokerCommand(
    process.argv.slice(2),
    async () => (await import('../main.ts')).run,
    async () => (await import('../main.ts')).checkConfigFiles,
  );
  // The process ends when nothing is left to do. Lines that nobody reads from a pipe are not that.
  setTimeout(() => process.exit(), unreadMs).unref();
}
