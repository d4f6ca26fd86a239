// Ending subscriptions whose client has no right to them any more, with all that waits for them. Laws:
// it happens in one turn, so that a crash leaves all of it or nothing; what another subscription of the
// session stands for stays; nothing of what goes is ever sent again, under no packet id.

import { Reason } from '#wire/reason-codes';
import { matches } from '#topics/match';
import type { ClientInfo } from '#hooks/table';
import type { Core } from './context.ts';
import type { Delivery } from './delivery.ts';
import { Phase } from './inflight.ts';
import type { Message } from './message.ts';
import type { Queued } from './mqueue.ts';
import type { Outflow } from './outflow.ts';
import type { Wait } from './ports.ts';
import type { Session } from './session.ts';
import { packetIdOf } from './session-journal.ts';
import { askedFilter, type Subscription } from './subscription.ts';
import { bothWaits } from './wait.ts';

export interface Revoked {
  readonly subscriptions: readonly Subscription[];
  /** Dropped with them. */
  readonly messages: number;
  /**
   * Until it is on disk. Rejects when the store does not take the end of a subscription: it stays ended,
   * and would be asked about again when a restart has brought it back.
   */
  readonly wait: Wait;
}

type IsRevoked = (message: Message, delivery: Delivery) => boolean;

/** Throws when what waits on disk cannot be read; then everything is as before. */
export function revoke(
  core: Core,
  session: Session,
  filters: readonly string[],
  client: ClientInfo,
): Revoked {
  session.out.queue.load();
  let wait: Wait;
  const subscriptions = filters.flatMap((filter) => {
    // What waits in a shared subscription goes to its other members.
    const left = core.subscriptions.remove(session, filter);
    wait = bothWaits(wait, left?.wait);
    return left?.removed ?? [];
  });
  const dropped = withdraw(session.out, revokedBy(subscriptions, session.subscriptions));
  let messages = 0;
  for (const { message, delivery } of dropped) {
    if (delivery.group !== undefined) delivery.group.redispatch(message, session);
    else {
      messages++;
      session.drop(message, 'not_authorized');
    }
  }
  for (const subscription of subscriptions) tell(core, client, subscription);
  return { subscriptions, messages, wait };
}

function tell({ hooks, log }: Core, client: ClientInfo, subscription: Subscription): void {
  const { filter } = subscription;
  const { clientId, username } = client;
  log.info('subscription.revoked', { clientId, username, filter });
  hooks.tell('client.denied', client, 'subscribe', askedFilter(subscription) ?? filter);
  hooks.tell('session.unsubscribed', client, filter);
}

function revokedBy(
  gone: readonly Subscription[],
  left: ReadonlyMap<string, Subscription>,
): IsRevoked {
  return ({ topic }, { group }) => {
    if (group !== undefined) {
      return gone.some((one) => one.group === group.name && one.routed === group.filter);
    }
    const isFor = ({ routed }: Subscription): boolean => matches(routed, topic);
    return gone.some(isFor) && !left.values().some(isFor);
  };
}

/** Answers what is not the client's any more, those of shared subscriptions for others to have. */
function withdraw(out: Outflow, isRevoked: IsRevoked): Queued[] {
  const dropped = out.takeUnacked(isRevoked);
  for (const entry of out.window.inflight.inOrder()) {
    const { message, delivery, phase, seq, receipt } = entry;
    if (phase !== Phase.awaitPubrec || !message || !isRevoked(message, delivery)) continue;
    dropped.push({ message, delivery: alone(delivery), seq, receipt, mayBeSent: true });
    finishBlindly(out, entry);
  }
  for (const queued of out.queue.extract((one) => isRevoked(one.message, one.delivery))) {
    const { message, delivery, seq, receipt } = queued;
    const { inflight } = out.window;
    // An id that another message has was not given to this one.
    const mayBeHad = queued.mayBeSent && out.qosFor(message, delivery) === 2;
    if (mayBeHad && inflight.get(packetIdOf(seq)) === undefined) {
      dropped.push({ ...queued, delivery: alone(delivery) });
      const entry = inflight.addStored(seq, receipt, message, delivery, Phase.awaitPubrec, 0);
      entry.isOutstanding = false;
      finishBlindly(out, entry);
    } else {
      dropped.push(queued);
      out.leftQueue(queued);
    }
  }
  return dropped;
}

/** [MQTT-4.8.2-5] A QoS 2 message that the client may have is nobody else's. */
function alone(delivery: Delivery): Delivery {
  return delivery.group === undefined ? delivery : { ...delivery, group: undefined };
}

/**
 * The client may have it, and would take another one under its packet id for the same. PUBREL ends it
 * there either way: who has it is done with it, who has not answers that it knows no such id.
 */
function finishBlindly(out: Outflow, entry: Parameters<Outflow['received']>[0]): void {
  out.received(entry, Reason.notAuthorized);
}
