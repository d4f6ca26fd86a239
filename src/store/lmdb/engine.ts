// The engine on LMDB: this thread only reads, in a snapshot that every flushed commit renews; one
// other thread writes.

import type { Batch } from '../batch.ts';
import type { Engine } from '../engine.ts';
import type { Environment } from './environment.ts';
import { LmdbTables } from './tables.ts';
import type { WritingThread } from './writing-thread.ts';

export class LmdbEngine extends LmdbTables implements Engine {
  readonly #writing: WritingThread;
  readonly #onClosed: () => void;
  #closed: Promise<void> | undefined;

  constructor(environment: Environment, writing: WritingThread, onClosed: () => void) {
    super(environment);
    this.#writing = writing;
    this.#onClosed = onClosed;
  }

  async commit(batch: Batch): Promise<void> {
    await this.#writing.commit(batch);
    // What is read from here on is read in a new snapshot.
    this.environment.root.resetReadTxn();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.#writing.close();
    await this.environment.root.close();
    this.#onClosed();
  }
}
