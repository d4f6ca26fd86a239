// How a message that came back from the store is to be delivered: what its subscription wanted then,
// with the objects of this process.

import type { Delivery, Regroup, Subscriber } from './delivery.ts';
import type { DeliveryOptions } from './store-port.ts';

export function storedDelivery(
  session: Subscriber,
  { group, ...options }: DeliveryOptions,
  groupOf: (filter: string, name: string) => Regroup | undefined,
): Delivery {
  return {
    ...options,
    session,
    noLocal: false,
    // A group without members has nobody to hand a message on to.
    group: group === undefined ? undefined : groupOf(group.filter, group.name),
    isPlain: options.subscriptionIds === undefined,
    mixed: undefined,
  };
}
