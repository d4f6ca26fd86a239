// Entering a filter for a session, whoever asked for it: a SUBSCRIBE of its client (on-subscribe.ts) or
// management (at-session.ts). Law: a subscription is confirmed when it is stored and everybody knows of
// it; one that would not survive is none, and what was there before stays.

import { describeError } from '#base/errors';
import type { SubscribeFilter } from '#wire/packet';
import { Reason } from '#wire/reason-codes';
import {
  canonicalFilter,
  filterFault,
  hasWildcard,
  levelCount,
  mount,
  parseFilter,
} from '#topics/topic';
import type { ZoneSettings } from '#config/settings';
import type { Channel } from './channel.ts';
import type { Core } from './context.ts';
import { retainedFilter } from './past-rights.ts';
import type { Wait } from './ports.ts';
import { Replay } from './replay.ts';
import type { Session } from './session.ts';
import type { Subscription } from './subscription.ts';
import type { Added } from './subscriptions.ts';
import { unpromised } from './wait.ts';

/** A filter that has been entered, and what it replaced. */
export interface Entered extends Added {
  readonly subscription: Subscription;
  readonly before: Subscription | undefined;
}

/** What forbids a filter whoever asks; 0: nothing. */
export function filterRefusal(zone: ZoneSettings, filter: string): number {
  if (filterFault(filter) !== undefined) return Reason.topicFilterInvalid;
  const { group, filter: inner } = parseFilter(filter);
  if (zone.maxTopicLevels > 0 && levelCount(inner) > zone.maxTopicLevels) {
    return Reason.topicFilterInvalid;
  }
  if (group !== undefined && !zone.sharedSubscription) {
    return Reason.sharedSubscriptionsNotSupported;
  }
  if (hasWildcard(inner) && !zone.wildcardSubscription) {
    return Reason.wildcardSubscriptionsNotSupported;
  }
  return Reason.success;
}

export function isOverQuota(session: Session, filter: string): boolean {
  const { maxSubscriptions } = session.zone;
  if (maxSubscriptions === 0 || session.subscriptions.size < maxSubscriptions) return false;
  return !session.subscriptions.has(canonicalFilter(filter));
}

/** Under which circumstances a filter is subscribed to; a channel is one. */
export interface SubscribePlace {
  readonly zone: ZoneSettings;
  readonly mountpoint: string;
  readonly isV5: boolean;
}

export function subscriptionOf(
  { zone, isV5, mountpoint }: SubscribePlace,
  wanted: SubscribeFilter,
  subscriptionId: number | undefined,
): Subscription {
  const { group, filter } = parseFilter(wanted.filter);
  return {
    filter: canonicalFilter(wanted.filter),
    routed: mount(mountpoint, filter),
    group,
    qos: wanted.qos > zone.maxQosAllowed ? zone.maxQosAllowed : wanted.qos, // [MQTT-3.2.2-10]
    // A group is one receiver: what one member must not see, another may not either.
    noLocal: group === undefined && (wanted.noLocal || (!isV5 && zone.ignoreLoopDeliver)),
    retainAsPublished: wanted.retainAsPublished,
    retainHandling: wanted.retainHandling,
    subscriptionId,
  };
}

export function enterFilter(core: Core, session: Session, subscription: Subscription): Entered {
  const before = session.subscriptions.get(subscription.filter);
  const { delivery, wait } = core.subscriptions.add(session, subscription);
  return { subscription, before, delivery, wait };
}

/**
 * Everybody knows of the subscriptions now: what is published from here on comes by itself, what was
 * retained before has to be seen, in other workers too.
 */
export function retainedSeen(core: Core, entered: readonly Entered[]): Wait {
  return entered.some(wantsRetained) ? core.peers.retainedFlushed() : undefined;
}

/** [MQTT-3.3.1-9] to [MQTT-3.3.1-11]; a group of many is never sent them. */
function wantsRetained({ subscription, before }: Entered): boolean {
  const { group, retainHandling } = subscription;
  if (group !== undefined) return false;
  return retainHandling === 0 || (retainHandling === 1 && before === undefined);
}

/** The client has been told, or need not be: its retained messages, and everybody else. */
export function announce(channel: Channel, entered: Entered): void {
  const { core, publisher } = channel;
  const { hooks, retained, log } = core;
  const { subscription, before, delivery } = entered;
  const { filter, qos, routed, noLocal, retainAsPublished, retainHandling } = subscription;
  if (wantsRetained(entered)) {
    const isWanted = retainedFilter(core, publisher);
    channel.replay(new Replay(retained, filter, routed, delivery, isWanted));
  }
  log.debug('client.subscribed', { clientId: publisher.clientId, filter, qos });
  const isNew = before === undefined;
  const options = { qos, noLocal, retainAsPublished, retainHandling };
  hooks.tell('session.subscribed', publisher, { filter, ...options, isNew });
}

/** The store failed. */
export function takeBack(
  { subscriptions, log }: Core,
  session: Session,
  entered: readonly Entered[],
  error: unknown,
): void {
  // The store has raised an alarm; a line for each of its victims would say nothing more.
  log.debug('store.failed', { clientId: session.clientId, error: describeError(error) });
  for (const { subscription, before } of entered) {
    // The session may be over, or have been subscribed again on another connection.
    if (session.subscriptions.get(subscription.filter) !== subscription) continue;
    if (before === undefined) unpromised(subscriptions.remove(session, subscription.filter)?.wait);
    else unpromised(subscriptions.add(session, before).wait);
  }
}
