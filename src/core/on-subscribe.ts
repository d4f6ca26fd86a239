// SUBSCRIBE: each filter is checked, asked about, entered, and answered with its own code, in order;
// one that is refused does not stop the others. The SUBACK leaves when all of them are stored, the
// retained messages after it.

import { describeError } from '#base/errors';
import { Reason } from '#wire/reason-codes';
import type { SubscribeFilter, SubscribePacket } from '#wire/packet';
import {
  canonicalFilter,
  filterFault,
  hasWildcard,
  levelCount,
  mount,
  parseFilter,
} from '#topics/topic';
import { askAccess } from './access.ts';
import type { Channel } from './channel.ts';
import type { Delivery } from './delivery.ts';
import type { Wait } from './ports.ts';
import { Replay } from './replay.ts';
import type { Session } from './session.ts';
import type { Subscription } from './subscription.ts';
import { bothWaits, unpromised } from './wait.ts';

/** Granted so far: 0 to 2; refused: 0x80 and above. */
type Codes = number[];

export function onSubscribe(channel: Channel, packet: SubscribePacket): Wait {
  const codes = packet.filters.map((wanted) => refusalOf(channel, wanted));
  const asked = askAll(channel, packet, codes);
  return asked === undefined
    ? foldAndEnter(channel, packet, codes)
    : asked.then(() => foldAndEnter(channel, packet, codes));
}

