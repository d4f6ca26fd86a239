// Who writes to a store through its thread (`writer.ts`), in whatever thread that one is. Laws: a
// batch's memory is lent to the thread and comes back with its answer; when the thread has ended,
// whoever waits and whoever comes later is told so. A commit under way keeps the client's own thread
// alive, and nothing else does.

import type { MessagePort } from 'node:worker_threads';
import { invariant } from '#base/assert';
import type { Batch } from '../batch.ts';

/** What goes to the thread, and what comes back. */
export interface CommitOrder {
  readonly memory: ArrayBuffer;
  readonly length: number;
}

export interface Outcome {
  readonly memory: ArrayBuffer;
  /** Undefined: written and flushed. */
  readonly failure: string | undefined;
}

interface Commit {
  readonly batch: Batch;
  readonly promise: Promise<void>;
  resolve(): void;
  reject(error: Error): void;
}

export class WritingClient {
  readonly #port: MessagePort;
  #commit: Commit | undefined;
  #isClosed = false;
  /** Why nothing can be written any more. */
  #death: Error | undefined;

  constructor(port: MessagePort) {
    this.#port = port;
    port.on('message', (outcome: Outcome) => this.#settle(outcome));
    port.unref();
  }

  async commit(batch: Batch): Promise<void> {
    invariant(this.#commit === undefined, 'one commit at a time');
    if (this.#isClosed) throw new Error('Cannot write to the store: it is closed');
    if (this.#death) throw this.#death;
    this.#commit = { batch, ...Promise.withResolvers<void>() };
    this.#port.ref();
    const memory = batch.bytes.buffer as ArrayBuffer;
    this.#port.postMessage({ memory, length: batch.length } satisfies CommitOrder, [memory]);
    return this.#commit.promise;
  }

  /** Waits for the commit under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#commit?.promise.catch(() => {
      // Whoever committed was told.
    });
    this.#port.close();
  }

  /** The thread has ended, or the way there. */
  ended(cause: Error | undefined): void {
    this.#death ??= threadEnded(cause);
    const commit = this.#commit;
    this.#commit = undefined;
    this.#port.unref();
    // Its memory went with the thread.
    commit?.batch.clear();
    commit?.reject(this.#death);
  }

  #settle({ memory, failure }: Outcome): void {
    const commit = this.#commit;
    invariant(commit !== undefined, 'an answer belongs to a commit');
    this.#commit = undefined;
    this.#port.unref();
    commit.batch.bytes = Buffer.from(memory);
    if (failure === undefined) commit.resolve();
    else commit.reject(new Error(failure));
  }
}

/** What everybody is told who can write no more. */
export function threadEnded(cause: Error | undefined): Error {
  const why = cause?.message ?? 'its thread ended';
  return new Error(`Cannot write to the store: ${why}, restart the broker`, { cause });
}
