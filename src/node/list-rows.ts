// What management shows of a connection, a session, a subscription and a route, as plain facts that can go
// from thread to thread. How they are named and written outside is for the floor above.

import { Channel } from '#core/channel';
import { entryBytes, messageBytes } from '#core/held-bytes';
import type { PeerInfo } from '#core/ports';
import type { Session } from '#core/session';
import type { OrderedSubscription } from '#core/session-order';

/** Any row. What the others are is a type and not an interface, so that it is one of these, too. */
export type Row = Readonly<Record<string, string | number | boolean | undefined>>;

export type ConnectionFacts = {
  readonly clientId: string;
  readonly username: string | undefined;
  readonly zone: string;
  /** `mqtt:tcp`, `mqtt:ws`, … */
  readonly listener: string;
  readonly address: string;
  readonly port: number;
  /** PEM, or a word: nossl (no TLS), undefined (TLS, and the client showed none). */
  readonly certificate: string;
  readonly version: number;
  readonly protocolName: string;
  readonly isBridge: boolean;
  readonly cleanStart: boolean;
  readonly keepaliveSeconds: number;
  readonly connectedAtMs: number;
  readonly receivedReads: number;
  readonly receivedBytes: number;
  readonly receivedPackets: number;
  readonly receivedMessages: number;
  readonly sentWrites: number;
  readonly sentBytes: number;
  readonly sentPackets: number;
  readonly sentMessages: number;
  /** In the outbox: the socket has not taken them. */
  readonly pendingBytes: number;
  /** Messages that wait for the client's window. */
  readonly queued: number;
  readonly heldBytes: number;
};

export type SessionFacts = {
  readonly clientId: string;
  readonly username: string | undefined;
  readonly isConnected: boolean;
  readonly cleanStart: boolean;
  readonly createdAtMs: number;
  /** Infinity: never. */
  readonly expirySeconds: number;
  readonly subscriptions: number;
  readonly inflight: number;
  readonly queued: number;
  readonly dropped: number;
  readonly awaitingRel: number;
  readonly delivered: number;
  readonly enqueued: number;
  readonly heldBytes: number;
  readonly inflightMax: number;
  /** 0 in these three: no limit. */
  readonly queuedMax: number;
  readonly awaitingRelMax: number;
  readonly subscriptionsMax: number;
};

export type SubscriptionFacts = {
  readonly clientId: string;
  /** The filter alone, of a shared subscription too. */
  readonly topic: string;
  /** As the client wrote it. */
  readonly filter: string;
  readonly qos: number;
};

export type RouteFacts = {
  readonly topic: string;
};

/** Undefined: its client has just left. */
export function connectionFacts(session: Session): ConnectionFacts | undefined {
  const { link, out } = session;
  if (!(link instanceof Channel) || link.client === undefined) return undefined;
  const { client, transport, outbox } = link;
  const { counters } = transport;
  return {
    clientId: client.clientId,
    username: client.username,
    zone: client.zone,
    listener: client.listener,
    address: client.address,
    port: client.port,
    certificate: certificateOf(transport.peer),
    version: client.version,
    protocolName: client.protocolName,
    isBridge: client.isBridge,
    cleanStart: client.cleanStart,
    keepaliveSeconds: client.keepaliveSeconds,
    connectedAtMs: client.connectedAtMs,
    receivedReads: counters.receivedReads,
    receivedBytes: counters.receivedBytes,
    receivedPackets: link.receivedPackets,
    receivedMessages: link.receivedMessages,
    sentWrites: counters.sentWrites,
    sentBytes: counters.sentBytes,
    sentPackets: link.sentPackets,
    sentMessages: link.sentMessages,
    pendingBytes: outbox.bytes,
    queued: out.queue.length,
    heldBytes: heldBytesOf(session) + outbox.bytes,
  };
}

function certificateOf({ tls }: PeerInfo): string {
  return tls === undefined ? 'nossl' : (tls.certificate ?? 'undefined');
}

/**
 * What its messages in memory take, without payloads: to add those up would mean to visit every message
 * of every queue for a list.
 */
function heldBytesOf({ out }: Session): number {
  return (out.queue.heldCount + out.window.inflight.size) * (messageBytes + entryBytes);
}

const windowMax = 0xffff;

export function sessionFacts(session: Session): SessionFacts {
  const { out, zone } = session;
  return {
    clientId: session.clientId,
    username: session.username,
    isConnected: session.isConnected,
    cleanStart: session.cleanStart,
    createdAtMs: session.createdAtMs,
    expirySeconds: session.expirySeconds,
    subscriptions: session.subscriptions.size,
    inflight: out.window.inflight.size,
    queued: queuedOf(session),
    dropped: out.queue.dropped,
    awaitingRel: session.awaitingRel.size,
    delivered: out.delivered,
    enqueued: out.enqueued,
    heldBytes: heldBytesOf(session),
    // Of one that no client has come back to since the start only the zone is known.
    inflightMax: out.window.size || zone.maxInflight || windowMax,
    queuedMax: zone.maxMqueueLen,
    awaitingRelMax: zone.maxAwaitingRel,
    subscriptionsMax: zone.maxSubscriptions,
  };
}

/** Those on disk too. A disk that cannot be read does not take the rest of the list along. */
function queuedOf({ out }: Session): number {
  try {
    return out.queue.length;
  } catch {
    // The store has raised an alarm.
    return out.queue.heldCount;
  }
}

export function subscriptionFacts(
  { clientId }: Session,
  { topic, subscription }: OrderedSubscription,
): SubscriptionFacts {
  const { filter, qos } = subscription;
  return { clientId, topic, filter, qos };
}
