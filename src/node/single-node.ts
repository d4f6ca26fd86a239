// A node in one thread, `node.workers = 0`: the broker with its store and its listeners. The store is
// opened, checked, and everything that the last process left taken up, before anybody is let in.

import { systemClock } from '#base/clock';
import type { Logger } from '#base/log';
import type { Settings } from '#config/settings';
import { Broker } from '#core/broker';
import { startModules } from '#modules/start-modules';
import { DurableStore } from '#store/durable-store';
import { openLmdb } from '#store/lmdb/open';
import { Alone } from '#cluster/alone';
import { Doors } from './doors.ts';
import { IntegrationHere } from './integration-here.ts';
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
  const { broker, store, beginWills } = await openStoredBroker(settings, log);
  const doors = new Doors();
  let ports: readonly number[] = [];
  const asking = new AskingHere({
    broker,
    listeners: () => doors.reports(),
    keepClosed: (places) => doors.keepClosed(places),
    // Its log is that of the control thread, whose level has been set.
    setLogLevel: () => undefined,
  });
  const integration = new IntegrationHere(systemClock, log);
  const noPlugins = (): Promise<unknown> => asking.anywhere('runPlugins', [[]]);
  try {
    await before(asking, store, broker.core.alarms, integration);
    // Behind it: wills that are due are published under the rules and hooks that hold.
    const wills = beginWills();
    const sessions = broker.core.sessions.size;
    log.info('store.opened', { sessions, wills, retained: store.retained.size });
    ports = await doors.open(settings, {
      log: log.child({ part: 'net' }),
      accept: (transport, face) => broker.accept(transport, face),
      pskLookup: (identity) => broker.pskOf(identity),
    });
  } catch (error) {
    await integration[Symbol.asyncDispose]();
    await closeInOrder([], broker, store, log, noPlugins);
    throw error;
  }
  const { core } = broker;
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
      await closeInOrder(doors.all, broker, store, log, noPlugins);
    },
  };
}

interface StoredBroker {
  readonly broker: Broker;
  readonly store: DurableStore;
  /** Lets the time of those run that were left, and says how many there are. */
  readonly beginWills: () => number;
}

function openStoredBroker(settings: Settings, log: Logger): Promise<StoredBroker> {
  return openLmdb(storeOptions(settings, log), (engine) => {
    const store = new DurableStore(engine, { clock: systemClock });
    const broker = new Broker({ settings, clock: systemClock, log, store, peers: new Alone() });
    startModules(broker.core);
    watchStore(store, broker.core.alarms, log);
    try {
      broker.restoreSessions();
      const beginWills = broker.core.wills.read();
      log.info('overload.budget', { bytes: broker.core.overload.budgetBytes });
      return { broker, store, beginWills };
    } catch (error) {
      broker.stop();
      throw error;
    }
  });
}
