// How many bytes may wait for clients: the setting `node.memory_budget`, turned into bytes by what
// the machine has. Law: never more than the JavaScript heap can carry, whatever was asked for, because
// a heap over its limit ends the process.

import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { MemoryBudget } from '#config/settings';

export interface MachineMemory {
  readonly totalBytes: number;
  /** What a container or control group allows; 0 or more than there is: no limit. */
  readonly allowedBytes: number;
  readonly heapBytesMax: number;
}

/**
 * Of what waits, payloads lie outside the heap and everything around them inside. With the smallest
 * messages nearly all that is counted is heap (see the measures in held-bytes.ts), so the budget is
 * what may safely be heap; the rest of it is for sessions, subscriptions and the garbage in between.
 */
const heapShareMax = 0.75;

/** `workers`: threads with a heap each; one budget is for all of them together. */
export function budgetBytes(budget: MemoryBudget, machine: MachineMemory, workers = 1): number {
  const { totalBytes, allowedBytes, heapBytesMax } = machine;
  const isLimited = allowedBytes > 0 && allowedBytes < totalBytes;
  const asked =
    'bytes' in budget ? budget.bytes : budget.share * (isLimited ? allowedBytes : totalBytes);
  return Math.floor(Math.min(asked, heapBytesMax * heapShareMax * workers));
}

export function machineMemory(): MachineMemory {
  return {
    totalBytes: totalmem(),
    allowedBytes: process.constrainedMemory(),
    heapBytesMax: getHeapStatistics().heap_size_limit,
  };
}

/** The share of its limit that the heap takes now, garbage included: 1 ends the process. */
export function heapShare(): number {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
  return used / limit;
}
