// How a thread of the node is doing, as it says itself.

import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

export interface ThreadStatus {
  readonly heapUsedBytes: number;
  readonly heapLimitBytes: number;
  /** What its objects hold outside the heap: buffers. */
  readonly externalBytes: number;
  /** The share of its time in which the event loop was busy, since the thread began: 0 to 1. */
  readonly loopShare: number;
  /** Milliseconds in which the event loop was busy, since the thread began; never goes down. */
  readonly loopBusyMs: number;
  /** Milliseconds since the thread began. */
  readonly upMs: number;
}

const beganAtMs = performance.now();

export function threadStatus(): ThreadStatus {
  const heap = getHeapStatistics();
  const { used_heap_size: heapUsedBytes, heap_size_limit: heapLimitBytes } = heap;
  const { external_memory: externalBytes } = heap;
  const { utilization: loopShare, active: loopBusyMs } = performance.eventLoopUtilization();
  const upMs = performance.now() - beganAtMs;
  return { heapUsedBytes, heapLimitBytes, externalBytes, loopShare, loopBusyMs, upMs };
}
