// What the functions of this thread allocate while they are watched, by V8's sampling heap profiler: one
// allocation in every 256 KB is looked at, with the function that made it. Laws: a thread is watched by one at
// a time and for a bounded time; it never stands still for it, as it would for a snapshot of its heap.

import { Session, type HeapProfiler } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';

/** So that half a minute of a gigabyte a second comes to a profile of a few megabytes. */
const sampledBytes = 256 * 1024;
const functionsMax = 10;
/** As modules are named, and older ones. */
const installed: URL = new URL('../../', import.meta.url);
const prefixes: readonly string[] = [installed.href, fileURLToPath(installed)];

export interface Allocating {
  readonly function: string;
  /** `src/core/router.ts:12`, `node:net:7`; empty for what V8 does by itself. */
  readonly at: string;
  readonly bytes: number;
}

export interface Allocations {
  /** Of all functions, whether collected since or not. */
  readonly bytes: number;
  /** Those that allocated most. */
  readonly top: readonly Allocating[];
}

export class AllocationWatch implements Disposable {
  #session: Session | undefined;

  async begin(): Promise<void> {
    if (this.#session !== undefined) throw new Error('Cannot watch allocations: it is under way');
    const session = new Session();
    this.#session = session;
    session.connect();
    await session.post('HeapProfiler.startSampling', {
      samplingInterval: sampledBytes,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
  }

  /** Undefined: nobody began, or it took too long to ask. */
  async end(): Promise<Allocations | undefined> {
    if (this.#session === undefined) return undefined;
    try {
      const { profile } = await this.#session.post('HeapProfiler.stopSampling');
      return summed(profile.head);
    } finally {
      this[Symbol.dispose]();
    }
  }

  /** What was watched is forgotten. */
  [Symbol.dispose](): void {
    this.#session?.disconnect();
    this.#session = undefined;
  }
}

/** By function: the profile has one node for each way that led there. */
export function summed(head: HeapProfiler.SamplingHeapProfileNode): Allocations {
  const found = new Map<string, { name: string; at: string; bytes: number }>();
  let bytes = 0;
  const open = [head];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const child of node.children) open.push(child);
    if (node.selfSize === 0) continue;
    bytes += node.selfSize;
    const { functionName, url, lineNumber } = node.callFrame;
    const name = functionName === '' ? '(anonymous)' : functionName;
    const at = url === '' ? '' : `${shown(url)}:${lineNumber + 1}`;
    const key = `${name} ${at}`;
    const one = found.get(key) ?? { name, at, bytes: 0 };
    one.bytes += node.selfSize;
    found.set(key, one);
  }
  const top = [...found.values()].sort((a, b) => b.bytes - a.bytes).slice(0, functionsMax);
  return {
    bytes,
    top: top.map(({ name, at, bytes: own }) => ({ function: name, at, bytes: own })),
  };
}

function shown(url: string): string {
  const prefix = prefixes.find((one) => url.startsWith(one)) ?? '';
  return url.slice(prefix.length);
}
