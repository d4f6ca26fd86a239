// The broker as the driver sees it: a process over one data directory that is started, ended and
// started again. Law: it is ended by its own process id, and what it said is kept in a file.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installRoot } from '#base/install-root';

export interface BrokerUnderTest extends AsyncDisposable {
  /** Launches a process over what the last one left; resolves when it listens. */
  start(): Promise<void>;
  /** Ends it, whatever it is doing, and resolves when it is gone. */
  kill(): Promise<void>;
  /** Asks it to end; resolves with its exit code when it is gone. */
  stop(): Promise<number | null>;
  /** Where it listens; undefined while it does not. */
  readonly port: number | undefined;
  /** Threads that serve clients, as far as we were told; 1 where one thread serves all. */
  readonly workers: number;
  /** Where log and data lie. */
  readonly place: string;
  /** Called for each line of its log that tells of a failure of its own. */
  onFault: (line: string) => void;
  /** Its place is not removed in the end. */
  isKept: boolean;
}

export interface ProcessOptions {
  /** `key=value` */
  readonly sets?: readonly string[];
  /** A program, or a script for this Node.js, that takes the words of bin/broker and speaks like it. */
  readonly entry?: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
  /** Events of level error that are part of the play. */
  readonly expectedErrors?: readonly string[];
}

/** It listens, ends or is given up after this time. */
const startMsMax = 30_000;
const stopMsMax = 20_000;

/** Nothing may be dropped for want of room, or messages would be missing by right. */
const ownSets = [
  'listener.tcp.external=127.0.0.1:0',
  'listener.tcp.internal=off',
  'management.listener.http=off',
  'dashboard.listener.http=off',
  'listener.ssl.external=off',
  'listener.ws.external=off',
  'listener.wss.external=off',
  'zone.external.max_mqueue_len=0',
  'log.to=console',
  'log.level=info',
];

export class BrokerProcess implements BrokerUnderTest {
  readonly place: string = mkdtempSync(join(tmpdir(), 'broker-crash-'));
  onFault: (line: string) => void = () => undefined;
  isKept = false;
  /** Called for each line that it says. */
  onLine: (line: string) => void = () => undefined;
  readonly #expected: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  readonly #command: string;
  readonly #args: readonly string[];
  readonly #log: number;
  #child: ChildProcess | undefined;
  #closed: Promise<unknown> = Promise.resolve();
  #isEnding = false;
  #port: number | undefined;

  constructor({ sets = [], entry, env = {}, expectedErrors = [] }: ProcessOptions = {}) {
    this.#env = env;
    this.#expected = expectedErrors.map((event) => `"event":"${event}"`);
    this.#log = openSync(join(this.place, 'broker.log'), 'a');
    const program = entry ?? join(installRoot, 'bin', 'broker');
    const isScript = program.endsWith('.ts');
    const all = [...ownSets, `log.dir=${join(this.place, 'log')}`, ...sets];
    const words = ['foreground', '--data-dir', join(this.place, 'data')];
    this.#command = isScript ? process.execPath : program;
    this.#args = [...(isScript ? [program] : []), ...words, ...all.map((set) => `--set=${set}`)];
  }

  get port(): number | undefined {
    return this.#port;
  }

  get workers(): number {
    const key = '--set=node.workers=';
    const set = this.#args.findLast((word) => word.startsWith(key))?.slice(key.length);
    const told = Number(set ?? process.env['BROKER_NODE__WORKERS'] ?? 1);
    return told === 0 ? 1 : told;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get exitCode(): number | null | undefined {
    return this.#child?.exitCode;
  }

  /** Resolves when the process is over, by itself or not. */
  async ended(): Promise<void> {
    await this.#closed;
  }

  /** A line to its input. */
  say(line: string): void {
    this.#child?.stdin?.write(`${line}\n`);
  }

  async start(): Promise<void> {
    this.note('start');
    this.#isEnding = false;
    const child = spawn(this.#command, this.#args, {
      stdio: 'pipe',
      // As bin/broker has it: a script of ours need not be compiled at every start either.
      env: {
        NODE_COMPILE_CACHE: join(installRoot, 'node_modules', '.cache', 'broker'),
        ...process.env,
        ...this.#env,
      },
    });
    this.#child = child;
    this.#closed = once(child, 'close').catch(() => undefined);
    const listening = Promise.withResolvers<number>();
    const read = (line: string): void => {
      const port = /^ {2}mqtt:tcp \S+:(\d+) /.exec(line)?.[1];
      if (port !== undefined) listening.resolve(Number(port));
      if (this.#isFault(line)) this.onFault(line);
      this.onLine(line);
    };
    child.stdout.on('data', this.#lines(read));
    child.stderr.on(
      'data',
      this.#lines((line) => this.onFault(`stderr: ${line}`)),
    );
    child.once('error', listening.reject);
    child.once('close', (code, signal) => {
      this.#port = undefined;
      this.note(`ended by ${signal ?? code}`);
      const end = `it ended by ${signal ?? `code ${code}`} before it listened`;
      listening.reject(new Error(`Cannot start the broker: ${end}`));
      if (!this.#isEnding) this.onFault(`the process ended by itself, by ${signal ?? code}`);
    });
    const late = setTimeout(() => {
      listening.reject(
        new Error(`Cannot start the broker: it does not listen in ${startMsMax} ms`),
      );
    }, startMsMax);
    try {
      this.#port = await listening.promise;
    } finally {
      clearTimeout(late);
    }
  }

  #isFault(line: string): boolean {
    if (!line.startsWith('{') || !line.includes('"level":"error"')) return false;
    return !this.#expected.some((event) => line.includes(event));
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async stop(): Promise<number | null> {
    const impatience = setTimeout(() => {
      this.onFault(`the process does not stop in ${stopMsMax} ms`);
      this.#child?.kill('SIGKILL');
    }, stopMsMax);
    await this.#end('SIGTERM');
    clearTimeout(impatience);
    return this.#child?.exitCode ?? null;
  }

  /** A line of the driver's own among those of the broker. */
  note(what: string): void {
    writeSync(this.#log, `--- ${new Date().toISOString()} ${what}\n`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    closeSync(this.#log);
    if (!this.isKept) rmSync(this.place, { recursive: true, force: true });
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#isEnding = true;
    this.#port = undefined;
    // Does nothing to a process that has ended.
    this.#child?.kill(signal);
    await this.#closed;
  }

  /** Keeps what is said, and hands it on line by line. */
  #lines(take: (line: string) => void): (chunk: Buffer) => void {
    let rest = '';
    return (chunk) => {
      writeSync(this.#log, chunk);
      const lines = (rest + chunk.toString('latin1')).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '') take(line);
    };
  }
}