/** What forbids a filter whoever asks; 0: nothing. */
function refusalOf({ zone }: Channel, { filter }: SubscribeFilter): number {
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

/** Access control, for all filters at once when some answers take time. */
function askAll(channel: Channel, packet: SubscribePacket, codes: Codes): Wait {
  let wait: Wait;
  packet.filters.forEach(({ filter }, i) => {
    if (codes[i] !== Reason.success) return;
    const settle = (isAllowed: boolean): void => {
      if (isAllowed) return;
      codes[i] = Reason.notAuthorized;
      channel.core.log.info('subscribe.denied', { clientId: channel.publisher.clientId, filter });
    };
    const allowed = askAccess(channel, 'subscribe', parseFilter(filter).filter);
    if (typeof allowed === 'boolean') settle(allowed);
    else wait = bothWaits(wait, allowed.then(settle));
  });
  return wait;
}

/** The `client.subscribe` hook may change what is subscribed to, filter by filter. */
function foldAndEnter(channel: Channel, packet: SubscribePacket, codes: Codes): Wait {
  const accepted = packet.filters.filter((_, i) => codes[i] === Reason.success);
  const folded = channel.core.hooks.fold(
    'client.subscribe',
    accepted as readonly SubscribeFilter[],
    (call, filters) => call(channel.publisher, filters),
    (filters, answer) => (answer?.length === filters.length ? answer : filters),
  );
  if (folded instanceof Promise) {
    return folded.then((late) => enter(channel, packet, codes, late ?? accepted));
  }
  return enter(channel, packet, codes, folded ?? accepted);
}

/** A filter that has been entered, and what it replaced. */
interface Entered {
  readonly subscription: Subscription;
  readonly before: Subscription | undefined;
  readonly delivery: Delivery;
}

function enter(
  channel: Channel,
  packet: SubscribePacket,
  codes: Codes,
  accepted: readonly SubscribeFilter[],
): Wait {
  const { session } = channel;
  if (channel.isClosed || session === undefined) return undefined;
  const subscriptionId = packet.properties.subscriptionIds?.[0];
  const entered: Entered[] = [];
  let wait: Wait;
  let next = 0;
  for (let i = 0; i < codes.length; i++) {
    if (codes[i] !== Reason.success) continue;
    const wanted = accepted[next++] as SubscribeFilter;
    if (isOverQuota(session, wanted)) {
      codes[i] = Reason.quotaExceeded;
      continue;
    }
    const subscription = subscriptionOf(channel, wanted, subscriptionId);
    const before = session.subscriptions.get(subscription.filter);
    const added = channel.core.subscriptions.add(session, subscription);
    entered.push({ subscription, before, delivery: added.delivery });
    codes[i] = subscription.qos;
    wait = bothWaits(wait, added.wait);
  }
  if (wait === undefined) return answerWhenSeen(channel, packet, codes, entered);
  return wait.then(
    () => answerWhenSeen(channel, packet, codes, entered),
    (error: unknown) => takeBack(channel, session, packet, codes, entered, error),
  );
}

/**
 * Everybody knows of the subscriptions now: what is published from here on comes by itself, what was
 * retained before has to be seen, in other workers too.
 */
function answerWhenSeen(
  channel: Channel,
  packet: SubscribePacket,
  codes: Codes,
  entered: readonly Entered[],
): Wait {
  const flushed = entered.some(wantsRetained) ? channel.core.peers.retainedFlushed() : undefined;
  if (flushed !== undefined) return flushed.then(() => answer(channel, packet, codes, entered));
  answer(channel, packet, codes, entered);
  return undefined;
}

function isOverQuota(session: Session, { filter }: SubscribeFilter): boolean {
  const { maxSubscriptions } = session.zone;
  if (maxSubscriptions === 0 || session.subscriptions.size < maxSubscriptions) return false;
  return !session.subscriptions.has(canonicalFilter(filter));
}

function subscriptionOf(
  { zone, isV5, mountpoint }: Channel,
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

/** The store failed: a subscription that would not survive is none, and what was there stays. */
function takeBack(
  channel: Channel,
  session: Session,
  packet: SubscribePacket,
  codes: Codes,
  entered: readonly Entered[],
  error: unknown,
): void {
  const { subscriptions, log } = channel.core;
  // The store has raised an alarm; a line for each of its victims would say nothing more.
  log.debug('store.failed', { clientId: session.clientId, error: describeError(error) });
  for (const { subscription, before } of entered) {
    // The session may be over, or have been subscribed again on another connection.
    if (session.subscriptions.get(subscription.filter) !== subscription) continue;
    if (before === undefined) unpromised(subscriptions.remove(session, subscription.filter)?.wait);
    else unpromised(subscriptions.add(session, before).wait);
  }
  const failed = codes.map((code) => (code < 0x80 ? Reason.implementationSpecificError : code));
  answer(channel, packet, failed, []);
}

/** [MQTT-3.3.1-9] to [MQTT-3.3.1-11]; a group of many is never sent them. */
function wantsRetained({ subscription, before }: Entered): boolean {
  const { group, retainHandling } = subscription;
  if (group !== undefined) return false;
  return retainHandling === 0 || (retainHandling === 1 && before === undefined);
}

function answer(
  channel: Channel,
  packet: SubscribePacket,
  codes: Codes,
  entered: readonly Entered[],
): void {
  channel.send({
    type: 'suback',
    packetId: packet.packetId,
    // Before MQTT 5 there is one code for every refusal [v3 MQTT-3.9.3-2].
    reasonCodes: channel.isV5 ? codes : codes.map((code) => (code >= 0x80 ? 0x80 : code)),
    properties: {},
  });
  const { hooks, retained, log } = channel.core;
  for (const one of entered) {
    const { filter, qos, routed } = one.subscription;
    if (wantsRetained(one)) channel.replay(new Replay(retained, filter, routed, one.delivery));
    const isNew = one.before === undefined;
    log.debug('client.subscribed', { clientId: channel.publisher.clientId, filter, qos });
    hooks.tell('session.subscribed', channel.publisher, { filter, qos, isNew });
  }
  const isDenied = codes.includes(Reason.notAuthorized);
  if (isDenied && channel.zone.aclDenyAction === 'disconnect') {
    channel.closeFor(Reason.notAuthorized, 'Cannot subscribe: not authorized');
  }
}
