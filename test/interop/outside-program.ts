// Programs that we did not write, and our own as a process of its own: started by a test, read line
// by line, ended by their own process id. Which tools there are is what `npm test` has found.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { installRoot } from '#base/install-root';
import { defaultDeadlineMs, Inbox } from './inbox.ts';

export interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Uint8Array;
  /** Of what it prints; utf8 when it is text. */
  readonly encoding?: BufferEncoding;
}

export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export class Program implements AsyncDisposable {
  readonly lines: Inbox<string> = new Inbox((line) => line);
  readonly errorLines: Inbox<string> = new Inbox((line) => line);
  readonly #child: ChildProcess;
  readonly #name: string;
  readonly #ended: Promise<number | null>;
  readonly #grown: Inbox<string> = new Inbox((text) => text);
  #out = '';
  #err = '';

  constructor(path: string, args: readonly string[], options: ProgramOptions = {}) {
    this.#name = path.slice(path.lastIndexOf('/') + 1);
    const child = spawn(path, args, {
      env: { ...process.env, ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    // A program that has ended does not read its input to the end.
    child.stdin.on('error', () => undefined);
    if (options.input !== undefined) child.stdin.end(options.input);
    child.stdout.setEncoding(options.encoding ?? 'utf8').on('data', (text: string) => {
      this.#out += text;
      this.#grown.put(text);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#err += text;
    });
    createInterface({ input: child.stdout }).on('line', (line) => this.lines.put(line));
    createInterface({ input: child.stderr }).on('line', (line) => this.errorLines.put(line));
    const { promise, resolve } = Promise.withResolvers<number | null>();
    this.#ended = promise;
    const ended = (why: string, code: number | null): void => {
      const error = new Error(`${this.#name} ${why}; stderr: ${this.#err.trim() || 'empty'}`);
      this.lines.end(error);
      this.errorLines.end(error);
      this.#grown.end(error);
      resolve(code);
    };
    child.once('error', (error) => ended(`did not start (${error.message})`, null));
    child.once('close', (code, signal) => ended(`ended with ${signal ?? code}`, code));
  }

  /** Undefined when it did not start. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  get out(): string {
    return this.#out;
  }

  get err(): string {
    return this.#err;
  }

  /** All that it printed, once that is so long. */
  async output(length: number): Promise<string> {
    while (this.#out.length < length) await this.#grown.take(`${length} characters of output`);
    return this.#out;
  }

  write(input: string | Uint8Array): void {
    this.#child.stdin?.write(input);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** What it said and how it ended. */
  async outcome(deadlineMs: number = defaultDeadlineMs): Promise<Outcome> {
    const { promise, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      const said = `${this.#out}${this.#err}`.slice(-2000);
      reject(
        new Error(
          `Cannot see the end of ${this.#name}: it runs after ${deadlineMs} ms and said:\n${said}`,
        ),
      );
    }, deadlineMs);
    try {
      const code = await Promise.race([this.#ended, promise]);
      return { code, out: this.#out, err: this.#err };
    } finally {
      clearTimeout(timer);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#child;
    if (child.pid === undefined) return;
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'close');
    }
  }
}

/** Runs a program to its end. */
export async function runToEnd(
  path: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<Outcome> {
  await using program = new Program(path, args, { input: '', ...options });
  return await program.outcome();
}

export interface Tool {
  readonly path: string;
  /** For the `skip` of a test: false when the tool is there, else why not. */
  readonly skip: string | false;
}

interface FoundTool {
  readonly path: string | null;
  readonly reason: string | null;
}

/** A tool that `npm test` looked for before the tests began. */
export function toolOf(name: string): Tool {
  const { path, reason } = foundTools()[name] ?? { path: null, reason: null };
  if (path !== null) return { path, skip: false };
  return { path: name, skip: reason ?? `${name} was not looked for; "npm test" does` };
}

/** A tool that systems of the kind we test on have anyway, and others do not. */
export function toolOnPath(name: string): Tool {
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(directory, name);
    try {
      accessSync(path, constants.X_OK);
      return { path, skip: false };
    } catch {
      // Not in this directory.
    }
  }
  return { path: name, skip: `${name} is not on the PATH` };
}

function foundTools(): Readonly<Record<string, FoundTool>> {
  const file = join(installRoot, 'node_modules', '.cache', 'broker-test-tools.json');
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, FoundTool>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
}
