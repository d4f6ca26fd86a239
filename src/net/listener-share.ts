// What the threads that have one listener know of it together: how many connections it has, and the
// tokens of its accept rate. Law: each thread keeps its own share of the connections, so that control
// can take out those of a dead one.

import { SharedGauges } from '#base/shared-gauges';

/** The tokens come first: they are 64 bits wide. */
const tokenBytes = BigInt64Array.BYTES_PER_ELEMENT;
const connections = 0;

/** Memory of one listener for so many workers; control makes it. */
export function listenerShareMemory(workers: number): SharedArrayBuffer {
  const places = SharedGauges.placesOf(1, workers);
  return new SharedArrayBuffer(tokenBytes + places * Int32Array.BYTES_PER_ELEMENT);
}

export class ListenerShare {
  /** For the bucket of `max_conn_rate`. */
  readonly tokens: BigInt64Array;
  readonly #gauges: SharedGauges;

  /** Control, which has no connections, reads and forgets as any of the workers. */
  constructor(memory: SharedArrayBuffer, worker: number) {
    this.tokens = new BigInt64Array(memory, 0, 1);
    this.#gauges = new SharedGauges(new Int32Array(memory, tokenBytes), 1, worker);
  }

  /** Of all workers. */
  get connections(): number {
    return this.#gauges.total(connections);
  }

  /** Takes a place for one more connection. False: all workers together have as many as allowed. */
  offer(max: number): boolean {
    return this.#gauges.offer(connections, max);
  }

  /** This worker has so many now. */
  hold(count: number): void {
    const by = count - this.#gauges.share(connections);
    if (by !== 0) this.#gauges.move(connections, by);
  }

  /** The places of a dead worker are free. */
  forget(worker: number): void {
    this.#gauges.forget(worker);
  }
}
