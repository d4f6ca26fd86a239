// The broker as its users run it: `bin/broker foreground` in a process and a directory of its own, on
// ports that the system chooses. Law: it is asked to stop by SIGTERM when the test is over, and an
// event of level error in its log, that is a fault of its own, fails the test.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installRoot } from '#base/install-root';
import { type Outcome, Program, runToEnd } from './outside-program.ts';

export type Kind = 'tcp' | 'ssl' | 'ws' | 'wss';

export const launcher: string = join(installRoot, 'bin', 'broker');

/** A directory for the data and the log of one broker after another. */
export class Place implements Disposable {
  readonly root: string = mkdtempSync(join(tmpdir(), 'broker-interop-'));
  readonly dataDir: string = join(this.root, 'data');
  readonly logDir: string = join(this.root, 'log');

  /** The words of a command line for a broker here; `sets` are `key=value`. */
  args(command: string, sets: readonly string[]): string[] {
    const all = [`log.dir=${this.logDir}`, ...sets];
    return [command, '--data-dir', this.dataDir, ...all.map((set) => `--set=${set}`)];
  }

  /** Runs a command of bin/broker that ends by itself. */
  command(command: string, sets: readonly string[], configFile?: string): Promise<Outcome> {
    const config = configFile === undefined ? [] : [`--config=${configFile}`];
    return runToEnd(launcher, [...this.args(command, sets), ...config]);
  }

  get certFile(): string {
    return join(this.dataDir, 'self-signed-cert.pem');
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** Takes all listeners of the shipped configuration but these away, and lets those choose a port. */
export function onlyListeners(...kinds: readonly Kind[]): string[] {
  const shipped = ['tcp', 'ssl', 'ws', 'wss'] as const;
  return [
    'listener.tcp.internal=off',
    'management.listener.http=off',
    'dashboard.listener.http=off',
    ...shipped.map((kind) => {
      const where = kinds.includes(kind) ? '127.0.0.1:0' : 'off';
      return `listener.${kind}.external=${where}`;
    }),
  ];
}

const loggedToConsole: readonly string[] = ['log.to=console', 'log.level=info'];

export interface BrokerProcessOptions {
  /** Made for it, and removed with it, when none is given. */
  readonly place?: Place;
  readonly env?: Readonly<Record<string, string>>;
  /** Events of level error that the test provokes. */
  readonly expectedErrors?: readonly string[];
}

interface LogLine {
  readonly level: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

/** With several threads and nothing compiled yet, beside other tests on few cores. */
const startMsMax = 60_000;

export class BrokerProcess implements AsyncDisposable {
  readonly place: Place;
  readonly program: Program;
  readonly #options: BrokerProcessOptions;
  readonly #ports: { readonly kind: string; readonly port: number }[] = [];

  /** Runs until it is ready. */
  static async start(
    sets: readonly string[] = onlyListeners('tcp'),
    options: BrokerProcessOptions = {},
  ): Promise<BrokerProcess> {
    const broker = new BrokerProcess(sets, options);
    try {
      await broker.#ready();
      return broker;
    } catch (error) {
      await broker.program[Symbol.asyncDispose]();
      if (options.place === undefined) broker.place[Symbol.dispose]();
      throw error;
    }
  }

  private constructor(sets: readonly string[], options: BrokerProcessOptions) {
    this.place = options.place ?? new Place();
    this.#options = options;
    const args = this.place.args('foreground', [...loggedToConsole, ...sets]);
    this.program = new Program(launcher, args, options.env === undefined ? {} : options);
  }

  get pid(): number {
    assert.ok(this.program.pid, 'Cannot tell the process id: the broker did not start');
    return this.program.pid;
  }

  /** The port of the n-th listener of a kind. */
  port(kind: Kind, n = 0): number {
    const found = this.#ports.filter((one) => one.kind === kind)[n];
    assert.ok(found, `Cannot find listener ${n} of kind ${kind}`);
    return found.port;
  }

  /** Waits for an event in its log, and takes it out. */
  async event(name: string): Promise<LogLine> {
    const line = await this.program.lines.take(
      `log event ${name}`,
      (text) => logLine(text)?.event === name,
    );
    return logLine(line) as LogLine;
  }

  /** Every event of the log so far that has this name. */
  events(name: string): LogLine[] {
    return this.#log().filter((line) => line.event === name);
  }

  /** From /proc; the high-water mark with VmHWM, in bytes. */
  memory(key: 'VmRSS' | 'VmHWM'): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    const kilobytes = new RegExp(`^${key}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
    assert.ok(kilobytes, `Cannot find ${key} in:\n${status}`);
    return Number(kilobytes) * 1024;
  }

  /** Asks it to end and tells how it did. */
  async stop(deadlineMs?: number): Promise<Outcome> {
    this.program.signal('SIGTERM');
    return await this.program.outcome(deadlineMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      const { code, err } = await this.stop();
      const expected = this.#options.expectedErrors ?? [];
      const faults = this.#log().filter(
        ({ level, event }) => level === 'error' && !expected.includes(event),
      );
      assert.deepEqual(faults, [], 'The broker logged errors');
      assert.equal(err, '', 'The broker wrote to stderr');
      assert.equal(code, 0);
    } finally {
      await this.program[Symbol.asyncDispose]();
      if (this.#options.place === undefined) this.place[Symbol.dispose]();
    }
  }

  // The banner ends with the data directory, and is printed when all listeners are open.
  async #ready(): Promise<void> {
    const isLast = (line: string): boolean => line.startsWith('  data in ');
    await this.program.lines.take('the banner', isLast, startMsMax);
    for (const [, kind, port] of this.program.out.matchAll(/^ {2}mqtt:(\w+) \S+:(\d+) /gm)) {
      this.#ports.push({ kind: String(kind), port: Number(port) });
    }
  }

  #log(): LogLine[] {
    return this.program.out
      .split('\n')
      .map(logLine)
      .filter((line) => line !== undefined);
  }
}

function logLine(text: string): LogLine | undefined {
  return text.startsWith('{') ? (JSON.parse(text) as LogLine) : undefined;
}
