// A node of several threads, as the control thread starts and ends it: it owns the store, the memory
// that all share, and the workers.

import { systemClock } from '#base/clock';
import { describeError } from '#base/errors';
import { gather } from '#base/gather';
import type { RootLogger } from '#base/log';
import type { Settings } from '#config/settings';
import { Alarms } from '#core/alarms';
import { SharedGroupMemory } from '#core/group-memory';
import type { HistogramCounts } from '#core/histograms';
import { NodeMetrics } from '#core/node-metrics';
import { SharedCounters, sharedCounters } from '#core/shared-counters';
import { Stats } from '#core/stats';
import { ListenerShare, listenerShareMemory } from '#net/listener-share';
import { probePorts } from '#net/probe-ports';
import { DurableStore } from '#store/durable-store';
import type { LmdbEngine } from '#store/lmdb/engine';
import { openLmdb } from '#store/lmdb/open';
import { Table } from '#store/table';
import { hashPlaces } from '#access/hash-places';
import { IntegrationThread } from './integration-thread.ts';
import type { Asking } from './asking.ts';
import type { BeforeListening, NodeFace, NodeRecords } from './node-face.ts';
import { storeOptions } from './store-options.ts';
import { threadStatus } from './thread-status.ts';
import { WorkerThread } from './worker-thread.ts';
import { Workers } from './workers.ts';

/** Systems on which several threads can listen on one port. */
const sharing: ReadonlySet<NodeJS.Platform> = new Set(['linux', 'freebsd', 'sunos', 'aix']);

/** `entry`: for tests, what the threads run in place of worker.ts. */
export async function startThreadNode(
  wanted: Settings,
  log: RootLogger,
  before: BeforeListening = async () => undefined,
  entry: URL = new URL('worker.ts', import.meta.url),
): Promise<NodeFace> {
  const settings = withWorkers(wanted, log);
  const { workers: count } = settings.node;
  const memory = new NodeMemory(settings);
  // Threads know of what was there when they were started.
  hashPlaces();
  const early = Array.from({ length: count }, (_, index) => memory.thread(index, entry));
  try {
    // Ports that are shared among workers would be shared with a second broker, too.
    if (count > 1) await probePorts(settings);
    return await openLmdb(storeOptions(settings, log), async (engine) => {
      const spawn = (index: number): WorkerThread => {
        const thread = early.shift() ?? memory.thread(index, entry);
        return thread.sit(engine.seat());
      };
      const node = new ThreadNode(settings, log, engine, memory, spawn);
      try {
        await node.start(before);
      } catch (error) {
        await node.end();
        throw error;
      }
      return node;
    });
  } finally {
    for (const thread of early) thread.dismiss();
  }
}

function withWorkers(settings: Settings, log: RootLogger): Settings {
  const { node } = settings;
  if (node.workers < 2 || sharing.has(process.platform)) return settings;
  log.warn('workers.one', { wanted: node.workers, platform: process.platform });
  return { ...settings, node: { ...node, workers: 1 } };
}

const retainedTables = [Table.retained, Table.retainedLong] as const;

/** What all threads of a node share. */
class NodeMemory {
  readonly counters: SharedCounters;
  readonly #settings: Settings;
  readonly #counters: SharedArrayBuffer;
  readonly #groups = SharedGroupMemory.memory();
  readonly #shares: readonly SharedArrayBuffer[];

