// Several workers of one node in this thread, with all that workers have in a process: links, calls,
// a registry, shared memory and one store. Connections are given to them in turn, so that those who
// talk to each other are as a rule in different ones.

import { MessageChannel } from 'node:worker_threads';
import type { VirtualClock } from '#base/clock';
import { createLog, type Logger } from '#base/log';
import type { Settings } from '#config/settings';
import { Alarms } from '#core/alarms';
import type { Broker } from '#core/broker';
import { SharedGroupMemory } from '#core/group-memory';
import { SharedCounters, sharedCounters } from '#core/shared-counters';
import { Stats } from '#core/stats';
import { WorkerNode } from '#node/worker-node';
import { type WorkerHandle, Workers } from '#node/workers';
import { DurableStore } from '#store/durable-store';
import type { Batch } from '#store/batch';
import type { Engine } from '#store/engine';
import { ForwardingEngine } from '#store/forwarding-engine';
import { numbersAfter } from '#store/numbers';
import { SharedEngine } from '#store/shared-engine';

export interface WorkerBrokersOptions {
  readonly count: number;
  readonly settings: Settings;
  readonly clock: VirtualClock;
  readonly log: Logger;
  readonly engine: Engine;
  readonly onTrouble: (error: unknown) => void;
}

export class WorkerBrokers {
  readonly workers: Workers;
  readonly nodes: WorkerNode[] = [];
  readonly stores: DurableStore[] = [];
  readonly #options: WorkerBrokersOptions;
  readonly #counters: SharedArrayBuffer;
  readonly #groups = SharedGroupMemory.memory();
  readonly #numbers: SharedArrayBuffer;
  readonly #shared: SharedEngine;
  readonly #deaths: ((error: Error) => void)[] = [];
  #turn = 0;

  constructor(options: WorkerBrokersOptions) {
    const { count, clock, engine, log } = options;
    this.#options = options;
    this.#counters = sharedCounters(count);
    this.#numbers = numbersAfter(engine);
    this.#shared = new SharedEngine(engine);
    const counters = new SharedCounters(this.#counters);
    const stats = new Stats(counters.stats, count);
    this.workers = new Workers({
      count,
      clock,
      log: createLog('error', []),
      alarms: new Alarms(clock, log),
      spawn: (index) => this.#spawn(index),
      forget: (index) => {
        counters.forget(index);
        stats.forget(index);
      },
      onHopeless: (error) => log.error('workers.hopeless', { error }),
    });
  }

  async start(): Promise<void> {
    await this.workers.start();
  }

  /** The one that the next connection goes to. */
  next(): Broker {
    const node = this.nodes[this.#turn++ % this.nodes.length] as WorkerNode;
    return node.broker;
  }

  /** The worker dies as if its thread had: nothing that it would still say or write happens. */
  kill(index: number): void {
    const node = this.nodes[index] as WorkerNode;
    for (const { transport } of node.broker.channels()) transport.destroy();
    node.broker.stop();
    node.close();
    this.#deaths[index]?.(new Error('killed by the test'));
  }

  #spawn(index: number): WorkerHandle {
    const { count, settings, clock, log, onTrouble } = this.#options;
    const { port1, port2 } = new MessageChannel();
    const lane = new Lane(this.#shared.lane());
    const store = new DurableStore(lane, {
      clock,
      numbers: this.#numbers,
      isShared: count > 1,
      isReaping: index === 0,
      onTrouble,
      onFault: (error) => log.error('store.fault', { error }),
    });
    const node = new WorkerNode({
      index,
      workers: count,
      settings,
      clock,
      log,
      store,
      counters: this.#counters,
      groups: this.#groups,
      port: port2,
      listeners: () => [],
      keepClosed: async () => undefined,
      setLogLevel: () => undefined,
      listen: async () => [],
      stop: async () => undefined,
    });
    this.nodes[index] = node;
    this.stores[index] = store;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.#deaths[index] = (error) => {
      lane.cut();
      resolve(error);
    };
    return {
      port: port1,
      ended: promise,
      storeLeft: promise.then(() => lane.left()),
      terminate: async () => {
        node.close();
        resolve(undefined);
      },
    };
  }
}

/** A way to the engine that can be cut off, as that of a thread is which dies. */
class Lane extends ForwardingEngine {
  #last: Promise<void> = Promise.resolve();
  #isCut = false;

  cut(): void {
    this.#isCut = true;
  }

  /** What it had posted is written. */
  left(): Promise<void> {
    return this.#last;
  }

  override commit(batch: Batch): Promise<void> {
    if (this.#isCut) return new Promise(() => undefined);
    const commit = this.inner.commit(batch);
    this.#last = commit.catch(() => undefined);
    return commit;
  }
}
