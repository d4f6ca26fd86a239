// The owner's side of `writer.ts`: starts the thread, connects those who write through it, is the
// first of them itself, and ends it. Laws: the thread keeps the process alive while it writes for
// this one, and at no other time; the process does not end inside of a transaction.

import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { invariant } from '#base/assert';
import type { Batch } from '../batch.ts';
import { TransactionGate } from './transaction-gate.ts';
import type { Notice, Order } from './writer.ts';
import { threadEnded, WritingClient } from './writing-client.ts';

/** How long the end of the process waits for the transaction under way. */
const exitMsMax = 10_000;

export interface Connection {
  /** For a `WritingClient` in any thread. */
  readonly port: MessagePort;
  /**
   * The client has closed its port, or its thread is over, and all that it ever posted has been
   * written or refused. Rejects when nothing can be written any more.
   */
  readonly left: Promise<void>;
}

interface Leaving {
  readonly promise: Promise<void>;
  resolve(): void;
  reject(error: Error): void;
}

export class WritingThread {
  readonly #worker: Worker;
  readonly #gate = new TransactionGate();
  readonly #own: WritingClient;
  readonly #ended: Promise<void>;
  readonly #leaving = new Map<number, Leaving>();
  #connections = 0;
  #isOver = false;

  /** Starts loading at once; the store may be opened later. */
  constructor(entry: URL = new URL('writer.ts', import.meta.url)) {
    this.#worker = new Worker(entry, { workerData: this.#gate.memory });
    process.on('exit', this.#onExit);
    this.#worker.on('message', (notice: Notice) => this.#leaves(notice.id));
    // NOTE: behind the listener, which refers to it again.
    this.#worker.unref();
    this.#worker.on('error', (error) => this.#die(error as Error));
    this.#ended = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        process.off('exit', this.#onExit);
        this.#die(undefined);
        resolve();
      });
    });
    this.#own = new WritingClient(this.connect().port);
  }

  open(dir: string): void {
    this.#order({ kind: 'open', dir });
  }

  commit(batch: Batch): Promise<void> {
    return this.#own.commit(batch);
  }

  /** One more who writes. What it posts is taken when the store is open. */
  connect(): Connection {
    const { port1, port2 } = new MessageChannel();
    const id = this.#connections++;
    const leaving: Leaving = Promise.withResolvers<void>();
    // Nobody need wait for it.
    leaving.promise.catch(() => {});
    this.#leaving.set(id, leaving);
    this.#order({ kind: 'connect', id, port: port2 }, [port2]);
    if (this.#isOver) this.#die(undefined);
    return { port: port1, left: leaving.promise };
  }

  /** Writes what everybody has posted, then ends the thread. */
  async close(): Promise<void> {
    await this.#own.close();
    this.#worker.ref();
    this.#order({ kind: 'close' });
    await this.#ended;
  }

  readonly #onExit = (): void => {
    // Flushed is what has resolved; for the rest this is as good an end as any.
    if (!this.#gate.close(exitMsMax)) process.kill(process.pid, 'SIGKILL');
  };

  #order(order: Order, given: MessagePort[] = []): void {
    this.#worker.postMessage(order, given);
  }

  #leaves(id: number): void {
    const leaving = this.#leaving.get(id);
    invariant(leaving !== undefined, 'who leaves was connected');
    this.#leaving.delete(id);
    leaving.resolve();
  }

  #die(cause: Error | undefined): void {
    this.#isOver = true;
    this.#own.ended(cause);
    for (const leaving of this.#leaving.values()) leaving.reject(threadEnded(cause));
    this.#leaving.clear();
  }
}
