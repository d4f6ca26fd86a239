// What every thread answers about itself. Law: nothing is measured unless somebody asks, except for the
// highest values of the heap, once a second.

import { threadId } from 'node:worker_threads';
import type { WorkerContext } from '#sdk';
import { type Allocations, AllocationWatch } from './allocations.ts';
import { type Collected, collectGarbage } from './collect.ts';
import { HeapWatch, type HeapReading } from './heap-watch.ts';
import { measurePulse, type Pulse } from './pulse.ts';

const readMs = 1000;
/** Whoever began and does not ask is gone. */
const watchMsMax = 60_000;

/** Where nodes of one thread have two parts of the plugin in it, it is counted once. */
export interface OfThread<T> {
  readonly threadId: number;
  readonly found: T;
}

export interface ThreadAnswers extends Record<string, (...args: never[]) => unknown> {
  heap(): OfThread<HeapReading>;
  collect(): Promise<OfThread<Collected>>;
  pulse(ms: number): Promise<OfThread<Pulse>>;
  beginAllocations(): Promise<OfThread<undefined>>;
  endAllocations(): Promise<OfThread<Allocations | undefined>>;
}

export function answersOf({
  every,
  after,
  defer,
  signal,
}: Pick<WorkerContext, 'every' | 'after' | 'defer' | 'signal'>): ThreadAnswers {
  const watch = new HeapWatch();
  every(readMs, () => watch.read());
  const allocations = new AllocationWatch();
  defer(() => allocations[Symbol.dispose]());
  let callOff = (): void => {};
  return {
    heap: () => ({ threadId, found: watch.read() }),
    collect: async () => ({ threadId, found: await collectGarbage() }),
    async beginAllocations() {
      await allocations.begin();
      callOff = after(watchMsMax, () => allocations[Symbol.dispose]());
      return { threadId, found: undefined };
    },
    async endAllocations() {
      callOff();
      return { threadId, found: await allocations.end() };
    },
    pulse: async (ms) => ({ threadId, found: await measurePulse(ms, signal) }),
  };
}
