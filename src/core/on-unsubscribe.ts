// UNSUBSCRIBE: filters are compared character by character with those subscribed [MQTT-3.10.4-1].

import type { UnsubscribePacket } from '#wire/packet';
import { Reason } from '#wire/reason-codes';
import { canonicalFilter } from '#topics/topic';
import type { Channel } from './channel.ts';
import type { Wait } from './ports.ts';
import { bothWaits } from './wait.ts';

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
  if (channel.state !== 'open' || session === undefined) return undefined;
  let wait: Wait;
  const reasonCodes = filters.map((written) => {
    const filter = canonicalFilter(written);
    channel.stopReplay(filter);
    const removed = core.subscriptions.remove(session, filter);
    if (removed === undefined) return Reason.noSubscriptionExisted;
    wait = bothWaits(wait, removed.wait);
    core.hooks.tell('session.unsubscribed', channel.publisher, filter);
    return Reason.success;
  });
  const { packetId } = packet;
  const answer = (): void => {
    channel.send({ type: 'unsuback', packetId, reasonCodes, properties: {} });
  };
  if (wait !== undefined) return wait.then(answer);
  answer();
  return undefined;
}
