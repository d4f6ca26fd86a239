// One session: what a client is subscribed to and what it is still owed. It outlives connections;
// while a client is connected it has a link. Laws: a message is sent, queued or counted as dropped,
// never forgotten; what was sent first is resent first [MQTT-4.6.0-1]; a window that is full or an
// outbox over its bound makes messages wait here, where their number is bounded.

import type { TimerWheel } from '#base/timers';
import type { QoS } from '#wire/packet';
import type { ZoneSettings } from '#config/settings';
import type { ClientInfo, DropReason } from '#hooks/table';
import type { Hooks } from '#hooks/runner';
import { AwaitingRel } from './awaiting-rel.ts';
import {
  type Delivery,
  type Link,
  mergeDeliveries,
  type Regroup,
  type Sent,
  type Subscriber,
} from './delivery.ts';
import type { Drops } from './drops.ts';
import { Inflight, type InflightEntry, Phase } from './inflight.ts';
import type { Message } from './message.ts';
import { Metric, type Metrics } from './metrics.ts';
import { Mqueue, type Queued } from './mqueue.ts';
import type { Store, Wait } from './ports.ts';
import { Resend } from './resend.ts';
import type { Subscription } from './subscription.ts';

/** What a session needs of the broker around it. */
export interface SessionParts {
  readonly metrics: Metrics;
  readonly hooks: Hooks;
  readonly timers: TimerWheel;
  readonly store: Store;
  readonly drops: Drops;
}

/** Whose session it is, and how long it lives without a connection. */
export interface SessionOwner {
  readonly clientId: string;
  readonly username: string | undefined;
  /** Undefined for a client that was let in without a check. */
  readonly provenUsername: string | undefined;
  readonly mountpoint: string;
  readonly zone: ZoneSettings;
  readonly expirySeconds: number;
}

/** unknown: we sent nothing with this packet id, or nothing that this acknowledges. */
export type AckOutcome = 'done' | 'unknown';

/** Messages in flight that may lie in blocks shared with others; the rest get memory of their own. */
const sharedBlocksMax = 512;

/** About what a message takes in an outbox. */
const sizeOf = (message: Message): number => message.payloadBytes + message.topic.length;

export class Session implements Subscriber {
  readonly clientId: string;
  readonly username: string | undefined;
  readonly provenUsername: string | undefined;
  readonly mountpoint: string;
  readonly zone: ZoneSettings;
  readonly createdAtMs: number;
  readonly subscriptions: Map<string, Subscription> = new Map();
  readonly inflight: Inflight = new Inflight();
  readonly queue: Mqueue;
  readonly awaitingRel: AwaitingRel;
  readonly #parts: SessionParts;
  /** After the end of a connection; 0: the session ends with it; Infinity: never. */
  expirySeconds: number;
  cleanStart = false;
  link: Link | null = null;
  /** The client of the link, or the last one. */
  client: ClientInfo | undefined;
  /** Messages sent over the present link and not finished; at most `#window`. */
  #outstanding = 0;
  #window = 0;
  /** Clients before MQTT 5 are sent again what they do not acknowledge; 0: never. */
  #retryMs = 0;
  #resend: Resend | undefined;
  /** QoS 0 messages in the queue: younger ones must not overtake them [MQTT-4.6.0-5]. */
  #waitingQos0 = 0;
  delivered = 0;
  enqueued = 0;

  constructor(owner: SessionOwner, parts: SessionParts) {
    const { zone } = owner;
    this.clientId = owner.clientId;
    this.username = owner.username;
    this.provenUsername = owner.provenUsername;
    this.mountpoint = owner.mountpoint;
    this.zone = zone;
    this.expirySeconds = owner.expirySeconds;
    this.#parts = parts;
    this.createdAtMs = parts.timers.nowMs;
    this.queue = new Mqueue(zone);
    this.awaitingRel = new AwaitingRel(zone, parts.timers, () =>
      parts.metrics.add(Metric.qos2Expired),
    );
  }

