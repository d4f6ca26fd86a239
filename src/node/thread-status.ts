// How a thread of the node is doing, as it says itself.

import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

export interface ThreadStatus {
  readonly heapUsedBytes: number;
  readonly heapLimitBytes: number;
  /** The share of its time in which the event loop was busy, since the thread began: 0 to 1. */
  readonly loopShare: number;
  /** Milliseconds since the thread began. */
  readonly upMs: number;
}

const beganAtMs = performance.now();

export function threadStatus(): ThreadStatus {
  const { used_heap_size: heapUsedBytes, heap_size_limit: heapLimitBytes } = getHeapStatistics();
  const { utilization: loopShare } = performance.eventLoopUtilization();
  return { heapUsedBytes, heapLimitBytes, loopShare, upMs: performance.now() - beganAtMs };
}
