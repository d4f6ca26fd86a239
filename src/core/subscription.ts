// One entry of a session's list of subscriptions, as the client wrote it.

import type { QoS } from '#wire/packet';

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
}
