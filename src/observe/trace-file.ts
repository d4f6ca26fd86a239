// The file of a trace. Laws: it lies in the directory of the log and nowhere else, whatever its name
// says and whatever links lie there; it is a new file or one that a trace began, never another's; it
// ends at its size; lines gather in bounded memory while the disk is slow, what is more is counted,
// and the number told in the file.

import { constants } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { describeError } from '#base/errors';

/** Every trace file begins with it: by that a file is known to be one. */
const head = '# trace of ';
const nameCharsMax = 128;
const pendingCharsMax = 4 * 1024 * 1024;
/** Room for the last words. */
const reservedBytes = 1024;

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } = constants;

/** What is wrong with the name of a trace file. */
export function traceNameFault(name: string): string | undefined {
  if (name.length > nameCharsMax) {
    return `${name.length} characters, at most ${nameCharsMax} are allowed`;
  }
  // No separator, nothing hidden, no way up, nothing that a shell or a header would take for its own.
  if (/^[A-Za-z0-9_][\w.@+=,-]*$/.test(name)) return undefined;
  return 'a name of letters, digits and ._@+=,- is wanted, which begins with a letter, a digit or _';
}

export interface TraceFileOptions {
  readonly dir: string;
  readonly name: string;
  readonly bytesMax: number;
  /** It has reached its size. Called once. */
  readonly onFull: () => void;
  /** `lines` could not be written. */
  readonly onFault: (error: string) => void;
}

export class TraceFile implements AsyncDisposable {
  readonly #handle: FileHandle;
  readonly #options: TraceFileOptions;
  #bytes: number;
  #pending: string[] = [];
  #pendingChars = 0;
  #lost = 0;
  #writing: Promise<void> | undefined;
  #isFull = false;

  constructor(handle: FileHandle, options: TraceFileOptions, bytes: number) {
    this.#handle = handle;
    this.#options = options;
    this.#bytes = bytes;
  }

  /** `subject`: what is traced, for the first line. */
  static async open(options: TraceFileOptions, subject: string): Promise<TraceFile> {
    const { dir, name, bytesMax } = options;
    const fault = traceNameFault(name);
    if (fault !== undefined) throw new RangeError(`Cannot write to "${name}": ${fault}`);
    await mkdir(dir, { recursive: true });
    const flags = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
    const handle = await open(join(dir, name), flags, 0o640);
    try {
      const bytes = await bytesOfTrace(handle, name);
      if (bytes + 2 * reservedBytes > bytesMax) {
        throw new RangeError(`Cannot write to "${name}": it has ${bytes} of ${bytesMax} bytes`);
      }
      const file = new TraceFile(handle, options, bytes);
      file.write(`${head}${subject}`);
      return file;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Of the file with what waits for the disk. */
  get bytes(): number {
    return this.#bytes;
  }

  /** One line without its end. */
  write(line: string): void {
    if (this.#isFull) return;
    const bytes = Buffer.byteLength(line) + 1;
    if (this.#bytes + bytes + reservedBytes > this.#options.bytesMax) {
      this.#isFull = true;
      this.#options.onFull();
    } else if (this.#pendingChars + line.length > pendingCharsMax) {
      this.#lost++;
    } else {
      this.#put(line, bytes);
    }
  }

  /** Also when it is full. */
  writeLast(line: string): void {
    this.#isFull = true;
    this.#put(line, Buffer.byteLength(line) + 1);
  }

  #put(line: string, bytes: number): void {
    this.#bytes += bytes;
    this.#pending.push(line);
    this.#pendingChars += line.length;
    this.#writing ??= this.#drain();
  }

  /** Resolves when everything so far was written or lost. */
  async settled(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  async #drain(): Promise<void> {
    // The lines of this loop turn go together.
    await new Promise(setImmediate);
    while (this.#pending.length > 0) {
      const lines = this.#pending;
      const lost = this.#lost;
      const notice = lost > 0 ? [`# ${lost} lines lost: the disk did not take them`] : [];
      this.#pending = [];
      this.#pendingChars = 0;
      try {
        await this.#handle.appendFile(`${[...notice, ...lines].join('\n')}\n`);
        this.#lost -= lost;
      } catch (error) {
        this.#lost += lines.length;
        this.#options.onFault(describeError(error));
      }
    }
    this.#writing = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.settled();
    await this.#handle.close();
  }
}

/** Rejects where `readTrace` would, before anybody is promised a file. */
export async function checkTrace(dir: string, name: string): Promise<void> {
  await using handle = await openTrace(dir, name);
  await bytesOfTrace(handle, name);
}

/** What a trace has written so far, as it is now: it may grow meanwhile. */
export async function* readTrace(dir: string, name: string): AsyncGenerator<Buffer> {
  await using handle = await openTrace(dir, name);
  const bytes = await bytesOfTrace(handle, name);
  const buffer = Buffer.allocUnsafe(64 * 1024);
  for (let at = 0; at < bytes; ) {
    const length = Math.min(buffer.length, bytes - at);
    const { bytesRead } = await handle.read(buffer, 0, length, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield Buffer.from(buffer.subarray(0, bytesRead));
  }
}

async function openTrace(dir: string, name: string): Promise<FileHandle> {
  const fault = traceNameFault(name);
  if (fault !== undefined) throw new RangeError(`Cannot read "${name}": ${fault}`);
  return open(join(dir, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

/** How long it is. Throws for anything but a new file and one that a trace began. */
async function bytesOfTrace(handle: FileHandle, name: string): Promise<number> {
  const stat = await handle.stat();
  const other = `Cannot use "${name}": it exists and is not the file of a trace`;
  if (!stat.isFile() || stat.nlink !== 1) throw new RangeError(other);
  if (stat.size === 0) return 0;
  const { buffer } = await handle.read(Buffer.alloc(head.length), 0, head.length, 0);
  if (buffer.toString('latin1') !== head) throw new RangeError(other);
  return stat.size;
}
