// What a session owes its client, on its way out: sent now, or queued until window and outbox have
// room. Laws: a message is sent, queued or counted as dropped, never forgotten; nothing overtakes;
// what must survive a crash is told to the journal before anything else happens to it.

import type { QoS } from '#wire/packet';
import type { ZoneSettings } from '#config/settings';
import type { ClientInfo, DropReason } from '#hooks/table';
import { Backlog, type BacklogOwner } from './backlog.ts';
import {
  type Delivery,
  type Link,
  qosOf,
  type Regroup,
  type Sent,
  type Subscriber,
} from './delivery.ts';
import { FrameArena } from './frame-arena.ts';
import { type InflightEntry, Phase } from './inflight.ts';
import type { Message } from './message.ts';
import type { Queued } from './mqueue.ts';
import type { Wait } from './ports.ts';
import { SendWindow, type WindowOwner } from './send-window.ts';
import {
  type JournalOwner,
  packetIdOf,
  type SessionJournal,
  type Stored,
} from './session-journal.ts';
import type { SessionParts } from './session-parts.ts';
import { type Receipt, type StoredEntry, unstored } from './store-port.ts';
import { storedDelivery } from './stored-delivery.ts';

const ownMemoryMax = 64;

export class Outflow implements WindowOwner, BacklogOwner, JournalOwner {
  readonly queue: Backlog;
  readonly window: SendWindow;
  readonly #session: Subscriber;
  readonly #zone: ZoneSettings;
  readonly #parts: SessionParts;
  #journal: SessionJournal | undefined;
  link: Link | null = null;
  /** The client of the link, or the last one. */
  client: ClientInfo | undefined;
  /** QoS 0 messages in the queue: younger ones must not overtake them [MQTT-4.6.0-5]. */
  #waitingQos0 = 0;
  #memory: FrameArena | undefined;
  /** The queue may have messages that the store could not take. */
  #isPartlyStored = false;
  delivered = 0;
  enqueued = 0;

  constructor(session: Subscriber, zone: ZoneSettings, parts: SessionParts) {
    this.#session = session;
    this.#zone = zone;
    this.#parts = parts;
    this.queue = new Backlog(zone, this);
    this.window = new SendWindow(parts.timers, this);
  }

  /** From now on messages are stored. */
  keepIn(journal: SessionJournal): void {
    this.#journal = journal;
    this.queue.journal = journal;
  }

  /** QoS 0 messages may be sent past the queue. */
  get isClearForQos0(): boolean {
    return this.#waitingQos0 === 0;
  }

  /** A QoS 1 or 2 message would be sent now: nothing older waits for the window. */
  get isReady(): boolean {
    const { window } = this;
    return this.link !== null && window.hasRoom && this.queue.isEmpty && !window.isBehind;
  }

  /** What is sent at QoS 0 in any case need not wait for the window. */
  canReplay({ qos }: Delivery): boolean {
    const { window } = this;
    const isWindowed = qos > 0 || this.#zone.upgradeQos;
    const canFollow = !window.isBehind && this.queue.fits(window.room);
    return (isWindowed ? canFollow : this.isClearForQos0) && this.link?.hasRoom(0) === true;
  }

  deliver(message: Message, delivery: Delivery, isHandedOn: boolean): Wait {
    const qos = this.qosFor(message, delivery);
    if (qos === 0) {
      this.#deliverQos0(message, delivery);
      return undefined;
    }
    let seq: number;
    try {
      seq = this.#put(message, delivery, isHandedOn);
    } catch (error) {
      return Promise.reject(error as Error);
    }
    this.#sendOrQueue(message, delivery, qos, seq);
    return this.#journal?.wait;
  }

