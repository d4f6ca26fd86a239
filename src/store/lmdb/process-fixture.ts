// `commits-fixture.ts` as a process of its own, by its lines.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('commits-fixture.ts', import.meta.url));

/** How long a process may take for anything that a test waits for. */
const deadlineMs = 30_000;

export class StoreProcess implements AsyncDisposable {
  readonly lines: string[] = [];
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #exit: Promise<[number | null, NodeJS.Signals | null]>;
  #errors = '';

  constructor(dir: string, what: 'commits' | 'reading' | 'idle' | 'exit' | 'throw') {
    this.#child = spawn(process.execPath, [program, dir, what], {
      stdio: 'pipe',
      timeout: deadlineMs,
      killSignal: 'SIGKILL',
    });
    this.#exit = once(this.#child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    createInterface(this.#child.stdout).on('line', (line) => {
      this.lines.push(line);
      this.#child.emit('told');
    });
    this.#child.stderr.on('data', (chunk: Buffer) => {
      this.#errors += chunk.toString();
    });
  }

  /** Waits until it has printed so many lines. */
  async told(count: number): Promise<void> {
    while (this.lines.length < count) {
      const ended = await Promise.race([
        once(this.#child, 'told').then(() => false),
        this.#exit.then(() => true),
      ]);
      if (ended && this.lines.length < count) throw new Error(`The process ended: ${this.#errors}`);
    }
  }

  /** Waits for its end: its exit code, what ended it, what it complained about. */
  async ended(): Promise<{ code: number | null; signal: string | null; errors: string }> {
    const [code, signal] = await this.#exit;
    return { code, signal, errors: this.#errors };
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