  /** QoS 0 messages may be sent past the queue. */
  get isClearForQos0(): boolean {
    return this.#waitingQos0 === 0;
  }

  /** Something about it must survive a crash. */
  get isDurable(): boolean {
    return this.expirySeconds > 0;
  }

  /** A QoS 1 or 2 message would be sent now: nothing older waits for the window. */
  get isReady(): boolean {
    return (
      this.link !== null &&
      this.#outstanding < this.#window &&
      this.queue.length === 0 &&
      this.#resend?.isPending !== true
    );
  }

  /** What is sent at QoS 0 in any case need not wait for the window. */
  canReplay({ qos }: Delivery): boolean {
    const isWindowed = qos > 0 || this.zone.upgradeQos;
    const isClear = isWindowed ? this.isReady : this.isClearForQos0;
    return isClear && this.link?.hasRoom(0) === true;
  }

  deliver(message: Message, delivery: Delivery): Wait {
    if (delivery.noLocal && message.from.clientId === this.clientId) {
      this.drop(message, 'no_local'); // [MQTT-3.8.3-3]
      return undefined;
    }
    if (delivery.mixed !== undefined && message.from.clientId === this.clientId) {
      const wanted = delivery.mixed.filter((part) => !part.noLocal);
      return this.deliver(message, mergeDeliveries(wanted));
    }
    const qos = this.#qosFor(message, delivery);
    const { link } = this;
    if (link === null) {
      if (qos > 0 || this.zone.mqueueStoreQos0) this.#enqueue(message, delivery, qos);
      else this.drop(message, 'qos0_offline');
      return this.#stored(message, qos);
    }
    if (qos === 0 && this.#waitingQos0 === 0) {
      if (!link.hasRoom(sizeOf(message))) this.drop(message, 'outbox_full');
      else this.#account(link.sendPublish(message, delivery, 0, 0, false), message);
      return undefined;
    }
    if (qos > 0 && this.isReady && link.hasRoom(sizeOf(message))) {
      this.#send(link, message, delivery, qos as 1 | 2);
    } else {
      this.#enqueue(message, delivery, qos);
    }
    return this.#stored(message, qos);
  }

