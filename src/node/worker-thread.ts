// A worker in a thread of its own: it begins to load at once, serves when it is given a seat at the
// store, and is ended if it does not end by itself.

import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { Seating } from '#store/lmdb/engine';
import type { WorkerData } from './worker-data.ts';
import type { WorkerHandle } from './workers.ts';

/** A worker that does not end by itself in this time hangs. */
const endMsMax = 5000;

export class WorkerThread implements WorkerHandle {
  readonly port: MessagePort;
  readonly ended: Promise<Error | undefined>;
  readonly #worker: Worker;
  #storeLeft: Promise<void> = Promise.resolve();

  constructor(data: Omit<WorkerData, 'port'>, entry: URL) {
    const { port1, port2 } = new MessageChannel();
    this.port = port1;
    const workerData: WorkerData = { ...data, port: port2 };
    const worker = new Worker(entry, {
      workerData,
      transferList: [port2],
      name: `worker ${data.index}`,
      // With a limit of its own a heap that is full ends this thread, and not the process.
      resourceLimits: { maxOldGenerationSizeMb: heapMegabytes() },
    });
    this.#worker = worker;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.ended = promise;
    let cause: Error | undefined;
    worker.on('error', (error) => {
      cause = error as Error;
    });
    worker.once('exit', () => {
      port1.close();
      resolve(cause);
    });
  }

  sit({ seat, left }: Seating): this {
    this.#storeLeft = left;
    this.#worker.postMessage(seat, [seat.port]);
    return this;
  }

  /** There is no seat for it. */
  dismiss(): void {
    this.#worker.postMessage(null);
  }

  get storeLeft(): Promise<void> {
    return this.#storeLeft;
  }

  async terminate(): Promise<void> {
    this.port.close();
    const isOver = await Promise.race([
      this.ended.then(() => true),
      sleep(endMsMax, false, { ref: false }),
    ]);
    if (!isOver) await this.#worker.terminate();
    await this.ended;
  }
}

/** As much as the main thread may have. */
function heapMegabytes(): number {
  return Math.floor(getHeapStatistics().heap_size_limit / 2 ** 20);
}
