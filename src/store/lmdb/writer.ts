// The thread that writes. It is told to open the store and who writes, then gets batches from each of
// them and answers each with its memory and how it went. Laws: the answer goes out after the flush; a
// batch that failed left nothing, and no other batch failed with it; what somebody has posted is
// written, also when its thread is over by then.

import { statfsSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import {
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  workerData,
} from 'node:worker_threads';
import { invariant } from '#base/assert';
import { applyBatch } from '../apply-batch.ts';
import { type Environment, openRoot, openTables } from './environment.ts';
import { Room } from './room.ts';
import { WritableTables } from './tables.ts';
import { TransactionGate } from './transaction-gate.ts';
import type { CommitOrder, Outcome } from './writing-client.ts';

export type Order =
  | { readonly kind: 'open'; readonly dir: string }
  | { readonly kind: 'connect'; readonly id: number; readonly port: MessagePort }
  | { readonly kind: 'close' };

/** This one has left, and all that it posted has been answered. */
export interface Notice {
  readonly id: number;
}

/** One who writes waits for its answer before it posts again. */
interface Posted {
  readonly port: MessagePort;
  readonly memory: ArrayBuffer;
  readonly length: number;
}

interface EnvironmentStats {
  readonly lastPageNumber: number;
  readonly pageSize: number;
}

/** Batches are put together into one transaction up to here: nobody waits much longer for another's. */
const togetherBytesMax = 16 * 1024 * 1024;

const owner = parentPort;
invariant(owner !== null, 'writer.ts is the entry of a thread');
const gate = new TransactionGate(workerData as SharedArrayBuffer);

let dir = '';
/** Of the data file, when it was last asked; it never becomes shorter. */
let fileBytes = 0;
let environment: Environment | undefined;
let room: Room | undefined;
const clients = new Map<MessagePort, number>();

owner.on('message', (order: Order) => {
  if (order.kind === 'open') {
    dir = order.dir;
    gate.pass(() => {
      const root = openRoot(dir, 'write');
      environment = root.transactionSync(() => openTables(root));
      room = new Room(dir, environment);
    });
    for (const port of clients.keys()) listen(port);
  } else if (order.kind === 'connect') {
    clients.set(order.port, order.id);
    if (environment !== undefined) listen(order.port);
  } else {
    close();
  }
});

function listen(port: MessagePort): void {
  port.on('message', (order: CommitOrder) => commit(gathered({ port, ...order })));
  // Comes behind what was posted, however its thread ended.
  port.once('close', () => {
    owner?.postMessage({ id: clients.get(port) ?? -1 } satisfies Notice);
    clients.delete(port);
  });
}

/** A batch, and what the others have posted by now. */
function gathered(first: Posted): Posted[] {
  const together = [first];
  let bytes = first.length;
  for (const port of clients.keys()) {
    if (bytes >= togetherBytesMax) break;
    const posted = port === first.port ? undefined : nextOf(port);
    if (posted === undefined) continue;
    together.push(posted);
    bytes += posted.length;
  }
  return together;
}

function nextOf(port: MessagePort): Posted | undefined {
  const received = receiveMessageOnPort(port) as { readonly message: CommitOrder } | undefined;
  return received && { port, ...received.message };
}

function close(): void {
  for (const port of clients.keys()) {
    const posted = environment && nextOf(port);
    if (posted !== undefined) commit([posted]);
    port.close();
  }
  // Ends the thread: nothing else keeps it.
  owner?.close();
  void environment?.root.close();
}

function commit(together: readonly Posted[]): void {
  gate.pass(() => {
    if (together.length > 1 && isWrittenTogether(together)) {
      for (const posted of together) answer(posted, undefined);
    } else {
      for (const posted of together) answer(posted, write(posted));
    }
  });
}

function answer({ port, memory }: Posted, failure: string | undefined): void {
  port.postMessage({ memory, failure } satisfies Outcome, [memory]);
}

/** False: nothing has happened, and each of them has to be tried alone. */
function isWrittenTogether(together: readonly Posted[]): boolean {
  const bytes = together.reduce((sum, { length }) => sum + length, 0);
  try {
    if (room?.isPlentyFor(bytes) !== true) return false;
    apply(together);
    return true;
  } catch {
    // Whose fault it is shows when each is tried alone.
    return false;
  }
}

function write(posted: Posted): string | undefined {
  try {
    room?.demand(Buffer.from(posted.memory), posted.length);
  } catch (error) {
    return (error as Error).message;
  }
  try {
    apply([posted]);
    return undefined;
  } catch (error) {
    return failureOf(error as Error);
  }
}

function apply(together: readonly Posted[]): void {
  invariant(environment !== undefined, 'the store is opened before it is written');
  const target = new WritableTables(environment);
  environment.root.transactionSync(() => {
    for (const { memory, length } of together) applyBatch(Buffer.from(memory), length, target);
  });
  lengthen(environment);
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