  #stored(message: Message, qos: QoS): Wait {
    return qos > 0 && this.isDurable ? this.#parts.store.queued(this.clientId, message) : undefined;
  }

  /** [MQTT-3.8.4-8], unless the zone raises instead of lowers. */
  #qosFor(message: Message, delivery: Delivery): QoS {
    const { qos } = message;
    if (qos === delivery.qos) return qos;
    const isHigher = delivery.qos > qos;
    return isHigher === this.zone.upgradeQos ? delivery.qos : qos;
  }

  /** A retained message for a new subscription. `canReplay` was asked: it is never dropped. */
  replay(message: Message, delivery: Delivery): void {
    const { link } = this;
    if (link === null) return;
    const qos = this.#qosFor(message, delivery);
    if (qos === 0) this.#account(link.sendPublish(message, delivery, 0, 0, false), message);
    else this.#send(link, message, delivery, qos);
  }

  #send(link: Link, message: Message, delivery: Delivery, qos: 1 | 2): void {
    // Many messages in flight could each hold a block of the arena.
    if (this.inflight.size < sharedBlocksMax) message.own();
    else message.compact();
    const phase = qos === 1 ? Phase.awaitPuback : Phase.awaitPubrec;
    const { timers } = this.#parts;
    const packetId = this.inflight.add(message, delivery, phase, timers.nowMs);
    const sent = link.sendPublish(message, delivery, qos, packetId, false);
    // The client left meanwhile: what is in flight is sent again when it is back.
    if (sent === 'gone') return;
    if (sent !== 'sent') {
      this.#abandon(packetId, sent, message);
      return;
    }
    this.#outstanding++;
    this.delivered++;
    if (this.#retryMs > 0) (this.#resend ??= this.#resending([])).arm();
  }

  /** It cannot be sent to this client at all. A hook may even have ended the session meanwhile. */
  #abandon(packetId: number, sent: 'too_large' | 'hidden' | 'dropped', message: Message): void {
    if (this.inflight.get(packetId)?.message === message) this.inflight.delete(packetId);
    this.#account(sent, message);
  }

  #enqueue(message: Message, delivery: Delivery, qos: QoS): void {
    message.compact();
    this.enqueued++;
    if (qos === 0) this.#waitingQos0++;
    const dropped = this.queue.push({ message, delivery });
    if (dropped !== undefined) {
      if (this.#qosFor(dropped.message, dropped.delivery) === 0) this.#waitingQos0--;
      this.drop(dropped.message, 'queue_full');
    }
  }

  /** Sent, or counted as dropped with its reason. */
  #account(sent: Sent, message: Message): void {
    if (sent === 'sent') this.delivered++;
    else if (sent === 'too_large')
      this.drop(message, sent); // [MQTT-3.1.2-25]
    else if (sent === 'dropped') this.drop(message, 'refused_by_hook');
    else if (sent === 'gone') this.drop(message, 'qos0_offline');
  }

  drop(message: Message, reason: DropReason): void {
    this.#parts.drops.count(this.clientId, message, reason);
  }

  /** Sends what waits, as far as window and outbox allow: first what was under way before. */
  pump(): void {
    const { link } = this;
    if (link === null) return;
    while (this.#resend?.isPending === true) {
      if (this.#outstanding >= this.#window || !link.hasRoom(0)) return;
      const entry = this.#resend.take();
      if (entry === undefined) break;
      this.#outstanding++;
      entry.isOutstanding = true;
      this.#sendAgain(link, entry);
    }
    const { nowMs } = this.#parts.timers;
    while (this.link === link && this.#outstanding < this.#window) {
      const next = this.queue.peek();
      if (next === undefined || !link.hasRoom(sizeOf(next.message))) break;
      this.#sendQueued(link, this.queue.shift() as Queued, nowMs);
    }
    if (link.isReplaying) link.goOnReplaying();
  }

  #sendQueued(link: Link, { message, delivery }: Queued, nowMs: number): void {
    const qos = this.#qosFor(message, delivery);
    if (qos === 0) this.#waitingQos0--;
    if (message.isExpired(nowMs)) {
      this.drop(message, 'expired'); // [MQTT-3.3.2-5]
    } else if (qos > 0) {
      this.#send(link, message, delivery, qos as 1 | 2);
    } else {
      this.#account(link.sendPublish(message, delivery, 0, 0, false), message);
    }
  }

  /** PUBACK: the end of a QoS 1 message. */
  onPuback(packetId: number, reasonCode: number): AckOutcome {
    const entry = this.inflight.get(packetId);
    if (entry === undefined || entry.phase !== Phase.awaitPuback) return 'unknown';
    this.#finish(entry, reasonCode);
    return 'done';
  }

  /** PUBREC: the receiver has the message; from here on only the packet id matters. */
  onPubrec(packetId: number, reasonCode: number): AckOutcome {
    const entry = this.inflight.get(packetId);
    if (entry === undefined || entry.phase === Phase.awaitPuback) return 'unknown';
    if (reasonCode >= 0x80) {
      this.#finish(entry, reasonCode);
      return 'done';
    }
    this.#acked(entry, reasonCode);
    entry.phase = Phase.awaitPubcomp;
    entry.message = undefined;
    entry.sentAtMs = this.#parts.timers.nowMs;
    this.link?.sendPubrel(packetId); // [MQTT-4.3.3-4]
    return 'done';
  }

  onPubcomp(packetId: number): AckOutcome {
    const entry = this.inflight.get(packetId);
    if (entry === undefined || entry.phase !== Phase.awaitPubcomp) return 'unknown';
    this.#finish(entry, 0);
    return 'done';
  }

  #finish(entry: InflightEntry, reasonCode: number): void {
    // Before anybody is told: a hook may end this session.
    this.inflight.delete(entry.packetId);
    if (entry.isOutstanding) this.#outstanding--;
    this.#acked(entry, reasonCode);
    const isWaitedFor = this.queue.length > 0 || this.#resend?.isPending === true;
    if (isWaitedFor || this.link?.isReplaying === true) this.pump();
  }

  #acked(entry: InflightEntry, reasonCode: number): void {
    const { hooks } = this.#parts;
    if (reasonCode >= 0x80 || hooks.lists['message.acked'] === null) return;
    if (entry.message !== undefined && this.client !== undefined) {
      hooks.tell('message.acked', this.client, entry.message);
    }
  }

  /** A client is connected: what was under way is sent again, in order [MQTT-4.4.0-1]. */
  attach(link: Link, client: ClientInfo, window: number): void {
    this.link = link;
    this.client = client;
    this.#window = window;
    this.#outstanding = 0;
    this.#retryMs = client.version < 5 ? this.zone.retryIntervalMs : 0;
    const backlog = this.inflight.inOrder();
    for (const entry of backlog) entry.isOutstanding = false;
    this.#resend = backlog.length > 0 ? this.#resending(backlog) : undefined;
  }

  #resending(backlog: InflightEntry[]): Resend {
    const { timers } = this.#parts;
    return new Resend(this.inflight, backlog, timers, this.#retryMs, (entry) => {
      // A client that does not read is not helped by more of the same.
      if (this.link?.isFlowing === true) this.#sendAgain(this.link, entry);
    });
  }

  detach(): void {
    if (this.isDurable) for (const { message } of this.inflight.inOrder()) message?.compact();
    this.link = null;
    this.#outstanding = 0;
    this.#resend?.stop();
    this.#resend = undefined;
  }

  #sendAgain(link: Link, entry: InflightEntry): void {
    entry.sentAtMs = this.#parts.timers.nowMs;
    if (entry.phase === Phase.awaitPubcomp) {
      link.sendPubrel(entry.packetId);
      return;
    }
    const qos = entry.phase === Phase.awaitPuback ? 1 : 2;
    const message = entry.message as Message;
    const sent = link.sendPublish(message, entry.delivery, qos, entry.packetId, true);
    if (sent === 'sent' || sent === 'gone') return;
    this.#outstanding--;
    this.#abandon(entry.packetId, sent, message);
  }

  /** QoS 1 and 2 messages of shared subscriptions that were never sent. */
  takeUnsent(wanted: (group: Regroup) => boolean): Queued[] {
    const taken = this.queue.extract(
      ({ message, delivery: { group } }) => group !== undefined && wanted(group) && message.qos > 0,
    );
    for (const { message, delivery } of taken) {
      if (this.#qosFor(message, delivery) === 0) this.#waitingQos0--;
    }
    return taken;
  }

  /** The same and what was sent and not acknowledged, except QoS 2 [MQTT-4.8.2-5]. */
  takeUnfinished(): Queued[] {
    const unacked: Queued[] = [];
    for (const entry of this.inflight.inOrder()) {
      if (entry.delivery.group === undefined || entry.phase !== Phase.awaitPuback) continue;
      unacked.push({ message: entry.message as Message, delivery: entry.delivery });
      this.inflight.delete(entry.packetId);
    }
    return [...unacked, ...this.takeUnsent(() => true)];
  }

  /** The session is over. */
  clear(): void {
    this.detach();
    this.inflight.clear();
    for (let left = this.queue.shift(); left !== undefined; left = this.queue.shift()) {
      this.drop(left.message, 'session_ended');
    }
    this.#waitingQos0 = 0;
    this.awaitingRel.clear();
  }
}
