// A log file that is renamed when it would grow over its size: broker.log → broker.log.1 → … → gone.
//
// Lines gather in memory and are appended by one write at a time, so that logging never blocks the
// broker and lines stay in order. The memory is bounded: while the disk does not take lines, new
// ones are counted and dropped, and the number is told as soon as it does. Nothing here throws.

import { mkdir, open, rename, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { LogSink } from './log-sink.ts';

const pendingCharsMax = 4 * 1024 * 1024;

export class RotatingFile implements LogSink {
  readonly #path: string;
  readonly #bytesMax: number;
  readonly #count: number;
  #pending: string[] = [];
  #pendingChars = 0;
  #lost = 0;
  #writing: Promise<void> | undefined;
  #handle: FileHandle | undefined;
  #bytes = 0;

  constructor(path: string, bytesMax: number, count: number) {
    this.#path = path;
    this.#bytesMax = bytesMax;
    this.#count = count;
  }

  write(line: string): void {
    if (this.#pendingChars + line.length > pendingCharsMax) {
      this.#lost++;
      return;
    }
    this.#pending.push(line);
    this.#pendingChars += line.length;
    this.#writing ??= this.#drain();
  }

  /** Resolves when everything so far was written or lost. */
  async settled(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.settled();
    await this.#close();
  }

  async #drain(): Promise<void> {
    // The lines of this loop turn go together.
    await new Promise(setImmediate);
    while (this.#pending.length > 0) {
      const lines = this.#pending;
      this.#pending = [];
      this.#pendingChars = 0;
      try {
        await this.#append(lines);
      } catch {
        // No disk, no rights, no directory: the broker goes on, the next lines try again.
        this.#lost += lines.length;
        await this.#close();
      }
    }
    this.#writing = undefined;
  }

  async #append(lines: readonly string[]): Promise<void> {
    await this.#open();
    let batch = '';
    if (this.#lost > 0) {
      batch = `${JSON.stringify({ level: 'error', time: new Date().toISOString(), event: 'log.lost', lines: this.#lost })}\n`;
    }
    let batchBytes = Buffer.byteLength(batch);
    for (const line of lines) {
      const lineBytes = Buffer.byteLength(line);
      const isFull = this.#bytes + batchBytes + lineBytes > this.#bytesMax;
      if (isFull && this.#bytes + batchBytes > 0) {
        await this.#flush(batch, batchBytes);
        batch = '';
        batchBytes = 0;
        await this.#rotate();
      }
      batch += line;
      batchBytes += lineBytes;
    }
    await this.#flush(batch, batchBytes);
    this.#lost = 0;
  }

  async #flush(batch: string, batchBytes: number): Promise<void> {
    if (batch === '') return;
    await this.#handle?.appendFile(batch);
    this.#bytes += batchBytes;
  }

  async #open(): Promise<void> {
    if (this.#handle !== undefined) return;
    await mkdir(dirname(this.#path), { recursive: true });
    this.#handle = await open(this.#path, 'a', 0o640);
    this.#bytes = (await this.#handle.stat()).size;
  }

  async #rotate(): Promise<void> {
    const isOurs = await this.#isStillOurs();
    await this.#close();
    if (isOurs) {
      for (let age = this.#count - 1; age >= 1; age--) {
        await renameIfThere(`${this.#path}.${age}`, `${this.#path}.${age + 1}`);
      }
      await renameIfThere(this.#path, `${this.#path}.1`);
    }
    await this.#open();
  }

  /** False when another program renamed or removed the file: then a new one is opened, no more. */
  async #isStillOurs(): Promise<boolean> {
    const [there, open] = await Promise.all([
      stat(this.#path).catch(() => undefined),
      this.#handle?.stat(),
    ]);
    return there !== undefined && there.ino === open?.ino && there.dev === open.dev;
  }

  async #close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    this.#bytes = 0;
    try {
      await handle?.close();
    } catch {
      // The lines were written; a failing close loses nothing that could be saved here.
    }
  }
}

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
