// What one action of a rule has to be done by a resource, in a line. Laws: the line is bounded in jobs and in
// bytes, and one more is refused at once; every job ends once, done or failed; one that failed for a while
// is tried again, later each time, before those behind it; a batch that fails for good is tried one by one,
// so that nobody fails for his neighbour.

import type { Clock, ClockTimer } from '#base/clock';
import { Deque } from '#base/deque';
import type { QueueLimits } from './queue-params.ts';
import { JobFault, type Resource } from './resource-type.ts';

export interface QueueParts {
  readonly resource: Resource;
  readonly limits: QueueLimits;
  readonly clock: Clock;
  /** Room for one more batch of the resource; answers false where there is none, and is pumped later. */
  readonly takeSlot: () => boolean;
  readonly freeSlot: () => void;
}

interface Waiting {
  readonly job: unknown;
  readonly bytes: number;
  readonly sinceMs: number;
  isAlone: boolean;
  /** Since when it has failed though somebody was there. */
  failingSinceMs: number | undefined;
  readonly done: () => void;
  readonly failed: (error: Error) => void;
}

const firstPauseMs = 100;
const pauseMsMax = 5000;

export class ActionQueue {
  readonly #parts: QueueParts;
  readonly #line = new Deque<Waiting>();
  #jobs = 0;
  #bytes = 0;
  #failures = 0;
  #pause: ClockTimer | undefined;
  #closed: Error | undefined;

  constructor(parts: QueueParts) {
    this.#parts = parts;
  }

  /** Nothing waits and nothing is under way. */
  get isIdle(): boolean {
    return this.#jobs === 0;
  }

  /** Rejects when it is refused or has failed. */
  offer(job: unknown, bytes: number): Promise<void> {
    const { limits, clock } = this.#parts;
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    if (this.#jobs >= limits.jobsMax) return Promise.reject(full(`${limits.jobsMax} events`));
    if (this.#bytes + bytes > limits.bytesMax) {
      return Promise.reject(full(`${limits.bytesMax} bytes`));
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#jobs++;
    this.#bytes += bytes;
    const sinceMs = clock.monotonicMs();
    this.#line.push({
      job,
      bytes,
      sinceMs,
      isAlone: false,
      failingSinceMs: undefined,
      done: resolve,
      failed: reject,
    });
    this.pump();
    return promise;
  }

  /** Sends what may be sent. */
  pump(): void {
    while (this.#line.length > 0 && this.#pause === undefined && this.#closed === undefined) {
      if (!this.#parts.takeSlot()) return;
      void this.#perform(this.#nextBatch());
    }
  }

  /** Whatever is not done yet fails. */
  close(reason: Error): void {
    this.#closed = reason;
    this.#pause?.cancel();
    this.#pause = undefined;
    for (let one = this.#line.shift(); one !== undefined; one = this.#line.shift()) {
      this.#over(one, reason);
    }
  }

  #nextBatch(): Waiting[] {
    const batch: Waiting[] = [];
    const { batchMax } = this.#parts.resource;
    while (batch.length < batchMax) {
      const next = this.#line.peek();
      if (next === undefined || (next.isAlone && batch.length > 0)) break;
      batch.push(next);
      this.#line.shift();
      if (next.isAlone) break;
    }
    return batch;
  }

  async #perform(batch: readonly Waiting[]): Promise<void> {
    try {
      await this.#parts.resource.perform(batch.map(({ job }) => job));
      this.#failures = 0;
      for (const one of batch) this.#over(one);
    } catch (error) {
      this.#onFault(batch, error instanceof Error ? error : new Error(String(error)));
    } finally {
      this.#parts.freeSlot();
    }
  }

  #onFault(batch: readonly Waiting[], error: Error): void {
    const { limits, clock } = this.#parts;
    if (this.#closed !== undefined) {
      for (const one of batch) this.#over(one, this.#closed);
      return;
    }
    if (error instanceof JobFault && error.isPassing) {
      const now = clock.monotonicMs();
      const isLate = (one: Waiting): boolean => {
        if (error.isAway) return now >= one.sinceMs + limits.awayMs;
        one.failingSinceMs ??= now;
        return now >= one.failingSinceMs + limits.retryMs;
      };
      const late = new Set(batch.filter(isLate));
      for (const one of late) this.#over(one, error);
      this.#putBack(batch.filter((one) => !late.has(one)));
      this.#rest();
      return;
    }
    if (batch.length > 1) {
      for (const one of batch) one.isAlone = true;
      this.#putBack(batch);
      return;
    }
    for (const one of batch) this.#over(one, error);
  }

  #putBack(batch: readonly Waiting[]): void {
    for (const one of batch.toReversed()) this.#line.unshift(one);
  }

  #rest(): void {
    if (this.#pause !== undefined) return;
    const pauseMs = Math.min(firstPauseMs * 2 ** this.#failures, pauseMsMax);
    this.#failures = Math.min(this.#failures + 1, 16);
    this.#pause = this.#parts.clock.setTimer(pauseMs, () => {
      this.#pause = undefined;
      this.pump();
    });
  }

  #over({ bytes, done, failed }: Waiting, error?: Error): void {
    this.#jobs--;
    this.#bytes -= bytes;
    if (error === undefined) done();
    else failed(error);
  }
}

function full(limit: string): JobFault {
  return new JobFault(`Cannot queue the event: ${limit} wait already`, false);
}
