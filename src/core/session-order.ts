// The sessions of a worker in the order of client ids, counted three ways (sessions, connections,
// subscriptions), so that management finds any page of a list without reading those before it.
// Law: what a session counts for changes here in the same moment as in the session.

import { SortedMap } from '#base/sorted-map';
import { parseFilter } from '#topics/topic';
import type { Subscription } from './subscription.ts';

/** A session as this list sees it. */
export interface Orderable {
  readonly clientId: string;
  /** 1 while it has a connection. */
  readonly connections: 0 | 1;
  readonly subscriptions: ReadonlyMap<string, Subscription>;
}

/** A subscription with its filter as management shows it: without `$share/<group>/`. */
export interface OrderedSubscription {
  readonly topic: string;
  readonly subscription: Subscription;
}

export type Counted = 'sessions' | 'connections' | 'subscriptions';

const weights: Readonly<Record<Counted, number | undefined>> = {
  sessions: undefined,
  connections: 0,
  subscriptions: 1,
};

/**
 * Cost, see SortedMap: with 100 000 sessions under a microsecond for a SUBSCRIBE or a client that comes back,
 * two or three for a session that is new or ends.
 */
export class SessionOrder<S extends Orderable> {
  readonly #map = new SortedMap<S>([
    ({ connections }) => connections,
    ({ subscriptions }) => subscriptions.size,
  ]);
  /** The subscriptions that were sorted last: a session may have so many that it matters. */
  #sorted: { readonly of: S; readonly list: readonly OrderedSubscription[] } | undefined;

  enter(session: S): void {
    this.#map.set(session.clientId, session);
  }

  leave(session: S): void {
    this.#forgetSorted(session);
    this.#map.delete(session.clientId);
  }

  connectionsChanged({ clientId }: S, by: 1 | -1): void {
    this.#map.reweigh(clientId, 0, by);
  }

  /** 0: one of them was replaced. */
  subscriptionsChanged(session: S, by: 1 | -1 | 0): void {
    this.#forgetSorted(session);
    if (by !== 0) this.#map.reweigh(session.clientId, 1, by);
  }

  #forgetSorted(session: S): void {
    if (this.#sorted?.of === session) this.#sorted = undefined;
  }

  total(counted: Counted): number {
    return this.#map.total(weights[counted]);
  }

  get(clientId: string): S | undefined {
    return this.#map.get(clientId);
  }

  /** How many there are of the sessions before this client id. */
  rank(counted: Counted, clientId: string): number {
    return this.#map.rank(clientId, weights[counted]);
  }

  /** The session that the n-th belongs to, and how many there are of those before it. */
  at(counted: Counted, offset: number): { session: S; before: number } | undefined {
    const found = this.#map.at(offset, weights[counted]);
    return found && { session: found.value, before: found.before };
  }

  /** In order from a client id on, until a visit answers false. Nothing may change meanwhile. */
  visit(from: string, call: (session: S) => boolean): void {
    this.#map.visit(from, undefined, (_, session) => call(session));
  }

  /** The subscriptions of a session by topic, then by filter as written. */
  subscriptionsOf(session: S): readonly OrderedSubscription[] {
    if (this.#sorted?.of === session) return this.#sorted.list;
    const list = Array.from(session.subscriptions.values(), ordered).sort(byTopic);
    this.#sorted = { of: session, list };
    return list;
  }
}

function ordered(subscription: Subscription): OrderedSubscription {
  const { filter, group } = subscription;
  return { topic: group === undefined ? filter : parseFilter(filter).filter, subscription };
}

function byTopic(a: OrderedSubscription, b: OrderedSubscription): number {
  if (a.topic !== b.topic) return a.topic < b.topic ? -1 : 1;
  return a.subscription.filter < b.subscription.filter ? -1 : 1;
}
