// What would become of a message if it were published now: the same decisions as session.ts, outflow.ts
// and shared-groups.ts make, without making them. Law: nothing here changes anything, takes a turn, or
// is told to anybody. That it foresees what then happens is shown by test/rest/explain-model.test.ts.

import type { QoS } from '#wire/packet';
import type { DropReason } from '#hooks/table';
import { type Delivery, mergeDeliveries, qosOf, type Subscriber } from './delivery.ts';
import type { FilterNode } from './filter-node.ts';
import type { FilterTable } from './filter-table.ts';
import type { Message } from './message.ts';
import { Session } from './session.ts';

/** One session that would be given the message. */
export interface Receiver {
  readonly clientId: string;
  /** Those of its filters that match, with mountpoint. */
  readonly filters: readonly string[];
  readonly isConnected: boolean;
  readonly queue: QueueState;
  readonly fate: Fate;
}

export interface Fate {
  readonly would: 'send' | 'queue' | 'drop';
  /** Of the message as this client gets it. */
  readonly qos: QoS;
  /** Why it is not sent at once; moving: the session is on its way to another worker. */
  readonly why: DropReason | 'offline' | 'window_full' | 'older_first' | 'moving' | undefined;
  /** The queue is full: the oldest message in it would be dropped for this one. */
  readonly dropsOldest: boolean;
}

export interface QueueState {
  readonly inflight: number;
  /** So many may be in flight; 0 while the client is away. */
  readonly window: number;
  readonly queued: number;
  /** 0: no limit. */
  readonly max: number;
  readonly isFull: boolean;
}

/** A session with all that it subscribes to of a topic. */
export interface Match {
  readonly session: Subscriber;
  readonly delivery: Delivery;
  readonly filters: readonly string[];
}

/** The plain subscribers of this worker. */
export function matchesOf(nodes: readonly FilterNode[]): Match[] {
  const found = new Map<Subscriber, { parts: Delivery[]; filters: string[] }>();
  for (const { filter, deliveries } of nodes) {
    for (const [session, delivery] of deliveries) {
      const one = found.get(session) ?? { parts: [], filters: [] };
      one.parts.push(delivery);
      one.filters.push(filter);
      found.set(session, one);
    }
  }
  return Array.from(found, ([session, { parts, filters }]) => {
    return { session, delivery: mergeDeliveries(parts), filters };
  });
}

export function foresee({ session, delivery, filters }: Match, message: Message): Receiver {
  const { clientId, isConnected } = session;
  const isHere = session instanceof Session;
  const queue = isHere ? queueOf(session) : noQueue;
  const fate = isHere ? fateOf(session, message, delivery) : moving(message, delivery);
  return { clientId, filters, isConnected, queue, fate };
}

/** What a group's choice here, or elsewhere, comes down to for members of this worker. */
export function foreseeMember(
  filters: FilterTable,
  choice: { readonly filter: string; readonly group: string; readonly clientId: string },
  message: Message,
): Receiver | undefined {
  const group = filters.group(choice.filter, choice.group);
  const isHere = group?.locals().some(([{ session }]) => session.clientId === choice.clientId);
  const delivery = isHere === true ? group?.landing(choice.clientId, message) : undefined;
  if (delivery === undefined) return undefined;
  return foresee({ session: delivery.session, delivery, filters: [choice.filter] }, message);
}

function fateOf(session: Session, message: Message, delivery: Delivery): Fate {
  const { out, zone, clientId } = session;
  const qos = qosOf(message, delivery, zone.upgradeQos);
  const isOwn = message.from.clientId === clientId;
  if (isOwn && delivery.noLocal) return fate('drop', qos, 'no_local');
  if (isOwn && delivery.mixed !== undefined) {
    const wanted = delivery.mixed.filter((part) => !part.noLocal);
    return fateOf(session, message, mergeDeliveries(wanted));
  }
  if (session.leaving !== undefined) return moving(message, delivery);
  const { link } = out;
  if (qos === 0) {
    if (link === null && !zone.mqueueStoreQos0) return fate('drop', qos, 'qos0_offline');
    if (link === null) return queued(session, message, qos, 'offline');
    if (!out.isClearForQos0) return queued(session, message, qos, 'older_first');
    return link.hasRoom(message.roughBytes)
      ? fate('send', qos, undefined)
      : fate('drop', qos, 'outbox_full');
  }
  if (link === null) return queued(session, message, qos, 'offline');
  if (!out.window.hasRoom) return queued(session, message, qos, 'window_full');
  if (!out.isReady) return queued(session, message, qos, 'older_first');
  if (!link.hasRoom(message.roughBytes)) return queued(session, message, qos, 'outbox_full');
  return fate('send', qos, undefined);
}

function queued({ out, journal }: Session, message: Message, qos: QoS, why: Fate['why']): Fate {
  const overflow = out.queue.overflow(message.topic, journal !== undefined && qos > 0);
  if (overflow === 'itself') return fate('drop', qos, 'queue_full');
  return { would: 'queue', qos, why, dropsOldest: overflow === 'oldest' };
}

function fate(would: Fate['would'], qos: QoS, why: Fate['why']): Fate {
  return { would, qos, why, dropsOldest: false };
}

/** Held until its session is where it goes; what it does there is not known here. */
function moving(message: Message, delivery: Delivery): Fate {
  return fate('queue', qosOf(message, delivery, false), 'moving');
}

const noQueue: QueueState = { inflight: 0, window: 0, queued: 0, max: 0, isFull: false };

function queueOf({ out, zone, isConnected }: Session): QueueState {
  const { length } = out.queue;
  const { maxMqueueLen: max } = zone;
  return {
    inflight: out.window.inflight.size,
    window: isConnected ? out.window.size : 0,
    queued: length,
    max,
    isFull: max > 0 && length >= max,
  };
}
