// A broker with its store: opened, checked, and everything that the last process left taken up, before
// anybody is let in.

import { join } from 'node:path';
import { systemClock } from '#base/clock';
import { describeError } from '#base/errors';
import type { Logger } from '#base/log';
import type { Settings } from '#config/settings';
import { Broker } from '#core/broker';
import { Alone } from '#cluster/alone';
import { DurableStore } from '#store/durable-store';
import { openLmdb } from '#store/lmdb/open';

export interface StoredBroker {
  readonly broker: Broker;
  readonly store: DurableStore;
}

export function openStoredBroker(settings: Settings, log: Logger): Promise<StoredBroker> {
  const { dataDir, onCorruptStore } = settings.node;
  const options = {
    dir: join(dataDir, 'store'),
    onCorrupt: onCorruptStore,
    log: log.child({ part: 'store' }),
  };
  return openLmdb(options, (engine) => {
    const store = new DurableStore(engine, { clock: systemClock });
    const broker = new Broker({ settings, clock: systemClock, log, store, peers: new Alone() });
    store.onTrouble = (error) => {
      const { alarms } = broker.core;
      if (error === undefined) alarms.clear('store');
      else alarms.raise('store', { error: describeError(error) });
    };
    store.onFault = (error) => log.error('store.fault', { error: describeError(error) });
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
