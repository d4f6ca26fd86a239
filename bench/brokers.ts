// The brokers that are compared, and how each is launched: fresh, on 127.0.0.1, in a directory of
// its own, and ended by its process id.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { family } from './cpu.ts';
import type { BrokerName } from './load.ts';

export interface Running {
  readonly pid: number;
  readonly hasEnded: boolean;
  /** The end of what it printed, for the message when it fails. */
  lastWords(): string;
  /** Asks it to end; it is killed when that takes too long. */
  stop(patienceMs?: number): Promise<void>;
  /** Ends it as a crash does. */
  kill(): Promise<void>;
}

export interface Broker {
  readonly name: BrokerName;
  /** Undefined when it can be started; otherwise why not. */
  missing(): string | undefined;
  /** Answers when the process exists, long before it accepts connections. */
  launch(port: number, variant: Variant): Running;
}

export interface Variant {
  /** `key=value` for our broker. */
  readonly settings: readonly string[];
  /** Mosquitto with every packet a segment of its own, which costs it a third to half of its rate. */
  readonly mosquittoNodelay: boolean;
  /** Lines for Mosquitto's configuration in place of those of the same name. */
  readonly mosquittoSettings?: readonly string[];
  /** Holds its data and is not removed: the next process goes on there. */
  readonly directory?: string;
  /** Of our broker: the file that takes the command line in place of `src/cli/broker.ts`. */
  readonly entry?: string;
}

const launcher = fileURLToPath(new URL('../bin/broker', import.meta.url));
/** Those that bin/broker gives to Node.js. */
const launcherFlags = ['--initial-old-space-size=128'];

export const brokers: Readonly<Record<BrokerName, Broker>> = {
  ours: {
    name: 'ours',
    missing: () => (existsSync(launcher) ? undefined : 'bin/broker does not exist'),
    launch: (port, { settings, directory: kept, entry }) =>
      launchProcess(entry === undefined ? launcher : process.execPath, kept, (directory) => {
        const all = [`listener.tcp.external=127.0.0.1:${port}`, ...onlyPlainTcp, ...settings];
        const sets = all.flatMap((set) => ['--set', set]);
        const script = entry === undefined ? [] : [...launcherFlags, entry];
        return [...script, 'foreground', '--data-dir', directory, ...sets];
      }),
  },
  mosquitto: {
    name: 'mosquitto',
    missing: () => (findOnPath('mosquitto') ? undefined : 'mosquitto is not on the PATH'),
    launch: (port, variant) =>
      launchProcess(findOnPath('mosquitto') ?? 'mosquitto', variant.directory, (directory) => {
        const file = join(directory, 'mosquitto.conf');
        writeFileSync(file, mosquittoConfiguration(port, directory, variant));
        return ['-c', file];
      }),
  },
};

/** Everything else as shipped. */
const onlyPlainTcp = [
  'listener.tcp.internal=off',
  'management.listener.http=off',
  'dashboard.listener.http=off',
  'listener.ssl.external=off',
  'listener.ws.external=off',
  'listener.wss.external=off',
  'log.to=off',
];

/** Mosquitto at its best: no limit that would drop a message, nothing written to disk or log. */
function mosquittoConfiguration(port: number, directory: string, variant: Variant): string {
  const lines = [
    'allow_anonymous true',
    'persistence false',
    `persistence_location ${directory}/`,
    `set_tcp_nodelay ${variant.mosquittoNodelay}`,
    'max_queued_messages 0',
    'max_inflight_messages 0',
    'log_dest none',
    ...(variant.mosquittoSettings ?? []),
  ];
  // The last line of a name holds.
  const byName = new Map(lines.map((line) => [line.split(' ')[0], line]));
  return [`listener ${port} 127.0.0.1`, ...byName.values(), ''].join('\n');
}

/** A port that nobody has at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (address === null || typeof address === 'string') throw new TypeError('Cannot find a port');
  return address.port;
}

const startMs = 20_000;
const stopMs = 5_000;
/** For so long a connection must be left open to count as accepted. */
const stayMs = 100;

function launchProcess(
  command: string,
  kept: string | undefined,
  argumentsIn: (directory: string) => string[],
): Running {
  const directory = kept ?? mkdtempSync(join(tmpdir(), 'bench-'));
  const child = spawn(command, argumentsIn(directory), { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('close', () => resolve());
  });
  const removeDirectory = (): void => {
    if (kept === undefined) rmSync(directory, { recursive: true, force: true });
  };
  const killNow = (): void => killFamily(child, 'SIGKILL');
  const abandon = (): void => {
    killNow();
    removeDirectory();
  };
  process.once('exit', abandon);
  const end = async (signal: 'SIGTERM' | 'SIGKILL', patienceMs: number): Promise<void> => {
    killFamily(child, signal);
    const impatience = setTimeout(killNow, patienceMs);
    await exited;
    clearTimeout(impatience);
    process.off('exit', abandon);
    removeDirectory();
  };
  return {
    pid: child.pid ?? 0,
    get hasEnded() {
      return child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
    },
    lastWords: lastWords(child),
    stop: (patienceMs = stopMs) => end('SIGTERM', patienceMs),
    kill: () => end('SIGKILL', stopMs),
  };
}

/** Resolves when the port accepts connections; fails when the process ends or takes too long. */
export async function accepting(port: number, running: Running): Promise<void> {
  const deadline = performance.now() + startMs;
  while (!(await accepts(port))) {
    refuseDead(running, deadline);
    await delay(25);
  }
}

/** Throws when there is nothing to wait for any longer. */
export function refuseDead(running: Running, deadline: number): void {
  const said = running.lastWords() || 'it said nothing';
  if (running.hasEnded) throw new Error(`Cannot start the broker: its process ended, ${said}`);
  if (performance.now() > deadline) {
    throw new Error(`Cannot start the broker: it does not answer after all this time, ${said}`);
  }
}

/** A broker that only tries whether its port is free accepts too, and closes at once. */
function accepts(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host: '127.0.0.1', port });
  let staying: NodeJS.Timeout | undefined;
  socket.once('connect', () => {
    staying = setTimeout(() => resolve(true), stayMs);
  });
  // 'close' follows.
  socket.once('error', () => undefined);
  socket.once('close', () => resolve(false));
  // Without a reader the end of the connection is not seen.
  socket.resume();
  return promise.finally(() => {
    clearTimeout(staying);
    socket.destroy();
  });
}

/** Ends a process with all it has started. */
export function killFamily(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  for (const pid of family(child.pid)) {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended between being listed and being signalled.
    }
  }
}

/** The end of what a process printed, for the message when it fails. */
function lastWords(child: ChildProcess): () => string {
  let words = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      words = (words + chunk.toString()).slice(-2000);
    });
  }
  return () => words.trim();
}

function findOnPath(command: string): string | undefined {
  // Debian keeps servers in sbin, which is not on every user's PATH.
  const places = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/usr/local/sbin'];
  return places.map((place) => join(place, command)).find((file) => existsSync(file));
}
