// SUBSCRIBE: each filter is checked, asked about, entered, and answered with its own code, in order;
// one that is refused does not stop the others. The SUBACK leaves when all of them are stored, the
// retained messages after it.

import { Reason } from '#wire/reason-codes';
import type { SubscribeFilter, SubscribePacket } from '#wire/packet';
import { parseFilter } from '#topics/topic';
import { askAccess } from './access.ts';
import type { Channel } from './channel.ts';
import type { Wait } from './ports.ts';
import type { Session } from './session.ts';
import {
  announce,
  type Entered,
  enterFilter,
  filterRefusal,
  isOverQuota,
  retainedSeen,
  subscriptionOf,
  takeBack,
} from './subscribing.ts';
import { bothWaits } from './wait.ts';

/** Granted so far: 0 to 2; refused: 0x80 and above. */
type Codes = number[];

export function onSubscribe(channel: Channel, packet: SubscribePacket): Wait {
  const codes = packet.filters.map(({ filter }) => filterRefusal(channel.zone, filter));
  const asked = askAll(channel, packet, codes);
  return asked === undefined
    ? foldAndEnter(channel, packet, codes)
    : asked.then(() => foldAndEnter(channel, packet, codes));
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
    if (isOverQuota(session, wanted.filter)) {
      codes[i] = Reason.quotaExceeded;
      continue;
    }
    const subscription = subscriptionOf(channel, wanted, subscriptionId);
    const one = enterFilter(channel.core, session, subscription);
    entered.push(one);
    codes[i] = subscription.qos;
    wait = bothWaits(wait, one.wait);
  }
  if (wait === undefined) return answerWhenSeen(channel, packet, codes, entered);
  return wait.then(
    () => answerWhenSeen(channel, packet, codes, entered),
    (error: unknown) => refuseAll(channel, session, packet, codes, entered, error),
  );
}

function answerWhenSeen(
  channel: Channel,
  packet: SubscribePacket,
  codes: Codes,
  entered: readonly Entered[],
): Wait {
  const seen = retainedSeen(channel.core, entered);
  if (seen !== undefined) return seen.then(() => answer(channel, packet, codes, entered));
  answer(channel, packet, codes, entered);
  return undefined;
}

function refuseAll(
  channel: Channel,
  session: Session,
  packet: SubscribePacket,
  codes: Codes,
  entered: readonly Entered[],
  error: unknown,
): void {
  takeBack(channel.core, session, entered, error);
  const failed = codes.map((code) => (code < 0x80 ? Reason.implementationSpecificError : code));
  answer(channel, packet, failed, []);
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
  for (const one of entered) announce(channel, one);
  const isDenied = codes.includes(Reason.notAuthorized);
  if (isDenied && channel.zone.aclDenyAction === 'disconnect') {
    channel.closeFor(Reason.notAuthorized, 'Cannot subscribe: not authorized');
  }
}
