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
  /** The size at which the file is renamed: `bytesMax`, or later when that was not possible. */
  #fullAt = 0;
  #isUnrotated = false;

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
      await this.#append(lines);
    }
    this.#writing = undefined;
  }

  async #append(lines: readonly string[]): Promise<void> {
    const toTell = this.#lost;
    const queue = toTell > 0 ? [notice('error', 'log.lost', { lines: toTell }), ...lines] : lines;
    let kept = 0;
    try {
      await this.#open();
      let batch = '';
      let batchBytes = 0;
      for (const [i, line] of queue.entries()) {
        const lineBytes = Buffer.byteLength(line);
        const bytes = this.#bytes + batchBytes;
        if (bytes > 0 && bytes + lineBytes > this.#fullAt) {
          await this.#flush(batch, batchBytes);
          kept = i;
          batch = await this.#rotate();
          batchBytes = Buffer.byteLength(batch);
        }
        batch += line;
        batchBytes += lineBytes;
      }
      await this.#flush(batch, batchBytes);
      kept = queue.length;
    } catch {
      // No disk, no rights, no directory: the broker goes on, the next lines try again.
      await this.#close();
    }
    if (kept > 0) this.#lost -= toTell;
    // The line that tells of lost ones is none itself.
    this.#lost += Math.min(queue.length - kept, lines.length);
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
    this.#fullAt = this.#bytesMax;
  }

  /**
   * Begins a new file. Where the old one cannot be renamed it goes on for one more size; the answer
   * is the line that tells so, the first time.
   */
  async #rotate(): Promise<string> {
    try {
      if (await this.#isStillOurs()) await this.#rename();
    } catch (error) {
      this.#fullAt = this.#bytes + this.#bytesMax;
      if (this.#isUnrotated) return '';
      this.#isUnrotated = true;
      const { code } = error as NodeJS.ErrnoException;
      return notice('warning', 'log.unrotated', { file: this.#path, code });
    }
    this.#isUnrotated = false;
    await this.#close();
    await this.#open();
    return '';
  }

  async #rename(): Promise<void> {
    for (let age = this.#count - 1; age >= 1; age--) {
      await renameIfThere(`${this.#path}.${age}`, `${this.#path}.${age + 1}`);
    }
    await renameIfThere(this.#path, `${this.#path}.1`);
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

function notice(level: string, event: string, fields: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify({ level, time: new Date().toISOString(), event, ...fields })}\n`;
}

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
