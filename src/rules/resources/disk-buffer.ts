// Events that wait on disk for one resource. Laws: what `append` resolves for reaches the resource at least
// once, also over restarts; events are handed on in their order, a bounded number at a time; one that the
// resource refuses for good is told in the log and gone.

import { deserialize, serialize } from 'node:v8';
import type { Clock } from '#base/clock';
import { describeError } from '#base/errors';
import type { Logger } from '#base/log';
import { DiskQueue } from '#store/disk-queue';
import type { ResourceJob } from './job.ts';

export type BufferedJob = Pick<ResourceJob, 'action' | 'job' | 'bytes'>;

export interface DiskBufferParts {
  readonly dir: string;
  readonly bytesMax: number;
  /** New events come here. */
  readonly isTaking: boolean;
  /** Of the resource. */
  readonly id: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** The folder is somebody else's until then. */
  readonly after: Promise<void> | undefined;
}

/** After the disk has failed. */
const pauseMs = 5000;
const segmentBytes = 8 * 2 ** 20;
/** Handed on at a time. */
const batchItems = 512;
const batchBytes = 4 * 2 ** 20;

export class DiskBuffer {
  readonly #parts: DiskBufferParts;
  #queue: Promise<DiskQueue>;
  #isOpen = false;
  #draining: Promise<void> = Promise.resolve();
  #wake: (() => void) | undefined;
  #isClosed = false;

  constructor(parts: DiskBufferParts) {
    this.#parts = parts;
    this.#queue = this.#open();
  }

  get isTaking(): boolean {
    return this.#parts.isTaking;
  }

  /** Resolves when it is safe. */
  async append(job: BufferedJob): Promise<void> {
    const queue = await this.#queue;
    await queue.append(serialize(job));
    this.#wake?.();
  }

  /** Hands on what there is and what comes. */
  drain(perform: (job: BufferedJob) => Promise<void>): void {
    this.#draining = this.#keepDraining(perform);
  }

  /** What is on disk stays there. Queues that it was handed to have to be closed, too. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wake?.();
    await this.#draining;
    const queue = await this.#queue.catch(() => undefined);
    await queue?.[Symbol.asyncDispose]();
  }

  #open(): Promise<DiskQueue> {
    const queue = this.#opened();
    // Whoever appends or drains hears of it.
    queue.catch(() => undefined);
    return queue;
  }

  async #opened(): Promise<DiskQueue> {
    const { dir, bytesMax, after, id, log } = this.#parts;
    await after;
    const onSkipped = (file: string, bytes: number): void => {
      log.warn('resource.buffer_damaged', { resource: id, file, bytes });
    };
    const queue = await DiskQueue.open({ dir, segmentBytes, bytesMax, onSkipped });
    this.#isOpen = true;
    return queue;
  }

  /** A disk that fails may work again: until then events wait there. */
  async #keepDraining(perform: (job: BufferedJob) => Promise<void>): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#drain(perform);
      } catch (error) {
        this.#failed(error);
        const timer = this.#parts.clock.setTimer(pauseMs, () => this.#wake?.());
        await this.#more();
        timer.cancel();
        if (!this.#isOpen && !this.#isClosed) this.#queue = this.#open();
      }
    }
  }

  async #drain(perform: (job: BufferedJob) => Promise<void>): Promise<void> {
    const queue = await this.#queue;
    while (!this.#isClosed) {
      const batch = await queue.next(batchItems, batchBytes);
      if (batch === undefined) {
        // Something may have come while we looked.
        if (queue.isEmpty) await this.#more();
        continue;
      }
      const outcomes = await Promise.allSettled(
        // One that cannot be read is refused as any other: it would stop all behind it for ever.
        batch.items.map(async (item) => perform(deserialize(item) as BufferedJob)),
      );
      // Whatever failed did so because it was closed, perhaps: it is given again.
      if (this.#isClosed) return;
      const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
      const [first] = refused;
      if (first !== undefined) {
        const error = describeError(first.reason);
        const { id: resource, log } = this.#parts;
        log.warn('resource.refused', { resource, events: refused.length, error });
      }
      await batch.ack();
    }
  }

  async #more(): Promise<void> {
    if (this.#isClosed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    await promise;
    this.#wake = undefined;
  }

  #failed(error: unknown): void {
    const { id: resource, log } = this.#parts;
    log.error('resource.buffer_failed', { resource, error: describeError(error) });
  }
}
