// The heap of this thread as V8 counts it, now and at its highest. `used` is what objects take, `allocated`
// what V8 has taken from the system for them; memory outside of the heap (buffers) belongs to both.
// The highest is that of the moments at which it was read.

import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';

export interface Peak {
  readonly current: number;
  readonly max: number;
}

export interface HeapReading {
  readonly used: Peak;
  readonly allocated: Peak;
  /** What is allocated, by the space of the heap, and `external`. */
  readonly spaces: Readonly<Record<string, Peak>>;
}

export class HeapWatch {
  readonly #max = new Map<string, number>();

  read(): HeapReading {
    const heap = getHeapStatistics();
    const external = heap.external_memory;
    const spaces = getHeapSpaceStatistics().map(
      ({ space_name: name, space_size: bytes }) => [name, bytes] as const,
    );
    return {
      used: this.#peak('used', heap.used_heap_size + external),
      allocated: this.#peak('allocated', heap.total_heap_size + external),
      spaces: Object.fromEntries(
        [...spaces, ['external', external] as const].map(([name, bytes]) => {
          return [name, this.#peak(`space ${name}`, bytes)];
        }),
      ),
    };
  }

  #peak(name: string, current: number): Peak {
    const max = Math.max(current, this.#max.get(name) ?? 0);
    this.#max.set(name, max);
    return { current, max };
  }
}
