// A full collection of garbage in this thread, and what it set free outside of the heap: buffers that
// nobody needs any more are kept until their objects are collected, which a thread that makes few objects
// does late. NOTE the thread does nothing else meanwhile.

import { Session } from 'node:inspector/promises';

export interface Collected {
  readonly before: number;
  readonly after: number;
  /** How long the thread stood still for it. */
  readonly ms: number;
}

export async function collectGarbage(): Promise<Collected> {
  const before = process.memoryUsage().external;
  const session = new Session();
  session.connect();
  const startedMs = performance.now();
  try {
    await session.post('HeapProfiler.collectGarbage');
  } finally {
    session.disconnect();
  }
  const ms = performance.now() - startedMs;
  return { before, after: process.memoryUsage().external, ms };
}
