// Asks all threads that carry plugins: the workers, and the control thread, which in a node of one thread is
// the same. The threads that write to disk or connect to other systems are not among them.

import { setTimeout as wait } from 'node:timers/promises';
import { type ControlContext, type ControlPart, OperatingError } from '#sdk';
import type { Allocations } from './allocations.ts';
import type { Collected } from './collect.ts';
import type { HeapReading, Peak } from './heap-watch.ts';
import type { Pulse } from './pulse.ts';
import { answersOf, type OfThread, type ThreadAnswers } from './thread-answers.ts';

export type ByThread<T> = readonly (readonly [thread: string, found: T])[];

/** What one second brought. */
export interface NodeSample {
  readonly connections: number;
  readonly messagesReceived: number;
  readonly messagesSent: number;
  readonly bytesReceived: number;
  readonly bytesSent: number;
  readonly memoryBytes: number;
  readonly threads: ByThread<Pulse>;
}

const sampleMs = 1000;

export class Recon {
  readonly #context: ControlContext<undefined>;
  readonly #here: ThreadAnswers;
  #isWatching = false;

  constructor(context: ControlContext<undefined>) {
    this.#context = context;
    this.#here = answersOf(context);
  }

  heaps(): Promise<ByThread<HeapReading>> {
    return this.#ask('heap');
  }

  collect(): Promise<ByThread<Collected>> {
    return this.#ask('collect');
  }

  /** What each thread allocates meanwhile. One at a time: a thread has one profiler. */
  async allocations(ms: number, signal: AbortSignal): Promise<ByThread<Allocations>> {
    if (this.#isWatching) {
      throw new OperatingError('failed', 'Cannot watch allocations: somebody else does, try later');
    }
    this.#isWatching = true;
    try {
      await this.#ask('beginAllocations');
      const either = AbortSignal.any([signal, this.#context.signal]);
      // Whoever asked is gone: threads are told to end all the same.
      await wait(ms, undefined, { signal: either }).catch(() => undefined);
      const found = await this.#ask<Allocations | undefined>('endAllocations');
      return found.flatMap(([thread, one]) => (one === undefined ? [] : [[thread, one] as const]));
    } finally {
      this.#isWatching = false;
    }
  }

  /** One after the other, until `signal` is aborted. */
  async *samples(count: number, signal: AbortSignal): AsyncGenerator<NodeSample> {
    for (let i = 0; i < count && !signal.aborted; i++) {
      const before = this.#context.figures.metrics();
      const threads = await this.#ask<Pulse>('pulse', sampleMs);
      yield this.#sample(before, threads);
    }
  }

  #sample(before: Readonly<Record<string, number>>, threads: ByThread<Pulse>): NodeSample {
    const { figures } = this.#context;
    const after = figures.metrics();
    const grown = (name: string): number => (after[name] ?? 0) - (before[name] ?? 0);
    return {
      connections: figures.stats()['connections/count'] ?? 0,
      messagesReceived: grown('messages/received'),
      messagesSent: grown('messages/sent'),
      bytesReceived: grown('bytes/received'),
      bytesSent: grown('bytes/sent'),
      memoryBytes: process.memoryUsage.rss(),
      threads,
    };
  }

  async #ask<T>(question: string, ...args: readonly unknown[]): Promise<ByThread<T>> {
    const here = this.#here[question] as (...args: readonly unknown[]) => unknown;
    const isShared = await this.#isSharedThread();
    const [{ answers, missing }, own] = await Promise.all([
      this.#context.askWorkers(question, ...args),
      isShared ? [] : Promise.resolve(here(...args)).then((answer) => [['control', answer]]),
    ]);
    for (const [worker, reason] of missing) {
      this.#context.log.warn('recon.no_answer', { worker, question, reason });
    }
    const found = [...own, ...answers] as readonly (readonly [string, OfThread<T>])[];
    return found.map(([thread, answer]) => [thread, answer.found]);
  }

  /** In a node of one thread the worker part answers for it, once. */
  async #isSharedThread(): Promise<boolean> {
    const { answers } = await this.#context.askWorkers('heap');
    const { threadId } = this.#here.heap();
    return answers.some(([, one]) => (one as OfThread<unknown>).threadId === threadId);
  }
}

/** Of all threads together. The highest of each need not have been at the same moment. */
export function sumOf(peaks: readonly Peak[]): Peak {
  return peaks.reduce(
    (sum, one) => ({ current: sum.current + one.current, max: sum.max + one.max }),
    { current: 0, max: 0 },
  );
}

const part: ControlPart<undefined, Recon> = (ctx) => new Recon(ctx);

export default part;
