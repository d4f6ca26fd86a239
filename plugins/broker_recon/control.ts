// Asks all threads that carry plugins: the workers, and the control thread, which in a node of one thread is
// the same. The threads that write to disk or connect to other systems are not among them.

import type { ControlContext, ControlPart } from '#sdk';
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
    const [{ answers, missing }, own] = await Promise.all([
      this.#context.askWorkers(question, ...args),
      Promise.resolve(here(...args) as OfThread<T>),
    ]);
    for (const [worker, reason] of missing) {
      this.#context.log.warn('recon.no_answer', { worker, question, reason });
    }
    const found = answers as readonly (readonly [string, OfThread<T>])[];
    const all = found.some(([, { threadId }]) => threadId === own.threadId)
      ? found
      : [['control', own] as const, ...found];
    return all.map(([thread, answer]) => [thread, answer.found]);
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
