// UNSUBSCRIBE: filters are compared character by character with those subscribed [MQTT-3.10.4-1].

import { describeError } from '#base/errors';
import type { UnsubscribePacket } from '#wire/packet';
import { Reason } from '#wire/reason-codes';
import { canonicalFilter } from '#topics/topic';
import type { Channel } from './channel.ts';
import type { Core } from './context.ts';
import type { Wait } from './ports.ts';
import type { Session } from './session.ts';
import type { Subscription } from './subscription.ts';
import { bothWaits, unpromised } from './wait.ts';

export function onUnsubscribe(channel: Channel, packet: UnsubscribePacket): Wait {
  const folded = channel.core.hooks.fold(
    'client.unsubscribe',
    packet.filters as readonly string[],
    (call, filters) => call(channel.publisher, filters),
    (filters, answer) => (answer?.length === filters.length ? answer : filters),
  );
  if (folded instanceof Promise) {
    return folded.then((late) => leave(channel, packet, late ?? packet.filters));
  }
  return leave(channel, packet, folded ?? packet.filters);
}

function leave(channel: Channel, packet: UnsubscribePacket, filters: readonly string[]): Wait {
  const { session, core } = channel;
  if (channel.isClosed || session === undefined) return undefined;
  // Also when there is nothing to remove: a removal told before may not be on disk yet.
  let wait: Wait = session.journal?.wait;
  const removed: (Subscription | undefined)[] = filters.map((written) => {
    const filter = canonicalFilter(written);
    channel.stopReplay(filter);
    const left = core.subscriptions.remove(session, filter);
    wait = bothWaits(wait, left?.wait);
    return left?.removed;
  });
  if (wait === undefined) {
    answer(channel, packet, removed);
    return undefined;
  }
  return wait.then(
    () => answer(channel, packet, removed),
    (error: unknown) => restore(channel, session, packet, removed, error),
  );
}

function answer(
  channel: Channel,
  { packetId }: UnsubscribePacket,
  removed: readonly (Subscription | undefined)[],
): void {
  const reasonCodes = removed.map((one) =>
    one === undefined ? Reason.noSubscriptionExisted : Reason.success,
  );
  channel.send({ type: 'unsuback', packetId, reasonCodes, properties: {} });
  for (const one of removed) {
    if (one === undefined) continue;
    channel.core.hooks.tell('session.unsubscribed', channel.publisher, one.filter);
  }
}

/** The store failed: the subscriptions would be back after a restart, so they stay. */
function restore(
  channel: Channel,
  session: Session,
  { packetId }: UnsubscribePacket,
  removed: readonly (Subscription | undefined)[],
  error: unknown,
): void {
  // The store has raised an alarm; a line for each of its victims would say nothing more.
  const { log } = channel.core;
  log.debug('store.failed', { clientId: session.clientId, error: describeError(error) });
  const reasonCodes = removed.map((one) => {
    if (one === undefined) return Reason.noSubscriptionExisted;
    putBack(channel.core, session, one);
    return Reason.implementationSpecificError;
  });
  // Before MQTT 5 an UNSUBACK can only say yes.
  if (channel.isV5) channel.send({ type: 'unsuback', packetId, reasonCodes, properties: {} });
  else channel.close('store_failed');
}

/** A subscription whose removal could not be stored. */
export function putBack(
  { sessions, subscriptions }: Core,
  session: Session,
  removed: Subscription,
): void {
  // The session may be over, or have been subscribed again on another connection.
  if (sessions.find(session.clientId) !== session) return;
  if (session.subscriptions.has(removed.filter)) return;
  unpromised(subscriptions.add(session, removed).wait);
}
