// The engine on LMDB: this thread only reads, in a snapshot that every flushed commit renews; one
// other thread writes. Who has opened the store seats others, threads that read it as well.

import type { MessagePort } from 'node:worker_threads';
import { invariant } from '#base/assert';
import type { Batch } from '../batch.ts';
import type { Engine } from '../engine.ts';
import type { Environment } from './environment.ts';
import { LmdbTables } from './tables.ts';

/** The way to the thread that writes. */
export interface Writing {
  commit(batch: Batch): Promise<void>;
  close(): Promise<void>;
}

/** What another thread of the process needs to join the store: to be sent there, with its port. */
export interface LmdbSeat {
  readonly dir: string;
  readonly port: MessagePort;
  readonly numbers: SharedArrayBuffer;
}

export interface Seating {
  readonly seat: LmdbSeat;
  /**
   * Whoever was seated has closed its engine or is over, and all that it had committed is written or
   * refused: a successor reads what it left. Rejects when nothing can be written any more.
   */
  readonly left: Promise<void>;
}

export interface LmdbEngineParts {
  readonly environment: Environment;
  readonly writing: Writing;
  /** For `numbers.ts`, the same in all threads. */
  readonly numbers: (engine: Engine) => SharedArrayBuffer;
  /** Undefined: it was seated itself. */
  readonly seat: ((numbers: SharedArrayBuffer) => Seating) | undefined;
  readonly onClosed: () => void;
}

export class LmdbEngine extends LmdbTables implements Engine {
  readonly #parts: LmdbEngineParts;
  #numbers: SharedArrayBuffer | undefined;
  #closed: Promise<void> | undefined;

  constructor(parts: LmdbEngineParts) {
    super(parts.environment);
    this.#parts = parts;
  }

  /** Where stores on this engine take their numbers from. NOTE: ask before anybody writes. */
  get numbers(): SharedArrayBuffer {
    this.#numbers ??= this.#parts.numbers(this);
    return this.#numbers;
  }

  /** For one more thread, which is given the seat and calls `joinLmdb`. */
  seat(): Seating {
    const { seat } = this.#parts;
    invariant(seat !== undefined, 'who opened the store seats the others');
    return seat(this.numbers);
  }

  async commit(batch: Batch): Promise<void> {
    await this.#parts.writing.commit(batch);
    // What is read from here on is read in a new snapshot.
    this.renew();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.#parts.writing.close();
    await this.environment.root.close();
    this.#parts.onClosed();
  }
}
