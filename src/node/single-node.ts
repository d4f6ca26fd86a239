// A node in one thread, `node.workers = 0`: the broker with its store and its listeners. The store is
// opened, checked, and everything that the last process left taken up, before anybody is let in.

import { systemClock } from '#base/clock';
import type { Logger } from '#base/log';
import type { Settings } from '#config/settings';
import { Broker } from '#core/broker';
import { DurableStore } from '#store/durable-store';
import { openLmdb } from '#store/lmdb/open';
import { Alone } from '#cluster/alone';
import { Doors } from './doors.ts';
import { IntegrationThread } from './integration-thread.ts';
import { AskingHere } from './asking-here.ts';
import type { BeforeListening, NodeFace } from './node-face.ts';
import { closeInOrder } from './shutdown.ts';
import { storeOptions } from './store-options.ts';
import { watchStore } from './store-watch.ts';
import { threadStatus } from './thread-status.ts';

export async function startSingleNode(
  settings: Settings,
  log: Logger,
  before: BeforeListening = async () => undefined,
): Promise<NodeFace> {
  const { broker, store } = await openStoredBroker(settings, log);
  const doors = new Doors();
  let ports: readonly number[] = [];
  const asking = new AskingHere({
    broker,
    listeners: () => doors.reports(),
    keepClosed: (places) => doors.keepClosed(places),
    // Its log is that of the control thread, whose level has been set.
    setLogLevel: () => undefined,
  });
  try {
    await before(asking, store);
    ports = await doors.open(settings, {
      log: log.child({ part: 'net' }),
      accept: (transport, face) => broker.accept(transport, face),
      pskLookup: (identity) => broker.pskOf(identity),
    });
  } catch (error) {
    await closeInOrder([], broker, store, log);
    throw error;
  }
  const { core } = broker;
  const integration = new IntegrationThread({ clock: systemClock, log });
  return {
    ports,
    alarms: core.alarms,
    metrics: () => core.metrics.snapshot(),
    stats: () => core.stats.snapshot(),
    histograms: () => core.metrics.histograms(),
    threads: async () => ({ answers: [['control', threadStatus()]], missing: [] }),
    integration,
    records: store,
    tables: () => store.counts(),
    workers: asking,
    failed: new Promise(() => undefined),
    async stop() {
      await integration[Symbol.asyncDispose]();
      await closeInOrder(doors.all, broker, store, log);
    },
  };
}

interface StoredBroker {
  readonly broker: Broker;
  readonly store: DurableStore;
}

function openStoredBroker(settings: Settings, log: Logger): Promise<StoredBroker> {
  return openLmdb(storeOptions(settings, log), (engine) => {
    const store = new DurableStore(engine, { clock: systemClock });
    const broker = new Broker({ settings, clock: systemClock, log, store, peers: new Alone() });
    watchStore(store, broker.core.alarms, log);
    try {
      const { sessions, wills } = broker.restore();
      log.info('store.opened', { sessions, wills, retained: store.retained.size });
      log.info('overload.budget', { bytes: broker.core.overload.budgetBytes });
    } catch (error) {
      broker.stop();
      throw error;
    }
    return { broker, store };
  });
}
