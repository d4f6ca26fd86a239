// Subscribing and unsubscribing a session: its own list, the router and the store change together.

import type { Delivery } from './delivery.ts';
import type { Wait } from './ports.ts';
import type { Router } from './router.ts';
import type { Session } from './session.ts';
import type { Stats } from './stats.ts';
import type { Subscription } from './subscription.ts';

export class Subscriptions {
  readonly #router: Router;
  readonly #stats: Stats;

  constructor(router: Router, stats: Stats) {
    this.#router = router;
    this.#stats = stats;
  }

  /** Replaces a subscription to the same filter [MQTT-3.8.4-3]. */
  add(session: Session, subscription: Subscription): { delivery: Delivery; wait: Wait } {
    const delivery = this.restore(session, subscription);
    session.journal?.stored.subscribe(subscription);
    return { delivery, wait: session.journal?.wait };
  }

  /** The same for one that the store has. */
  restore(session: Session, subscription: Subscription): Delivery {
    const { filter, routed, group } = subscription;
    if (!session.subscriptions.has(filter)) this.#count(subscription, 1);
    session.subscriptions.set(filter, subscription);
    const delivery = deliveryOf(session, subscription);
    this.#router.add(routed, group, delivery);
    return delivery;
  }

  /** `undefined`: there was none. What a shared subscription left unfinished goes to the others. */
  remove(session: Session, filter: string): { removed: Subscription; wait: Wait } | undefined {
    const subscription = session.subscriptions.get(filter);
    if (subscription === undefined) return undefined;
    session.subscriptions.delete(filter);
    this.#count(subscription, -1);
    const { routed, group } = subscription;
    this.#router.remove(routed, group, session);
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
      this.#router.remove(subscription.routed, subscription.group, session);
      this.#count(subscription, -1);
    }
    session.subscriptions.clear();
  }

  #count({ group }: Subscription, by: number): void {
    this.#stats.move('subscriptions', by);
    if (group !== undefined) this.#stats.move('subscriptions/shared', by);
  }
}

function deliveryOf(session: Session, subscription: Subscription): Delivery {
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
