// The lists of a worker, each in the order of keys that no two rows share: client ids; client id, topic
// and filter; topics. Law: a row has the same key whichever worker has it, and keys are compared by code
// unit, so that the lists of several workers can be put together.

import type { Broker } from '#core/broker';
import type { Session } from '#core/session';
import type { OrderedSubscription } from '#core/session-order';
import {
  type ConnectionFacts,
  connectionFacts,
  type RouteFacts,
  type SessionFacts,
  sessionFacts,
  type SubscriptionFacts,
  subscriptionFacts,
} from './list-rows.ts';

export interface RowTypes {
  readonly connections: ConnectionFacts;
  readonly sessions: SessionFacts;
  readonly subscriptions: SubscriptionFacts;
  readonly routes: RouteFacts;
}
export type ListKind = keyof RowTypes;

/** Undefined: nothing to show under this key. */
export type Visit = (
  key: string,
  row: (() => RowTypes[ListKind] | undefined) | undefined,
) => boolean;

export interface ListOrder {
  total(): number;
  /** How many rows are before this key. */
  rank(key: string): number;
  /** Of the n-th row. */
  keyAt(offset: number): string | undefined;
  /** From a key on, until a visit answers false. */
  visit(from: string, call: Visit): void;
}

/** No text of MQTT has it, and it comes before all others: `a` and its rows are before `aa`. */
const separator = '\0';
const behindSeparator = '\u0001';

/** The rows of a client, or the route of a topic: from its name to this, exclusive. */
export const behind = (name: string): string => name + behindSeparator;

export function rowKey(row: RowTypes[ListKind]): string {
  if (!('clientId' in row)) return row.topic;
  return 'filter' in row ? subscriptionKey(row.clientId, row.topic, row.filter) : row.clientId;
}

const subscriptionKey = (clientId: string, topic: string, filter: string): string =>
  `${clientId}${separator}${topic}${separator}${filter}`;

export function ordersOf(broker: Broker): Readonly<Record<ListKind, ListOrder>> {
  return {
    connections: connectionOrder(broker),
    sessions: sessionOrder(broker),
    subscriptions: subscriptionOrder(broker),
    routes: routeOrder(broker),
  };
}

function connectionOrder({ core }: Broker): ListOrder {
  const { order } = core.sessions;
  return {
    total: () => order.total('connections'),
    rank: (key) => order.rank('connections', key),
    keyAt: (offset) => order.at('connections', offset)?.session.clientId,
    visit: (from, call) =>
      order.visit(from, (session) =>
        call(
          session.clientId,
          session.connections === 0 ? undefined : () => connectionFacts(session),
        ),
      ),
  };
}

function sessionOrder({ core }: Broker): ListOrder {
  const { order } = core.sessions;
  return {
    total: () => order.total('sessions'),
    rank: (key) => order.rank('sessions', key),
    keyAt: (offset) => order.at('sessions', offset)?.session.clientId,
    visit: (from, call) =>
      order.visit(from, (session) => call(session.clientId, () => sessionFacts(session))),
  };
}

function subscriptionOrder({ core }: Broker): ListOrder {
  const { order } = core.sessions;
  return {
    total: () => order.total('subscriptions'),
    rank(key) {
      const { clientId, rest } = partsOf(key);
      const before = order.rank('subscriptions', clientId);
      const session = rest === undefined ? undefined : order.get(clientId);
      if (session === undefined || rest === undefined) return before;
      return before + placeOf(order.subscriptionsOf(session), rest);
    },
    keyAt(offset) {
      const found = order.at('subscriptions', offset);
      if (found === undefined) return undefined;
      const { session, before } = found;
      const one = order.subscriptionsOf(session)[offset - before];
      return one && subscriptionKey(session.clientId, one.topic, one.subscription.filter);
    },
    visit(from, call) {
      const first = partsOf(from);
      order.visit(first.clientId, (session) => {
        const { clientId } = session;
        const rest = clientId === first.clientId ? first.rest : undefined;
        return visitSubscriptions(session, order.subscriptionsOf(session), rest, call);
      });
    },
  };
}

function visitSubscriptions(
  session: Session,
  list: readonly OrderedSubscription[],
  rest: string | undefined,
  call: Visit,
): boolean {
  const { clientId } = session;
  if (list.length === 0) return call(clientId, undefined);
  for (let i = rest === undefined ? 0 : placeOf(list, rest); i < list.length; i++) {
    const one = list[i] as OrderedSubscription;
    const key = subscriptionKey(clientId, one.topic, one.subscription.filter);
    if (!call(key, () => subscriptionFacts(session, one))) return false;
  }
  return true;
}

/** A key, or the part of one that is a client id. */
function partsOf(key: string): { clientId: string; rest: string | undefined } {
  const at = key.indexOf(separator);
  if (at === -1) return { clientId: key, rest: undefined };
  return { clientId: key.slice(0, at), rest: key.slice(at + 1) };
}

/** Of the first that is not before `rest`: topic and filter. */
function placeOf(list: readonly OrderedSubscription[], rest: string): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const { topic, subscription } = list[middle] as OrderedSubscription;
    if (`${topic}${separator}${subscription.filter}` < rest) low = middle + 1;
    else high = middle;
  }
  return low;
}

function routeOrder({ core }: Broker): ListOrder {
  const { routes } = core.filters;
  return {
    total: () => routes.size,
    rank: (key) => routes.rank(key),
    keyAt: (offset) => routes.at(offset)?.key,
    visit: (from, call) => routes.visit(from, undefined, (topic) => call(topic, () => ({ topic }))),
  };
}
