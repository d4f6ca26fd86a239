// `seated-fixture.ts` as a thread of its own, by what it tells, and the records that it writes.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Engine } from '../engine.ts';
import { Table } from '../table.ts';
import type { LmdbEngine, LmdbSeat } from './engine.ts';

export interface SeatData {
  readonly seat: LmdbSeat;
  readonly name: number;
  readonly firstNumber: number;
  /** Zero: who stops stays where it is. */
  readonly halt: SharedArrayBuffer;
}

export const recordsPerBatch = 5;
/** Held once for each batch, whoever wrote it. */
export const bodyKey: Buffer = Buffer.alloc(6, 7);

/** How long a thread may take for anything that a test waits for. */
const deadlineMs = 30_000;

export function keyOfRecord(name: number, number: number, i: number): Buffer {
  const key = Buffer.alloc(6);
  key.writeUInt8(name);
  key.writeUInt32BE(number, 1);
  key.writeUInt8(i, 5);
  return key;
}

export class SeatedThread implements AsyncDisposable {
  readonly told: unknown[] = [];
  readonly #name: number;
  readonly #worker: Worker;
  readonly #left: Promise<void>;
  readonly #exit: Promise<unknown>;
  error: Error | undefined;

  constructor(owner: LmdbEngine, name: number, firstNumber = 0) {
    const { seat, left } = owner.seat();
    const workerData: SeatData = { seat, name, firstNumber, halt: new SharedArrayBuffer(4) };
    this.#name = name;
    this.#left = left;
    this.#worker = new Worker(new URL('seated-fixture.ts', import.meta.url), {
      workerData,
      transferList: [seat.port],
    });
    this.#exit = new Promise((resolve) => this.#worker.once('exit', resolve));
    this.#worker.on('message', (what) => this.told.push(what));
    this.#worker.on('error', (error) => {
      this.error = error as Error;
    });
  }

  /** The number of its last batch that has resolved; -1: of none. */
  get lastNumber(): number {
    return Number(this.told.findLast((what) => typeof what === 'number') ?? -1);
  }

  /** Waits until it has told so much more. */
  async tells(more: number): Promise<void> {
    const signal = AbortSignal.timeout(deadlineMs);
    for (const until = this.told.length + more; this.told.length < until; ) {
      await once(this.#worker, 'message', { signal });
    }
  }

  order(what: 'halt' | 'read' | 'throw' | 'exit' | 'close'): void {
    this.#worker.postMessage(what);
  }

  /** Orders it to stop somewhere, and waits until it has. */
  async stop(where: 'halt' | 'read'): Promise<void> {
    this.order(where);
    while (this.told.at(-1) !== 'stopped') await this.tells(1);
  }

  /** NOTE: only when it has stopped. */
  async terminate(): Promise<void> {
    await this.#worker.terminate();
    await this.#exit;
  }

  async ended(): Promise<void> {
    await this.#exit;
  }

  /** All that it ever posted is written. */
  left(): Promise<void> {
    return this.#left;
  }

  /** Batches of this name in the store: whole ones, none missing in between. */
  batchesIn(engine: Engine): number {
    const found: Buffer[] = [];
    const [from, to] = [keyOfRecord(this.#name, 0, 0), keyOfRecord(this.#name + 1, 0, 0)];
    engine.renew();
    engine.range(Table.queue, from, to, (key, value) => {
      assert.deepEqual(value, Buffer.alloc(200, key.readUInt32BE(1)));
      return found.push(key) > 0;
    });
    assert.equal(found.length % recordsPerBatch, 0, 'a batch is there whole or not at all');
    const batches = found.length / recordsPerBatch;
    const last = found.at(-1);
    if (last !== undefined) assert.equal(last.readUInt32BE(1), batches - 1, 'none is missing');
    return batches;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.told.at(-1) === 'stopped') await this.terminate();
    this.order('close');
    await this.ended();
  }
}

export function holdersIn(engine: Engine): number {
  engine.renew();
  return engine.get(Table.references, bodyKey)?.readUInt32LE(0) ?? 0;
}