  constructor(settings: Settings) {
    const { workers } = settings.node;
    this.#settings = settings;
    this.#counters = sharedCounters(workers);
    this.#shares = settings.listeners.map(() => listenerShareMemory(workers));
    this.counters = new SharedCounters(this.#counters);
  }

  thread(index: number, entry: URL): WorkerThread {
    const { workers } = this.#settings.node;
    const [counters, groups, shares] = [this.#counters, this.#groups, this.#shares];
    const settings = this.#settings;
    return new WorkerThread({ index, workers, settings, counters, groups, shares }, entry);
  }

  /** A worker died: what it held is free. */
  forget(index: number): void {
    this.counters.forget(index);
    for (const share of this.#shares) new ListenerShare(share, index).forget(index);
  }
}

class ThreadNode implements NodeFace {
  readonly alarms: Alarms;
  readonly failed: Promise<never>;
  readonly integration: IntegrationThread;
  readonly #log: RootLogger;
  readonly #engine: LmdbEngine;
  readonly #store: DurableStore;
  readonly #workers: Workers;
  readonly #stats: Stats;
  readonly #metrics: NodeMetrics;
  readonly #isOneWorker: boolean;
  #ports: readonly number[] = [];

  constructor(
    settings: Settings,
    log: RootLogger,
    engine: LmdbEngine,
    memory: NodeMemory,
    spawn: (index: number) => WorkerThread,
  ) {
    const { workers: count } = settings.node;
    const { counters } = memory;
    const { promise, reject } = Promise.withResolvers<never>();
    this.failed = promise;
    // Whoever runs the node waits for it, from later on.
    promise.catch(() => undefined);
    const { charsLimit } = settings.log;
    this.integration = new IntegrationThread({ clock: systemClock, log, root: log, charsLimit });
    this.#log = log;
    this.#engine = engine;
    this.#store = new DurableStore(engine, {
      clock: systemClock,
      numbers: engine.numbers,
      isShared: true,
      onFault: (error) => log.error('store.fault', { error: describeError(error) }),
    });
    this.#isOneWorker = count === 1;
    this.#stats = new Stats(counters.stats, count);
    this.#metrics = new NodeMetrics(counters.allCounts(), this.#stats);
    this.alarms = new Alarms(systemClock, log);
    this.#workers = new Workers({
      count,
      clock: systemClock,
      log,
      alarms: this.alarms,
      spawn,
      forget: (index) => {
        memory.forget(index);
        this.#stats.forget(index);
      },
      onHopeless: reject,
    });
  }

  async start(before: BeforeListening): Promise<void> {
    const { ports, sessions, wills } = await this.#workers.start(() =>
      before(this.workers, this.records, this.alarms, this.integration),
    );
    this.#ports = ports;
    this.#countRetained();
    const retained = this.#stats.count('retained');
    this.#log.info('store.opened', { sessions, wills, retained });
  }

  get ports(): readonly number[] {
    return this.#ports;
  }

  metrics(): Record<string, number> {
    this.#countRetained();
    return this.#metrics.snapshot();
  }

  stats(): Record<string, number> {
    this.#countRetained();
    return this.#stats.snapshot();
  }

  histograms(): HistogramCounts[] {
    return this.#metrics.histograms();
  }

  /** Every worker retains, and none of them sees what the others are about to; one alone counts itself. */
  #countRetained(): void {
    if (this.#isOneWorker) return;
    this.#engine.renew();
    const count = retainedTables.reduce((sum, table) => sum + this.#engine.count(table), 0);
    this.#stats.set('retained', count);
  }

  async threads(deadlineMs: number): ReturnType<NodeFace['threads']> {
    const { answers, missing } = await this.workers.everywhere('status', [], deadlineMs);
    if (!this.integration.isRunning) {
      return { answers: [['control', threadStatus()], ...answers], missing };
    }
    const asked = this.integration.call('status', [], deadlineMs);
    const other = await gather([['integration', asked] as const]);
    return {
      answers: [['control', threadStatus()], ...answers, ...other.answers],
      missing: [...missing, ...other.missing],
    };
  }

  get records(): NodeRecords {
    return this.#store;
  }

  tables(): Readonly<Record<string, number>> {
    return this.#store.counts();
  }

  get workers(): Asking {
    return this.#workers.asking;
  }

  async stop(): Promise<void> {
    await this.end();
  }

  async end(): Promise<void> {
    await this.integration[Symbol.asyncDispose]();
    await this.#workers.stop();
    await this.#store[Symbol.asyncDispose]();
  }
}
