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
  const { rights } = channel.core;
  const { epoch } = rights;
  const asked = askAll(channel, packet, codes);
  const folded =
    asked === undefined
      ? fold(channel, packet, codes)
      : asked.then(() => fold(channel, packet, codes));
  if (!(folded instanceof Promise)) return enter(channel, packet, codes, folded);
  return folded.then((late) =>
    // Whoever asks again what is subscribed to (recheck.ts) has not seen these yet.
    rights.epoch === epoch ? enter(channel, packet, codes, late) : onSubscribe(channel, packet),
  );
}

/** Of one SUBSCRIBE that are under way at once: a packet can have 100 000 filters, and others want answers, too. */
const questionsMax = 16;

/** Access control, for several filters at once when answers take time. */
function askAll(channel: Channel, packet: SubscribePacket, codes: Codes): Wait {
  for (let i = 0; i < codes.length; i++) {
    const wait = askOne(channel, packet, codes, i);
    if (wait !== undefined) return askRest(channel, packet, codes, i + 1, wait);
  }
  return undefined;
}

async function askRest(
  channel: Channel,
  packet: SubscribePacket,
  codes: Codes,
  from: number,
  first: Promise<void>,
): Promise<void> {
  let waits = [first];
  for (let i = from; i < codes.length; i++) {
    const wait = askOne(channel, packet, codes, i);
    if (wait !== undefined) waits.push(wait);
    if (waits.length < questionsMax) continue;
    await Promise.all(waits);
    waits = [];
    if (!channel.isClosed) continue;
    // Nobody is asked for one that has left.
    codes.fill(Reason.notAuthorized, i + 1);
    return;
  }
  await Promise.all(waits);
}

function askOne(channel: Channel, packet: SubscribePacket, codes: Codes, i: number): Wait {
  if (codes[i] !== Reason.success) return undefined;
  const { filter } = packet.filters[i] as SubscribeFilter;
  const settle = (isAllowed: boolean): void => {
    if (isAllowed) return;
    codes[i] = Reason.notAuthorized;
    channel.core.log.info('subscribe.denied', { clientId: channel.publisher.clientId, filter });
  };
  const allowed = askAccess(channel, 'subscribe', parseFilter(filter).filter);
  if (typeof allowed !== 'boolean') return allowed.then(settle);
  settle(allowed);
  return undefined;
}

/** The `client.subscribe` hook may change what is subscribed to, filter by filter. */
function fold(
  channel: Channel,
  packet: SubscribePacket,
  codes: Codes,
): readonly SubscribeFilter[] | Promise<readonly SubscribeFilter[]> {
  const accepted = packet.filters.filter((_, i) => codes[i] === Reason.success);
  const folded = channel.core.hooks.fold(
    'client.subscribe',
    accepted as readonly SubscribeFilter[],
    (call, filters) => call(channel.publisher, filters),
    (filters, answer) => (answer?.length === filters.length ? answer : filters),
  );
  return folded instanceof Promise ? folded.then((late) => late ?? accepted) : (folded ?? accepted);
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
    const { filter: written } = packet.filters[i] as SubscribeFilter;
    const plain = subscriptionOf(channel, wanted, subscriptionId);
    const subscription =
      written === wanted.filter ? plain : { ...plain, askedAs: parseFilter(written).filter };
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
