// Subscribing and unsubscribing a session: its own list, the router and the store change together.

import type { Delivery, Subscriber } from './delivery.ts';
import type { FilterTable } from './filter-table.ts';
import type { Wait } from './ports.ts';
import type { Session } from './session.ts';
import type { Stats } from './stats.ts';
import type { Subscription } from './subscription.ts';
import { bothWaits } from './wait.ts';

export interface Added {
  readonly delivery: Delivery;
  /** Until it is stored, and everybody knows of it. */
  readonly wait: Wait;
}

export class Subscriptions {
  readonly #filters: FilterTable;
  readonly #stats: Stats;

  constructor(filters: FilterTable, stats: Stats) {
    this.#filters = filters;
    this.#stats = stats;
  }

  /** Replaces a subscription to the same filter [MQTT-3.8.4-3]. */
  add(session: Session, subscription: Subscription): Added {
    const { delivery, wait } = this.restore(session, subscription);
    session.journal?.stored.subscribe(subscription);
    return { delivery, wait: bothWaits(session.journal?.wait, wait) };
  }

  /** The same for one that the store has. `joinNo`: of a member whose session has moved here. */
  restore(session: Session, subscription: Subscription, joinNo?: number): Added {
    const { filter, routed, group } = subscription;
    const isNew = !session.subscriptions.has(filter);
    if (isNew) this.#count(subscription, 1);
    session.subscriptions.set(filter, subscription);
    session.order?.subscriptionsChanged(session, isNew ? 1 : 0);
    const delivery = deliveryOf(session, subscription);
    return { delivery, wait: this.#filters.add(routed, group, delivery, joinNo) };
  }

  /** `undefined`: there was none. What a shared subscription left unfinished goes to the others. */
  remove(session: Session, filter: string): { removed: Subscription; wait: Wait } | undefined {
    const subscription = session.subscriptions.get(filter);
    if (subscription === undefined) return undefined;
    session.subscriptions.delete(filter);
    session.order?.subscriptionsChanged(session, -1);
    this.#count(subscription, -1);
    const { routed, group } = subscription;
    this.#filters.remove(routed, group, session);
    if (group !== undefined) {
      const unsent = session.takeUnsent(({ name, filter: of }) => name === group && of === routed);
      for (const { message, delivery } of unsent) delivery.group?.redispatch(message, session);
    }
    session.journal?.stored.unsubscribe(filter);
    return { removed: subscription, wait: session.journal?.wait };
  }

  /** All of a session that ends. */
  clear(session: Session): void {
    for (const subscription of session.subscriptions.values()) {
      this.#filters.remove(subscription.routed, subscription.group, session);
      this.#count(subscription, -1);
    }
    session.subscriptions.clear();
  }

  /** Its connection has come or gone: who shares a subscription with it chooses by that. */
  connectionChanged(session: Session): void {
    for (const { group, routed } of session.subscriptions.values()) {
      if (group !== undefined) this.#filters.memberChanged(routed, group, session);
    }
  }

  #count({ group }: Subscription, by: number): void {
    this.#stats.move('subscriptions', by);
    if (group !== undefined) this.#stats.move('subscriptions/shared', by);
  }
}

export function deliveryOf(session: Subscriber, subscription: Subscription): Delivery {
  const { qos, noLocal, retainAsPublished, subscriptionId } = subscription;
  return {
    session,
    qos,
    noLocal,
    retainAsPublished,
    subscriptionIds: subscriptionId === undefined ? undefined : [subscriptionId],
    group: undefined,
    isReplay: false,
    isPlain: !noLocal && subscriptionId === undefined,
    mixed: undefined,
  };
}
