// One engine for several stores in one thread. Each has a lane, on which it commits as if it were
// alone. Laws: the engine gets one commit at a time, in the order in which they were asked for; a
// commit that fails is its lane's affair; the engine is closed with the last lane.

import { invariant } from '#base/assert';
import type { Batch } from './batch.ts';
import type { Engine } from './engine.ts';
import { ForwardingEngine } from './forwarding-engine.ts';

export class SharedEngine {
  readonly #engine: Engine;
  readonly #lanes = new Set<Lane>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  lane(): Engine {
    const lane = new Lane(
      this.#engine,
      (batch) => this.#commit(batch),
      () => this.#closed(lane),
    );
    this.#lanes.add(lane);
    return lane;
  }

  #commit(batch: Batch): Promise<void> {
    const commit = this.#last.then(() => this.#engine.commit(batch));
    this.#last = commit.catch(() => {
      // Whoever committed was told.
    });
    return commit;
  }

  async #closed(lane: Lane): Promise<void> {
    this.#lanes.delete(lane);
    if (this.#lanes.size === 0) await this.#engine.close();
  }
}

class Lane extends ForwardingEngine {
  readonly #write: (batch: Batch) => Promise<void>;
  readonly #onClosed: () => Promise<void>;
  #commit: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(
    engine: Engine,
    write: (batch: Batch) => Promise<void>,
    onClosed: () => Promise<void>,
  ) {
    super(engine);
    this.#write = write;
    this.#onClosed = onClosed;
  }

  override async commit(batch: Batch): Promise<void> {
    invariant(this.#commit === undefined, 'one commit at a time');
    if (this.#closed !== undefined) throw new Error('Cannot write to the store: it is closed');
    this.#commit = this.#write(batch);
    try {
      await this.#commit;
    } finally {
      this.#commit = undefined;
    }
  }

  /** Waits for the commit under way on this lane. */
  override close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.#commit?.catch(() => {
      // Whoever committed was told.
    });
    await this.#onClosed();
  }
}
