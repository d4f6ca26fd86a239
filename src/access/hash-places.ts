// Places for hashes of passwords that are computed at once, for all threads of the process together: its
// pool of threads is one, and reads files, writes the store and finds hosts as well. Laws: two threads of
// the pool are never a hash's; a thread that dies gives its places back after a while.
//
//     cells [ ticket | until | until | … ]     until: when who has the place must be done; past: it is free

import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

const name = 'broker.hash_places';
/** As libuv has it unless the environment says so. */
const poolThreadsUsual = 4;
const poolThreadsMax = 128;
const othersThreads = 2;
/** No hash that is tried takes longer. */
const heldMsMax = 30_000;
/** Somebody may have died. */
const lookAgainMs = 1000;

/** Those of the process: made by the first thread that asks, and known to the threads that it starts then. */
export function hashPlaces(): HashPlaces {
  const known = getEnvironmentData(name);
  if (known instanceof SharedArrayBuffer) return new HashPlaces(known);
  const cells = HashPlaces.cellsFor(placesOf(process.env['UV_THREADPOOL_SIZE']));
  setEnvironmentData(name, cells);
  return new HashPlaces(cells);
}

/** How many hashes a pool of this size has room for. */
export function placesOf(poolThreads: string | undefined): number {
  const threads = Math.min(Number(poolThreads ?? '') || poolThreadsUsual, poolThreadsMax);
  return Math.max(1, threads - othersThreads);
}

export class HashPlaces {
  readonly #cells: BigInt64Array;

  constructor(cells: SharedArrayBuffer) {
    this.#cells = new BigInt64Array(cells);
  }

  static cellsFor(places: number): SharedArrayBuffer {
    return new SharedArrayBuffer((places + 1) * BigInt64Array.BYTES_PER_ELEMENT);
  }

  /** Resolves to how to give it back. */
  async take(nowMs: () => number = Date.now): Promise<() => void> {
    for (;;) {
      // Before looking: a place that becomes free meanwhile changes it.
      const ticket = Atomics.load(this.#cells, 0);
      const free = this.#tryTake(BigInt(Math.floor(nowMs())));
      if (free !== undefined) return free;
      const woken = Atomics.waitAsync(this.#cells, 0, ticket, lookAgainMs);
      if (woken.async) await woken.value;
    }
  }

  #tryTake(now: bigint): (() => void) | undefined {
    const cells = this.#cells;
    for (let i = 1; i < cells.length; i++) {
      const held = Atomics.load(cells, i);
      const mine = now + BigInt(heldMsMax);
      if (held > now || Atomics.compareExchange(cells, i, held, mine) !== held) continue;
      return () => {
        // Unless it took too long and is somebody else's by now.
        if (Atomics.compareExchange(cells, i, mine, 0n) !== mine) return;
        Atomics.add(cells, 0, 1n);
        Atomics.notify(cells, 0, 1);
      };
    }
    return undefined;
  }
}
