// Subscribing and unsubscribing a session on behalf of its client, which may be connected or not. It goes
// the way of a SUBSCRIBE without its questions: nobody is asked for rights, and `client.subscribe` is
// not folded; the limits of the zone hold, the store has it before it is confirmed.

import type { QoS, SubscribeFilter } from '#wire/packet';
import { Reason } from '#wire/reason-codes';
import { canonicalFilter, filterFault } from '#topics/topic';
import { Channel } from './channel.ts';
import type { Core } from './context.ts';
import { putBack } from './on-unsubscribe.ts';
import type { Session } from './session.ts';
import {
  announce,
  enterFilter,
  filterRefusal,
  isOverQuota,
  retainedSeen,
  subscriptionOf,
  takeBack,
} from './subscribing.ts';
import type { Subscription } from './subscription.ts';

/** bad_topic: not a filter, or one that the zone of the client does not allow. */
export type AtSession = 'ok' | 'bad_topic';

/** Rejects when the store does not take it; then everything is as before. */
export async function subscribeSession(
  core: Core,
  session: Session,
  filter: string,
  qos: QoS,
): Promise<AtSession> {
  if (filterRefusal(session.zone, filter) !== Reason.success) return 'bad_topic';
  if (isOverQuota(session, filter)) return 'bad_topic';
  const entered = enterFilter(core, session, wantedBy(session, filter, qos));
  try {
    await entered.wait;
  } catch (error) {
    takeBack(core, session, [entered], error);
    throw error;
  }
  await retainedSeen(core, [entered]);
  const channel = channelOf(session);
  // It may have been unsubscribed again meanwhile.
  const isThere = session.subscriptions.get(entered.subscription.filter) === entered.subscription;
  if (channel !== undefined && isThere) announce(channel, entered);
  return 'ok';
}

/** What management does not speak of stays as the client wants it. */
function wantedBy(session: Session, filter: string, qos: QoS): Subscription {
  const before = session.subscriptions.get(canonicalFilter(filter));
  const wanted: SubscribeFilter = {
    filter,
    qos,
    noLocal: before?.noLocal ?? false,
    retainAsPublished: before?.retainAsPublished ?? false,
    retainHandling: 0,
  };
  const { zone, mountpoint } = session;
  const isV5 = channelOf(session)?.isV5 ?? false;
  const subscription = subscriptionOf({ zone, mountpoint, isV5 }, wanted, before?.subscriptionId);
  return { ...subscription, askedAs: null };
}

/** Also `ok` when it was not subscribed. Rejects when the store does not take it. */
export async function unsubscribeSession(
  core: Core,
  session: Session,
  written: string,
): Promise<AtSession> {
  if (filterFault(written) !== undefined) return 'bad_topic';
  const filter = canonicalFilter(written);
  channelOf(session)?.stopReplay(filter);
  const left = core.subscriptions.remove(session, filter);
  try {
    // Also when there is nothing to remove: a removal told before may not be on disk yet.
    await (left?.wait ?? session.journal?.wait);
  } catch (error) {
    if (left !== undefined) putBack(core, session, left.removed);
    throw error;
  }
  const channel = channelOf(session);
  if (channel !== undefined && left !== undefined) {
    core.hooks.tell('session.unsubscribed', channel.publisher, filter);
  }
  return 'ok';
}

/** The connection of its client, while there is one. */
export function channelOf(session: Session): Channel | undefined {
  return session.link instanceof Channel ? session.link : undefined;
}
