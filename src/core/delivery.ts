// How one session wants one stream of messages: the options of its subscription, or of all its
// subscriptions that match the same topic taken together (one copy, the highest QoS, all
// subscription identifiers). Also the two faces through which messages reach a session: itself, and
// the link to its client while there is one.

import type { QoS } from '#wire/packet';
import type { Message } from './message.ts';
import type { Wait } from './ports.ts';

/** Receives messages; sessions are the only ones. */
export interface Subscriber {
  readonly clientId: string;
  readonly link: Link | null;
  /**
   * Waits only for a store that must have the message before it is acknowledged. `isHandedOn`: it was
   * acknowledged before, and another session has just let go of it.
   */
  deliver(message: Message, delivery: Delivery, isHandedOn?: boolean): Wait;
  readonly isConnected: boolean;
  /** Connected and with room in its window. */
  readonly isReady: boolean;
  /** Its messages have to be in the store before they are acknowledged. */
  readonly isStored: boolean;
}

/** The connection under a session, as the session and the express lane use it. */
export interface Link {
  /** The layout of frames that may be sent as they came: 4 (v3.1 and v3.1.1), 5, or 0 for none. */
  readonly rawVersion: 0 | 4 | 5;
  /**
   * Sends whole QoS 0 frames as they came. False: over the client's bound, or older QoS 0 messages
   * wait in the queue; nothing was taken.
   */
  sendRun(run: FrameRun): boolean;
  sendPublish(
    message: Message,
    delivery: Delivery,
    qos: QoS,
    packetId: number,
    isDuplicate: boolean,
  ): Sent;
  sendPubrel(packetId: number): void;
  /** Whether the client's outbox takes so many bytes more. Asked before `sendPublish`. */
  hasRoom(bytes: number): boolean;
  /** The transport has taken all that was written. */
  readonly isFlowing: boolean;
  /** Retained messages wait for their turn: call `goOnReplaying` when nothing else waits. */
  readonly isReplaying: boolean;
  goOnReplaying(): void;
  /** Something of ours threw where nobody else would catch it: it ends this client and nobody else. */
  onFault(error: unknown): void;
  /** Ends the connection because its session went to another one or ended. */
  evict(reason: 'conflict' | 'discard' | 'kicked'): void;
}

/**
 * What became of a PUBLISH given to a link. hidden: it lies outside the client's mountpoint; dropped: a
 * hook said so; gone: the link is closed. In all these cases nothing was sent.
 */
export type Sent = 'sent' | 'too_large' | 'hidden' | 'dropped' | 'gone';

/** Consecutive QoS 0 frames of one topic in a read buffer. */
export interface FrameRun {
  bytes: Buffer;
  start: number;
  end: number;
  count: number;
  /** The same bytes in memory of their own, made by the first receiver for which that pays. */
  piece: Buffer | null;
}

/** A shared subscription that takes back what a member could not finish. */
export interface Regroup {
  readonly name: string;
  readonly filter: string;
  redispatch(message: Message, from: Subscriber): void;
}

export interface Delivery {
  readonly session: Subscriber;
  readonly qos: QoS;
  readonly noLocal: boolean;
  readonly retainAsPublished: boolean;
  readonly subscriptionIds: readonly number[] | undefined;
  /** Set when the message came through a shared subscription: it may have to go to another member. */
  readonly group: Regroup | undefined;
  /** A retained message sent because of a SUBSCRIBE: its retain flag stays. */
  readonly isReplay: boolean;
  /** Nothing here asks for bytes of its own: no identifiers, no no-local. */
  readonly isPlain: boolean;
  /** The single subscriptions, when some but not all of them refuse the client's own messages. */
  readonly mixed: readonly Delivery[] | undefined;
}

/** [MQTT-3.8.4-8], unless the zone raises instead of lowers. */
export function qosOf({ qos }: Message, delivery: Delivery, isRaising: boolean): QoS {
  if (qos === delivery.qos) return qos;
  const isHigher = delivery.qos > qos;
  return isHigher === isRaising ? delivery.qos : qos;
}

/** One copy for overlapping subscriptions of a session. */
export function mergeDeliveries(parts: readonly Delivery[]): Delivery {
  const first = parts[0] as Delivery;
  if (parts.length === 1) return first;
  const ids = parts.flatMap((part) => part.subscriptionIds ?? []);
  const noLocal = parts.every((part) => part.noLocal);
  const isMixed = !noLocal && parts.some((part) => part.noLocal);
  return {
    session: first.session,
    qos: Math.max(...parts.map((part) => part.qos)) as QoS,
    noLocal,
    retainAsPublished: parts.some((part) => part.retainAsPublished),
    subscriptionIds: ids.length > 0 ? ids : undefined,
    group: undefined,
    isReplay: false,
    isPlain: ids.length === 0 && !noLocal && !isMixed,
    mixed: isMixed ? parts : undefined,
  };
}
