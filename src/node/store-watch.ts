// What a store tells of itself besides its answers: trouble is an alarm as long as it lasts, a fault is
// a line in the log.

import { describeError } from '#base/errors';
import type { Logger } from '#base/log';
import type { Alarms } from '#core/alarms';
import type { DurableStore } from '#store/durable-store';

export function watchStore(store: DurableStore, alarms: Alarms, log: Logger): void {
  store.onTrouble = (error) => {
    if (error === undefined) alarms.clear('store');
    else alarms.raise('store', { error: describeError(error) });
  };
  store.onFault = (error) => log.error('store.fault', { error: describeError(error) });
}
