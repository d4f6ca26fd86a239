// A queue on disk, for what has to reach somebody who is away: files of records that are only appended to, and
// a mark of what has been done. Laws: what `append` has resolved for survives a crash; an item is given again
// until it is acknowledged, in order; a file that a crash left half-written loses its broken end alone.
//
//     0000000007.replaylog   0000000008.replaylog   0000000009.replaylog      COMMIT: 7 2
//     [a b|c d]  head         [e f g h]  on disk     [i j …]  tail, appended to
//          ^ next to be given: c. Head and tail are in memory, those between them are not.
//
// A record: version (1 byte, 0), CRC-32 (4, big endian) and length (4) of the item, the item.

import { type FileHandle, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';

export interface DiskQueueOptions {
  readonly dir: string;
  /** A file that has so many is followed by another one. */
  readonly segmentBytes: number;
  /** Of all that is not acknowledged; more is refused. */
  readonly bytesMax: number;
  /** Bytes at the end of a file that cannot be read. */
  readonly onSkipped: (file: string, bytes: number) => void;
}

export interface DiskBatch {
  readonly items: readonly Buffer[];
  /** They will not be given again. */
  ack(): Promise<void>;
}

interface Segment {
  readonly no: number;
  /** Undefined: on disk alone. */
  items: Buffer[] | undefined;
  bytes: number;
}

interface Waiting {
  readonly item: Buffer;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

const headerBytes = 9;
const commitFile = 'COMMIT';

export class DiskQueue implements AsyncDisposable {
  readonly #options: DiskQueueOptions;
  /** The last is the tail. */
  readonly #segments: Segment[] = [];
  /** Items of the first segment that have been acknowledged. */
  #acked = 0;
  #bytes = 0;
  #file: FileHandle | undefined;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #writing: Promise<void> | undefined;
  #isClosed = false;
  /** Whose broken end was told last. */
  #lastSkipped = 0;

  static async open(options: DiskQueueOptions): Promise<DiskQueue> {
    const queue = new DiskQueue(options);
    await queue.#read();
    return queue;
  }

  private constructor(options: DiskQueueOptions) {
    this.#options = options;
  }

  /** Of what is not acknowledged, with what is being written. */
  get bytes(): number {
    return this.#bytes + this.#waitingBytes;
  }

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  /** Resolves when it is safe; those of one moment are written together. */
  append(item: Buffer): Promise<void> {
    if (this.#isClosed) return Promise.reject(new Error('Cannot append: the queue is closed'));
    // No record is like zeros, which a power cut leaves behind.
    if (item.length === 0) return Promise.reject(new Error('Cannot append: the item is empty'));
    const { bytesMax } = this.#options;
    if (this.bytes + item.length + headerBytes > bytesMax) {
      return Promise.reject(new Error(`Cannot append: ${bytesMax} bytes are the limit`));
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ item, resolve, reject });
    this.#waitingBytes += item.length + headerBytes;
    this.#writing ??= this.#write();
    return promise;
  }

  /** The next ones, the same until they are acknowledged; undefined: there are none. */
  async next(itemsMax: number, bytesMax: number): Promise<DiskBatch | undefined> {
    const head = await this.#head();
    if (head === undefined) return undefined;
    const items: Buffer[] = [];
    let bytes = 0;
    for (const item of (head.items ?? []).slice(this.#acked, this.#acked + itemsMax)) {
      bytes += item.length;
      if (items.length > 0 && bytes > bytesMax) break;
      items.push(item);
    }
    return { items, ack: () => this.#ack(head, items) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#writing;
    await this.#file?.close();
    this.#file = undefined;
  }

  async #ack(head: Segment, items: readonly Buffer[]): Promise<void> {
    if (this.#segments[0] !== head) throw new TypeError('Cannot acknowledge a batch twice');
    this.#acked += items.length;
    for (const { length } of items) this.#bytes -= length + headerBytes;
    const isDone = this.#acked >= (head.items?.length ?? 0);
    if (isDone && this.#segments.length > 1) await this.#drop(head);
    else await this.#commit();
  }

  /** A full disk takes no mark, and has no room before files go; without it some are given again at most. */
  async #drop(head: Segment): Promise<void> {
    this.#segments.shift();
    this.#acked = 0;
    try {
      await this.#commit();
    } finally {
      await rm(this.#path(head.no), { force: true });
    }
  }

  /** Where there is something to give, read; files of which nothing can be read any more are passed over. */
  async #head(): Promise<Segment | undefined> {
    for (;;) {
      const [head] = this.#segments;
      if (head === undefined || this.isEmpty) return undefined;
      head.items ??= await this.#readAgain(head);
      if (head.items.length > this.#acked || this.#segments.length === 1) return head;
      await this.#drop(head);
    }
  }

  /** What it has lost since it was written is not waited for. */
  async #readAgain(segment: Segment): Promise<Buffer[]> {
    const { items, bytes } = await this.#readSegment(segment.no).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
        return { items: [], bytes: 0 };
      },
    );
    const lost = segment.bytes - bytes;
    if (lost > 0 && this.#lastSkipped !== segment.no) {
      this.#options.onSkipped(this.#path(segment.no), lost);
    }
    this.#bytes -= lost;
    segment.bytes = bytes;
    return items;
  }

  /** Whole or not at all; what it says of files that are gone means nothing. */
  async #commit(): Promise<void> {
    const no = this.#segments[0]?.no ?? 0;
    const path = join(this.#options.dir, commitFile);
    await using file = await open(`${path}.new`, 'w', 0o600);
    await file.writeFile(`${no} ${this.#acked}\n`);
    await rename(`${path}.new`, path);
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#writeBatch(batch.map(({ item }) => item));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error as Error);
      } finally {
        for (const { item } of batch) this.#waitingBytes -= item.length + headerBytes;
      }
    }
    this.#writing = undefined;
  }

  async #writeBatch(items: readonly Buffer[]): Promise<void> {
    const tail = await this.#tail();
    const file = this.#file as FileHandle;
    const bytes = Buffer.concat(items.flatMap((item) => [headerOf(item), item]));
    try {
      await writeWhole(file, bytes, tail.bytes);
      await file.datasync();
    } catch (error) {
      // What was half-written is written over by the next, or cut off when it is read.
      await file.truncate(tail.bytes).catch(() => undefined);
      throw error;
    }
    for (const item of items) tail.items?.push(item);
    tail.bytes += bytes.length;
    this.#bytes += bytes.length;
  }

  /** Where the next items go. */
  async #tail(): Promise<Segment> {
    const last = this.#segments.at(-1);
    if (last !== undefined && this.#file !== undefined && last.bytes < this.#options.segmentBytes) {
      return last;
    }
    await this.#file?.close();
    this.#file = undefined;
    if (last !== undefined && this.#segments.length > 1) last.items = undefined;
    return this.#begin((last?.no ?? 0) + 1);
  }

  async #read(): Promise<void> {
    const { dir } = this.#options;
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const names = (await readdir(dir)).filter((name) => /^\d{10}\.replaylog$/.test(name)).sort();
    const last = Math.max(0, ...names.map((name) => Number.parseInt(name, 10)));
    const [first, acked] = await this.#readCommit(last);
    for (const name of names) {
      const no = Number.parseInt(name, 10);
      const { items, bytes } = await this.#readSegment(no);
      const done = no === first ? Math.min(acked, items.length) : no < first ? items.length : 0;
      if (done === items.length) {
        await rm(this.#path(no));
        continue;
      }
      if (this.#segments.length === 0) this.#acked = done;
      for (const { length } of items.slice(done)) this.#bytes += length + headerBytes;
      const isHead = this.#segments.length === 0;
      this.#segments.push({ no, items: isHead ? items : undefined, bytes });
    }
    if (this.#segments.length > 0) return;
    // Numbers are not used twice: an old mark would speak of a new file.
    if (last > 0) await this.#begin(last + 1);
  }

  async #begin(no: number): Promise<Segment> {
    this.#file = await open(this.#path(no), 'w', 0o600);
    // Its name has to survive, too.
    await using dir = await open(this.#options.dir, 'r');
    await dir.sync();
    const segment: Segment = { no, items: [], bytes: 0 };
    this.#segments.push(segment);
    return segment;
  }

  /** One that speaks of a file that never was is none. */
  async #readCommit(last: number): Promise<readonly [number, number]> {
    const text = await readFile(join(this.#options.dir, commitFile), 'utf8').catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return '0 0\n';
        throw error;
      },
    );
    const [, no, acked] = /^(\d+) (\d+)\n$/.exec(text) ?? [];
    return Number(no) <= last ? [Number(no), Number(acked)] : [0, 0];
  }

  async #readSegment(no: number): Promise<{ readonly items: Buffer[]; readonly bytes: number }> {
    const path = this.#path(no);
    const content = await readFile(path);
    const items: Buffer[] = [];
    let at = 0;
    for (let item = itemAt(content, at); item !== undefined; item = itemAt(content, at)) {
      items.push(item);
      at += headerBytes + item.length;
    }
    if (at < content.length) {
      this.#options.onSkipped(path, content.length - at);
      this.#lastSkipped = no;
    }
    return { items, bytes: at };
  }

  #path(no: number): string {
    return join(this.#options.dir, `${String(no).padStart(10, '0')}.replaylog`);
  }
}

/** A disk that is nearly full takes a part and says so; it throws when it is asked to take the rest. */
async function writeWhole(file: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done);
    if (bytesWritten === 0) throw new Error('Cannot write: the disk takes nothing more');
    done += bytesWritten;
  }
}

function headerOf(item: Buffer): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt32BE(crc32(item), 1);
  header.writeUInt32BE(item.length, 5);
  return header;
}

/** Undefined: there is none that is whole. */
function itemAt(content: Buffer, at: number): Buffer | undefined {
  if (content.length < at + headerBytes || content[at] !== 0) return undefined;
  const start = at + headerBytes;
  const end = start + content.readUInt32BE(at + 5);
  if (end === start || end > content.length) return undefined;
  const item = content.subarray(start, end);
  return crc32(item) === content.readUInt32BE(at + 1) ? item : undefined;
}