  #put(message: Message, delivery: Delivery, isHandedOn = false): number {
    return this.#journal?.put(message, delivery, this.#parts.timers.nowMs, isHandedOn) ?? 0;
  }

  /** What `put` has just numbered. */
  #sendOrQueue(message: Message, delivery: Delivery, qos: 1 | 2, seq: number): void {
    this.#parts.held.keep(message);
    const receipt = this.#journal?.receipt ?? unstored;
    const { link } = this;
    const isNow = link !== null && this.isReady && this.#maySend(seq, qos);
    if (isNow && link.hasRoom(message.roughBytes)) {
      this.#send(link, message, delivery, qos, seq, receipt, false);
    } else {
      this.#enqueue(message, delivery, qos, seq, receipt);
    }
  }

  #deliverQos0(message: Message, delivery: Delivery): void {
    const { link } = this;
    if (link === null && !this.#zone.mqueueStoreQos0) this.drop(message, 'qos0_offline');
    else if (link === null || this.#waitingQos0 > 0) {
      this.#parts.held.keep(message);
      this.#enqueue(message, delivery, 0, 0, unstored);
    } else if (!link.hasRoom(message.roughBytes)) this.drop(message, 'outbox_full');
    else this.#account(link.sendPublish(message, delivery, 0, 0, false), message);
  }

  /** Its packet id is free, and nothing can be mistaken for it after a crash. */
  #maySend(seq: number, qos: QoS): boolean {
    const journal = this.#journal;
    if (journal === undefined || seq === 0) return true;
    if (qos === 2 && !journal.isSafe(seq)) return false;
    const packetId = packetIdOf(seq);
    return this.window.inflight.get(packetId) === undefined && !journal.isFinishing(packetId);
  }

  qosFor(message: Message, delivery: Delivery): QoS {
    return qosOf(message, delivery, this.#zone.upgradeQos);
  }

  /** A retained message for a new subscription. `canReplay` was asked: it is never dropped. */
  replay(message: Message, delivery: Delivery): void {
    const { link } = this;
    if (link === null) return;
    const qos = this.qosFor(message, delivery);
    if (qos > 0) this.#sendOrQueue(message, delivery, qos as 1 | 2, this.#put(message, delivery));
    else this.#account(link.sendPublish(message, delivery, 0, 0, false), message);
  }

  #send(
    link: Link,
    message: Message,
    delivery: Delivery,
    qos: 1 | 2,
    seq: number,
    receipt: Receipt,
    isAgain: boolean,
  ): void {
    const journal = this.#journal;
    if (journal !== undefined && seq > journal.sentSeq) journal.sentSeq = seq;
    if (this.window.send(link, message, delivery, qos, seq, receipt, isAgain)) this.delivered++;
  }

  #enqueue(message: Message, delivery: Delivery, qos: QoS, seq: number, receipt: Receipt): void {
    // What is on its way to the disk does not stay here for long.
    if (seq > 0 && this.link === null) message.own();
    else message.compact(this.#memoryForQueue());
    this.enqueued++;
    if (qos === 0) this.#waitingQos0++;
    const queued = { message, delivery, seq, receipt, mayBeSent: false };
    const dropped = this.queue.push(queued);
    if (dropped !== undefined) {
      this.#journal?.shed(dropped, dropped.message);
      this.#dropQueued({ ...dropped, receipt: unstored }, 'queue_full');
    }
    const { hooks } = this.#parts; // Last of all: a hook may end this session.
    if (dropped !== queued && hooks.lists['message.queued'] !== null)
      hooks.tell('message.queued', this.#session.clientId, message);
  }

  /** Those of a client that has only few get memory of their own size. */
  #memoryForQueue(): FrameArena | undefined {
    if (this.queue.heldCount < ownMemoryMax) return undefined;
    return (this.#memory ??= new FrameArena());
  }

  #dropQueued(queued: Queued, reason: DropReason): void {
    this.leftQueue(queued);
    this.drop(queued.message, reason);
  }

  leftQueue(queued: Queued): void {
    if (this.qosFor(queued.message, queued.delivery) === 0) this.#waitingQos0--;
    this.#letGo(queued, queued.message);
  }

  /** The session holds it no longer, neither in memory nor in the store. */
  #letGo(entry: Stored, message: Message | undefined): void {
    this.#journal?.settle(entry, message);
    if (message !== undefined) this.#parts.held.letGo(message);
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
    this.#parts.drops.count(this.#session.clientId, message, reason);
  }

  /** A message that came back from the store. One that the client has is only to be released. */
  comeBack(entry: StoredEntry): Queued | undefined {
    const { seq, receipt, message } = entry;
    const delivery = storedDelivery(this.#session, entry.options, this.#parts.groupOf);
    if (message === undefined) {
      this.window.release(entry, delivery);
      return undefined;
    }
    this.#parts.held.keep(message);
    return { message, delivery, seq, receipt, mayBeSent: this.#journal?.mayBeSent(seq) === true };
  }

  /** The store could not take these: their publishers are refused, and send them again or not. */
  onRefused(fromSeq: number, throughSeq: number): void {
    const isOf = ({ seq }: Stored): boolean => seq >= fromSeq && seq <= throughSeq;
    for (const entry of this.window.inflight.inOrder()) if (isOf(entry)) entry.receipt = unstored;
    const isSync = this.#journal?.isSync === true;
    this.#isPartlyStored ||= !isSync;
    const refused = this.queue.extractHeld((queued) => {
      if (!isOf(queued)) return false;
      queued.receipt = unstored;
      return isSync;
    });
    for (const queued of refused) this.#dropQueued(queued, 'store_failed');
  }

  /** A QoS 2 message may have waited for it; of an absent client, nothing has to wait in memory. */
  onFlushed(): void {
    try {
      if (this.link === null) this.park();
      else if (!this.queue.isEmpty) this.pump();
    } catch (error) {
      this.onFault(error);
    }
  }

  onFault(error: unknown): void {
    this.link?.onFault(error);
  }

  onAbandoned(entry: Stored | undefined, message: Message, why: Exclude<Sent, 'sent'>): void {
    if (entry !== undefined) this.#letGo(entry, message);
    this.#account(why, message);
  }

  /** Sends what waits, as far as window and outbox allow: first what was under way before. */
  pump(): void {
    const { link, window } = this;
    if (link === null || !window.catchUp(link)) return;
    const { nowMs } = this.#parts.timers;
    while (this.link === link && window.hasRoom) {
      const next = this.queue.peek();
      if (next === undefined || !link.hasRoom(next.message.roughBytes)) break;
      if (!this.#maySend(next.seq, this.qosFor(next.message, next.delivery))) break;
      this.#sendQueued(link, this.queue.shift() as Queued, nowMs);
    }
    if (link.isReplaying) link.goOnReplaying();
  }

  #sendQueued(link: Link, queued: Queued, nowMs: number): void {
    const { message, delivery, seq, receipt, mayBeSent } = queued;
    const qos = this.qosFor(message, delivery);
    // One that the client may have of QoS 2 has to be finished.
    if (message.isExpired(nowMs) && !(mayBeSent && qos === 2)) {
      this.#dropQueued(queued, 'expired'); // [MQTT-3.3.2-5]
    } else if (qos > 0) {
      this.#send(link, message, delivery, qos as 1 | 2, seq, receipt, mayBeSent);
    } else {
      this.leftQueue(queued);
      this.#account(link.sendPublish(message, delivery, 0, 0, false), message);
    }
  }

  /** PUBREC: the client has the message. PUBREL follows when a crash could not undo that. */
  received(entry: InflightEntry, reasonCode: number): void {
    const { window } = this;
    const journal = this.#journal;
    const { message, seq, receipt } = entry;
    if (message !== undefined) {
      this.#parts.held.letGo(message);
      entry.receipt = journal?.stored.release(seq, message, receipt) ?? receipt;
    }
    window.received(entry);
    if (journal === undefined)
      window.sendPubrel(entry); // [MQTT-4.3.3-4]
    else journal.whenFlushed(() => window.sendPubrel(entry));
    // Last of all: a hook may end this session.
    this.#tellAcked(message, reasonCode);
  }

  /** The client is done with the message, or refuses it. */
  finish(entry: InflightEntry, reasonCode: number): void {
    // Before anybody is told: a hook may end this session.
    this.window.finish(entry);
    this.#letGo(entry, entry.message);
    if (entry.seq > 0 && entry.phase !== Phase.awaitPuback) this.#journal?.finished(entry.packetId);
    this.#tellAcked(entry.message, reasonCode);
    if (!this.queue.isEmpty || this.window.isBehind || this.link?.isReplaying === true) this.pump();
  }

  #tellAcked(message: Message | undefined, reasonCode: number): void {
    const { hooks } = this.#parts;
    if (hooks.lists['message.acked'] === null || reasonCode >= 0x80) return;
    if (message && this.client) hooks.tell('message.acked', this.client, message);
  }

  /** A client is connected: what was under way is sent again, in order [MQTT-4.4.0-1]. */
  attach(link: Link, client: ClientInfo, size: number): void {
    this.link = link;
    this.client = client;
    this.window.attach(link, size, client.version < 5 ? this.#zone.retryIntervalMs : 0);
  }

  /** `isKept`: the session lives on, and what it holds may be held for long. */
  detach(isKept: boolean): void {
    if (isKept) for (const { message } of this.window.inflight.inOrder()) message?.compact();
    this.link = null;
    this.window.detach();
  }

  /** The client is away: what lies on disk need not lie in memory as well. */
  park(): void {
    const journal = this.#journal;
    if (journal === undefined || this.link !== null || this.#isPartlyStored) return;
    if (!journal.stored.isSettled || this.#zone.mqueuePriorities.size > 0) return;
    const { inflight } = this.window;
    const sent = inflight.inOrder();
    // All or none, so that what comes back does not come behind what is younger.
    const inFlight = sent.every((entry) => journal.mayPark(entry)) ? sent : [];
    const queued = this.queue.extractHeld((entry) => journal.mayPark(entry));
    for (const { packetId } of inFlight) inflight.delete(packetId);
    for (const { message } of [...inFlight, ...queued]) {
      if (message !== undefined) this.#parts.held.letGo(message);
    }
    journal.park([...inFlight, ...queued]);
  }

  /** Memory is short: what waits without a promise goes first. */
  shedQos0(): void {
    if (this.link !== null || this.#waitingQos0 === 0) return;
    const isQos0 = (one: Queued): boolean => this.qosFor(one.message, one.delivery) === 0;
    for (const queued of this.queue.extractHeld(isQos0)) this.#dropQueued(queued, 'queue_full');
  }

  /** Drops what has expired while it waited. True: there is more to look at, now or later. */
  sweep(nowMs: number): boolean {
    for (const queued of this.queue.takeExpired(nowMs)) this.#dropQueued(queued, 'expired');
    return this.#journal?.sweepParked(nowMs, (one) => this.drop(one, 'expired')) ?? false;
  }

  /** Takes QoS 1 and 2 messages of shared subscriptions out of the queue, for others to have. */
  takeShared(wanted: (group: Regroup, mayBeSent: boolean, qos: QoS) => boolean): Queued[] {
    const taken = this.queue.extract(({ message, delivery, mayBeSent }) => {
      if (delivery.group === undefined || message.qos === 0) return false;
      return wanted(delivery.group, mayBeSent, this.qosFor(message, delivery));
    });
    for (const queued of taken) this.leftQueue(queued);
    return taken;
  }

  /** Those of QoS 1 that were sent and not acknowledged. */
  takeUnacked(wanted: (message: Message, delivery: Delivery) => boolean): Queued[] {
    const unacked = this.window.takeUnacked(wanted);
    for (const entry of unacked) this.#letGo(entry, entry.message);
    return unacked;
  }

  /** The session is over. */
  clear(): void {
    for (const message of this.abandon()) this.drop(message, 'session_ended');
    this.#parts.drops.unseen(this.#journal?.countLeft() ?? 0);
  }

  /** It is not ours any more. Answers what waited in memory. */
  abandon(): Message[] {
    this.detach(false);
    const sent = this.window.inflight.inOrder().flatMap(({ message }) => message ?? []);
    const waiting = this.queue.extractHeld(() => true).map(({ message }) => message);
    for (const message of [...sent, ...waiting]) this.#parts.held.letGo(message);
    this.window.clear();
    this.#waitingQos0 = 0;
    return waiting;
  }
}
