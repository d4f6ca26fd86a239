// Rights that have changed hold for what is there already: the live subscriptions of clients that are
// connected are asked about again, and those of a session before it is resumed (the class of
// CVE-2021-34434). Laws: a plain no ends a subscription (revoke.ts); where nobody can tell, a live one
// stays, and a session is not resumed; many questions neither stop the loop nor flood whoever answers.

import { describeError } from '#base/errors';
import { Reason } from '#wire/reason-codes';
import { type Asker, reconsider, type Standing } from './access.ts';
import { channelOf } from './at-session.ts';
import type { Channel } from './channel.ts';
import type { ConnectAttempt } from './connect-attempt.ts';
import type { Core } from './context.ts';
import type { Wait } from './ports.ts';
import { revoke, type Revoked } from './revoke.ts';
import type { Session } from './session.ts';
import { askedFilter, type Subscription } from './subscription.ts';
import { unpromised } from './wait.ts';

/** Asked in one turn: well under a millisecond where rules answer. */
const sliceQuestions = 500;
/** Of one client that are under way at once, and clients. */
const questionsMax = 8;
const clientsMax = 16;

export interface Rechecked {
  /** That lost a subscription. */
  readonly clients: number;
  readonly subscriptions: number;
  /** That waited for them. */
  readonly messages: number;
  /** Subscriptions that nobody could tell about; they stay. */
  readonly undecided: number;
}

/** Every subscription of every client that is connected here. Resolves when what ended is on disk. */
export async function recheckRights(core: Core): Promise<Rechecked> {
  const total = { clients: 0, subscriptions: 0, messages: 0, undecided: 0 };
  const waits: Promise<void>[] = [];
  const settle = (channel: Channel, session: Session, found: Found): void => {
    total.undecided += found.undecided;
    const ended = endDenied(channel, session, found.denied);
    if (ended === undefined) return;
    total.clients++;
    total.subscriptions += ended.subscriptions.length;
    total.messages += ended.messages;
    if (ended.wait !== undefined) waits.push(ended.wait);
  };
  const busy = new Set<Promise<void>>();
  let work = 0;
  core.rights.forgetAll();
  for (const session of core.sessions.values()) {
    const channel = channelOf(session);
    const found =
      channel?.isControlled === true && ask(channel, [...session.subscriptions.values()]);
    if (found instanceof Promise) {
      const one: Promise<void> = found
        .then((late) => settle(channel as Channel, session, late))
        .finally(() => busy.delete(one));
      busy.add(one);
      if (busy.size >= clientsMax) await Promise.race(busy);
    } else if (found !== false) settle(channel as Channel, session, found);
    work += found === false ? 1 : 1 + session.subscriptions.size;
    if (work < sliceQuestions) continue;
    work = 0;
    await nextTurn();
  }
  await Promise.all(busy);
  await Promise.allSettled(waits);
  if (total.undecided > 0) core.log.warn('recheck.undecided', { subscriptions: total.undecided });
  return total;
}

/** The same for one client, after another verdict about it. */
export function recheckClient(channel: Channel): Wait {
  const { session, core, isControlled } = channel;
  if (session === undefined || !isControlled || !core.settings.acl.isRechecked) return undefined;
  const found = ask(channel, [...session.subscriptions.values()]);
  if (found instanceof Promise) {
    return found.then((late) => endDenied(channel, session, late.denied)?.wait);
  }
  return endDenied(channel, session, found.denied)?.wait;
}

/** Undefined: nothing has ended. */
function endDenied(
  channel: Channel,
  session: Session,
  denied: readonly Subscription[],
): Revoked | undefined {
  if (channel.isClosed || session.link !== channel) return undefined;
  const filters = filtersOf(session, denied);
  if (filters.length === 0) return undefined;
  const { core, publisher, zone } = channel;
  let ended: Revoked;
  try {
    ended = revoke(core, session, filters, publisher);
  } catch (error) {
    // It ends this client; its subscriptions are asked about again when it comes back.
    channel.onFault(error);
    return undefined;
  }
  for (const filter of filters) channel.stopReplay(filter);
  // MQTT knows no other word for it. Before version 5 there is none, only the end.
  if (channel.isV5 || zone.aclDenyAction === 'disconnect') {
    const more = filters.length === 1 ? '' : ` and ${filters.length - 1} more`;
    const text = `Cannot keep the subscription to "${filters[0]}"${more}: not authorized any more`;
    channel.closeFor(Reason.notAuthorized, text);
  } else session.out.pump();
  return ended;
}

