// The thread that writes. It is told to open the store, then gets one batch after another and answers
// each with its memory and how it went. Law: the answer goes out after the flush; a batch that failed
// left nothing.

import { statfsSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '#base/assert';
import { applyBatch } from '../apply-batch.ts';
import { type Environment, openRoot, openTables } from './environment.ts';
import { Room } from './room.ts';
import { WritableTables } from './tables.ts';
import { TransactionGate } from './transaction-gate.ts';

export type Order =
  | { readonly kind: 'open'; readonly dir: string }
  | { readonly kind: 'commit'; readonly memory: ArrayBuffer; readonly length: number }
  | { readonly kind: 'close' };

export interface Outcome {
  readonly memory: ArrayBuffer;
  /** Undefined: written and flushed. */
  readonly failure: string | undefined;
}

interface EnvironmentStats {
  readonly lastPageNumber: number;
  readonly pageSize: number;
}

const port = parentPort;
invariant(port !== null, 'writer.ts is the entry of a thread');
const gate = new TransactionGate(workerData as SharedArrayBuffer);

let dir = '';
/** Of the data file, when it was last asked; it never becomes shorter. */
let fileBytes = 0;
let environment: Environment | undefined;
let room: Room | undefined;

port.on('message', (order: Order) => {
  if (order.kind === 'open') {
    dir = order.dir;
    gate.pass(() => {
      const root = openRoot(dir, 'write');
      environment = root.transactionSync(() => openTables(root));
      room = new Room(dir, environment);
    });
  } else if (order.kind === 'commit') {
    gate.pass(() => commit(order.memory, order.length));
  } else {
    // Ends the thread: nothing else keeps it.
    port.close();
    void environment?.root.close();
  }
});

function commit(memory: ArrayBuffer, length: number): void {
  const failure = write(Buffer.from(memory), length);
  port?.postMessage({ memory, failure } satisfies Outcome, [memory]);
}

function write(bytes: Buffer, length: number): string | undefined {
  invariant(environment !== undefined, 'the store is opened before it is written');
  const target = new WritableTables(environment);
  try {
    room?.demand(bytes, length);
  } catch (error) {
    return (error as Error).message;
  }
  try {
    environment.root.transactionSync(() => applyBatch(bytes, length, target));
  } catch (error) {
    return failureOf(error as Error);
  }
  lengthen(environment);
  return undefined;
}

/**
 * LMDB leaves out pages that a transaction took and gave back, also at the end of the file. It is
 * made as long as it says it is, so that the next start need not read everything to tell such a file
 * from one that lost its end.
 */
function lengthen({ root }: Environment): void {
  try {
    const { lastPageNumber, pageSize } = root.getStats() as EnvironmentStats;
    // Pages that a snapshot sees cannot be used again.
    root.resetReadTxn();
    const bytes = (lastPageNumber + 1) * pageSize;
    if (bytes <= fileBytes) return;
    const file = join(dir, 'data.mdb');
    fileBytes = statSync(file).size;
    if (fileBytes < bytes) truncateSync(file, bytes);
  } catch {
    // The commit has happened. A start with a short file is slower, and no more.
  }
}

/** LMDB says "Input/output error" to a full disk as to a broken one. */
function failureOf(error: Error): string {
  if (error instanceof RangeError) return error.message;
  const advice = isGivenUp() ? '; LMDB has given it up, restart the broker' : '';
  return `Cannot write to the store "${dir}": ${error.message}, ${freeBytes()} bytes are free there${advice}`;
}

/** After a failure in a meta page LMDB refuses everything until the environment is opened anew. */
function isGivenUp(): boolean {
  try {
    environment?.root.resetReadTxn();
    environment?.tables[0]?.doesExist(Buffer.from('any'));
    return false;
  } catch {
    return true;
  }
}

function freeBytes(): number | string {
  try {
    const { bavail, bsize } = statfsSync(dir);
    return bavail * bsize;
  } catch {
    // The disk that just failed may fail here as well.
    return 'an unknown number of';
  }
}
