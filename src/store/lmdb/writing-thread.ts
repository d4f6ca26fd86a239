// The main thread's side of `writer.ts`. Laws: a batch's memory is lent to the thread and comes back
// with its answer; when the thread ends before it should, whoever waits and whoever comes later is
// told so. The thread keeps the process alive while it writes, and at no other time.

import { Worker } from 'node:worker_threads';
import { invariant } from '#base/assert';
import type { Batch } from '../batch.ts';
import { TransactionGate } from './transaction-gate.ts';
import type { Order, Outcome } from './writer.ts';

/** How long the end of the process waits for the transaction under way. */
const exitMsMax = 10_000;

interface Commit {
  readonly batch: Batch;
  resolve(): void;
  reject(error: Error): void;
}

export class WritingThread {
  readonly #worker: Worker;
  readonly #gate = new TransactionGate();
  readonly #ended: Promise<void>;
  #commit: Commit | undefined;
  #isClosing = false;
  /** Why nothing can be written any more. */
  #death: Error | undefined;

  /** Starts loading at once; the store may be opened later. */
  constructor(entry: URL = new URL('writer.ts', import.meta.url)) {
    this.#worker = new Worker(entry, { workerData: this.#gate.memory });
    this.#worker.unref();
    process.on('exit', this.#onExit);
    this.#worker.on('message', (outcome: Outcome) => this.#settle(outcome));
    this.#worker.on('error', (error) => this.#die(error as Error));
    this.#ended = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        process.off('exit', this.#onExit);
        this.#die(undefined);
        resolve();
      });
    });
  }

  open(dir: string): void {
    this.#order({ kind: 'open', dir });
  }

  async commit(batch: Batch): Promise<void> {
    invariant(this.#commit === undefined, 'one commit at a time');
    if (this.#isClosing) throw new Error('Cannot write to the store: it is closed');
    if (this.#death) throw this.#death;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#commit = { batch, resolve, reject };
    this.#worker.ref();
    const memory = batch.bytes.buffer as ArrayBuffer;
    this.#order({ kind: 'commit', memory, length: batch.length }, [memory]);
    return promise;
  }

  /** Waits for the commit under way, then ends the thread. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#worker.ref();
    // Behind the commit under way: orders are taken one after another.
    this.#order({ kind: 'close' });
    await this.#ended;
  }

  readonly #onExit = (): void => {
    // Flushed is what has resolved; for the rest this is as good an end as any.
    if (!this.#gate.close(exitMsMax)) process.kill(process.pid, 'SIGKILL');
  };

  #order(order: Order, lent: ArrayBuffer[] = []): void {
    this.#worker.postMessage(order, lent);
  }

  #settle({ memory, failure }: Outcome): void {
    const commit = this.#commit;
    invariant(commit !== undefined, 'an answer belongs to a commit');
    this.#commit = undefined;
    if (!this.#isClosing) this.#worker.unref();
    commit.batch.bytes = Buffer.from(memory);
    if (failure === undefined) commit.resolve();
    else commit.reject(new Error(failure));
  }

  #die(cause: Error | undefined): void {
    const why = cause?.message ?? 'its thread ended';
    this.#death ??= new Error(`Cannot write to the store: ${why}, restart the broker`, { cause });
    const commit = this.#commit;
    this.#commit = undefined;
    // Its memory went with the thread.
    commit?.batch.clear();
    commit?.reject(this.#death);
  }
}
