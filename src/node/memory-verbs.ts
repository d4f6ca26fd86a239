// What a thread has taken of the memory, as V8 and Node.js count it in that thread.

import { getHeapCodeStatistics } from 'node:v8';

export interface ThreadMemory {
  readonly heapTotalBytes: number;
  readonly heapUsedBytes: number;
  /** Of objects outside of the heap, buffers included. */
  readonly externalBytes: number;
  readonly bufferBytes: number;
  /** Machine code and bytecode of functions. */
  readonly codeBytes: number;
}

export type MemoryVerbs = { memory: () => ThreadMemory };

export function memoryVerbs(): MemoryVerbs {
  return { memory: threadMemory };
}

export function threadMemory(): ThreadMemory {
  const { heapTotal, heapUsed, external, arrayBuffers } = process.memoryUsage();
  const { code_and_metadata_size: machine, bytecode_and_metadata_size: bytecode } =
    getHeapCodeStatistics();
  return {
    heapTotalBytes: heapTotal,
    heapUsedBytes: heapUsed,
    externalBytes: external,
    bufferBytes: arrayBuffers,
    codeBytes: machine + bytecode,
  };
}
