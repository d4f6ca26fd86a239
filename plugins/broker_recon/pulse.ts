// How the event loop of this thread fares during a short time: its share of work, how late it comes to what
// is due, and what collecting garbage took of it.

import { monitorEventLoopDelay, performance, PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';

export interface Pulse {
  /** 0 to 1. */
  readonly busyShare: number;
  readonly delayMeanMs: number;
  readonly delayMaxMs: number;
  readonly collections: number;
  readonly collectionMs: number;
}

const delayStepMs = 10;

/** Rejects when `signal` is aborted meanwhile. */
export async function measurePulse(ms: number, signal: AbortSignal): Promise<Pulse> {
  const collections: number[] = [];
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) collections.push(duration);
  });
  const delays = monitorEventLoopDelay({ resolution: delayStepMs });
  const before = performance.eventLoopUtilization();
  observer.observe({ entryTypes: ['gc'] });
  delays.enable();
  try {
    await wait(ms, undefined, { signal });
  } finally {
    delays.disable();
    observer.disconnect();
  }
  return {
    busyShare: performance.eventLoopUtilization(before).utilization,
    ...lateness(delays),
    collections: collections.length,
    collectionMs: collections.reduce((sum, one) => sum + one, 0),
  };
}

/** The histogram holds the time from look to look, the step included; nothing yet: no lateness. */
function lateness({ mean, max, count }: { mean: number; max: number; count: number }) {
  const late = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - delayStepMs);
  return {
    delayMeanMs: count === 0 ? 0 : late(mean),
    delayMaxMs: count === 0 ? 0 : late(max),
  };
}
