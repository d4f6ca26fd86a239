// An engine whose disk is slow and forgets what was not flushed: everything is in memory, and a batch
// reaches the file only at the moment that counts as its flush, some time after it was handed over.
// Killing the process is then a power cut: what was acknowledged too early is gone. A batch is one
// record of the file; a record that was cut off did not happen.
//
//   length  checksum  bytes of the batch
//   u32     u32       length

import { closeSync, existsSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { Batch } from '#store/batch';
import type { Engine } from '#store/engine';
import { MemoryEngine } from '#store/memory-engine';
import { Table } from '#store/table';
import type { Random } from '../fuzz/random.ts';

const headBytes = 8;

export class FlushedFileEngine extends MemoryEngine implements Engine {
  readonly #random: Random;
  readonly #file: number;
  #underWay: Promise<void> = Promise.resolve();

  /** Takes up what the last process left in the file. */
  constructor(path: string, random: Random) {
    super();
    this.#random = random;
    if (existsSync(path)) this.#replay(readFileSync(path));
    // Written anew, so that it does not grow from start to start.
    const whole = openSync(`${path}.new`, 'w', 0o600);
    append(whole, this.#everything());
    closeSync(whole);
    renameSync(`${path}.new`, path);
    this.#file = openSync(path, 'a');
  }

  override commit(batch: Batch): Promise<void> {
    this.#underWay = this.#flush(batch);
    return this.#underWay;
  }

  async #flush(batch: Batch): Promise<void> {
    await this.#wait();
    this.applyNow(batch.bytes, batch.length);
    append(this.#file, batch);
    // On disk, and nobody knows yet.
    if (this.#random.chance(30)) await this.#wait();
  }

  /** A disk is quick, slow, or busy with something else. */
  async #wait(): Promise<void> {
    const luck = this.#random.below(100);
    if (luck < 50) await turn();
    else await delay(luck < 90 ? this.#random.below(12) : 40);
  }

  override async close(): Promise<void> {
    await this.#underWay.catch(() => {
      // Whoever committed was told.
    });
    closeSync(this.#file);
  }

  #replay(bytes: Buffer): void {
    for (let at = 0; at + headBytes <= bytes.length; ) {
      const length = bytes.readUInt32LE(at);
      const batch = bytes.subarray(at + headBytes, at + headBytes + length);
      if (batch.length < length || crc32(batch) !== bytes.readUInt32LE(at + 4)) return;
      this.applyNow(batch, length);
      at += headBytes + length;
    }
  }

  #everything(): Batch {
    const all = new Batch();
    for (const table of Object.values(Table)) {
      this.range(table, Buffer.alloc(0), undefined, (key, value) => {
        all.put(table, key, value);
        return true;
      });
    }
    return all;
  }
}

function append(file: number, { bytes, length }: Batch): void {
  const head = Buffer.alloc(headBytes);
  const body = bytes.subarray(0, length);
  head.writeUInt32LE(length, 0);
  head.writeUInt32LE(crc32(body), 4);
  writeSync(file, Buffer.concat([head, body]));
}