/** Those that are still as they were when they were asked about. */
function filtersOf(session: Session, denied: readonly Subscription[]): string[] {
  return denied.flatMap((one) => (session.subscriptions.get(one.filter) === one ? one.filter : []));
}

/**
 * A stage of CONNECT: what the session is subscribed to is asked about with the rights of the client that
 * now connects, and what it has lost is gone before anything is sent.
 */
export function recheckSession(attempt: ConnectAttempt): Wait {
  const { channel, packet, clientId, provenUsername } = attempt;
  const { core, mountpoint, isControlled } = channel;
  if (!isControlled || packet.cleanStart || !core.settings.acl.isRechecked) return undefined;
  const isEmpty = (core.sessions.find(clientId)?.subscriptions.size ?? 0) === 0;
  if (isEmpty || !core.peers.owns(clientId)) return undefined;
  const session = core.sessions.resumable({
    clientId,
    cleanStart: false,
    provenUsername,
    mountpoint,
  });
  return session && askSession(attempt, session);
}

function askSession(attempt: ConnectAttempt, session: Session): Wait {
  const { channel } = attempt;
  const { rights, sessions } = channel.core;
  const { epoch } = rights;
  const found = ask(channel, [...session.subscriptions.values()]);
  if (!(found instanceof Promise)) {
    judge(attempt, session, found);
    return undefined;
  }
  return found.then((late) => {
    if (attempt.isDone || sessions.find(session.clientId) !== session) return undefined;
    if (rights.epoch !== epoch) return askSession(attempt, session);
    judge(attempt, session, late);
    return undefined;
  });
}

function judge(attempt: ConnectAttempt, session: Session, { denied, undecided }: Found): void {
  const { core, publisher } = attempt.channel;
  if (undecided > 0) {
    const text = 'Cannot connect: rights to the subscriptions of the session cannot be checked now';
    attempt.refuse(Reason.serverUnavailable, text);
    return;
  }
  const filters = filtersOf(session, denied);
  if (filters.length === 0) return;
  try {
    unpromised(revoke(core, session, filters, publisher).wait);
  } catch (error) {
    core.log.warn('recheck.failed', { clientId: session.clientId, error: describeError(error) });
    attempt.refuse(Reason.serverUnavailable, 'Cannot connect: the session cannot be read now');
  }
}

interface Found {
  readonly denied: readonly Subscription[];
  readonly undecided: number;
}

/** In this turn, unless an answer takes time or there are very many questions. */
function ask(asker: Asker, subscriptions: readonly Subscription[]): Found | Promise<Found> {
  const found = { denied: [] as Subscription[], undecided: 0 };
  const take = (subscription: Subscription, standing: Standing): void => {
    if (standing === 'denied') found.denied.push(subscription);
    else if (standing === 'unknown') found.undecided++;
  };
  for (const [i, subscription] of subscriptions.entries()) {
    if (i === sliceQuestions) {
      return askSlowly(asker, subscriptions.slice(i), take).then(() => found);
    }
    const standing = standingOf(asker, subscription);
    if (typeof standing === 'string') take(subscription, standing);
    else {
      return standing
        .then((late) => take(subscription, late))
        .then(() => askSlowly(asker, subscriptions.slice(i + 1), take))
        .then(() => found);
    }
  }
  return found;
}

async function askSlowly(
  asker: Asker,
  subscriptions: readonly Subscription[],
  take: (subscription: Subscription, standing: Standing) => void,
): Promise<void> {
  for (let i = 0; i < subscriptions.length; i += questionsMax) {
    if (i % sliceQuestions < questionsMax) await nextTurn();
    const some = subscriptions.slice(i, i + questionsMax);
    await Promise.all(some.map(async (one) => take(one, await standingOf(asker, one))));
  }
}

function standingOf(asker: Asker, subscription: Subscription): Standing | Promise<Standing> {
  const filter = askedFilter(subscription);
  return filter === undefined ? 'allowed' : reconsider(asker, 'subscribe', filter);
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
