// One entry of a session's list of subscriptions, as the client wrote it.

import type { QoS } from '#wire/packet';
import { parseFilter } from '#topics/topic';

export interface Subscription {
  /** As written by the client, with `$share/<group>/`, without mountpoint. */
  readonly filter: string;
  /** What the router knows it by: no group, with mountpoint. */
  readonly routed: string;
  readonly group: string | undefined;
  readonly qos: QoS;
  readonly noLocal: boolean;
  readonly retainAsPublished: boolean;
  readonly retainHandling: 0 | 1 | 2;
  readonly subscriptionId: number | undefined;
  /**
   * What rights were asked for, where a hook has put another filter in its place; null: nobody was asked,
   * because the broker itself subscribed. Without group and mountpoint.
   */
  readonly askedAs?: string | null | undefined;
}

/** What rights are asked for; undefined: for none. */
export function askedFilter({ askedAs, filter }: Subscription): string | undefined {
  if (askedAs === null) return undefined;
  return askedAs ?? parseFilter(filter).filter;
}
