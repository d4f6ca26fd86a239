// One session: whose it is, what it is subscribed to, which QoS 2 publishes of its client are not
// released yet, and what it owes its client (outflow.ts). It outlives connections; while a client is
// connected it has a link. Law: what must survive a crash is in the store before it is acknowledged.

import type { WheelTimer } from '#base/timers';
import type { ZoneSettings } from '#config/settings';
import type { ClientInfo, DropReason } from '#hooks/table';
import { AwaitingRel, type Releasing } from './awaiting-rel.ts';
import {
  type Delivery,
  type Link,
  mergeDeliveries,
  type Regroup,
  type Subscriber,
} from './delivery.ts';
import type { HeldMessages } from './held-messages.ts';
import { Phase } from './inflight.ts';
import type { Message } from './message.ts';
import { Metric } from './metrics.ts';
import type { Queued } from './mqueue.ts';
import { Outflow } from './outflow.ts';
import type { Wait } from './ports.ts';
import { SessionJournal } from './session-journal.ts';
import type { SessionOrder } from './session-order.ts';
import type { SessionParts } from './session-parts.ts';
import type { SessionHead, SessionStore } from './store-port.ts';
import type { Subscription } from './subscription.ts';
import { bothWaits } from './wait.ts';

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

/** What another process left of a session. */
export interface Restored {
  readonly head: SessionHead;
  readonly store: SessionStore;
}

const packetIds = 0xffff;

/** unknown: we sent nothing with this packet id, or nothing that this acknowledges. */
export type AckOutcome = 'done' | 'unknown';

export class Session implements Subscriber, Releasing {
  readonly clientId: string;
  readonly username: string | undefined;
  readonly provenUsername: string | undefined;
  readonly mountpoint: string;
  readonly zone: ZoneSettings;
  readonly createdAtMs: number;
  readonly subscriptions: Map<string, Subscription> = new Map();
  readonly out: Outflow;
  readonly awaitingRel: AwaitingRel;
  /** Undefined for a session that ends with its connection or with the process. */
  readonly journal: SessionJournal | undefined;
  readonly #parts: SessionParts;
  /** After the end of a connection; 0: the session ends with it; Infinity: never. */
  expirySeconds: number;
  cleanStart = false;
  /** The list that it stands in, while it does. */
  order: SessionOrder<Session> | undefined;
  /** As counted there. */
  connections: 0 | 1 = 0;
  /** The registry's own: runs while no client is connected. */
  expiryTimer: WheelTimer | undefined;
  /** The store may know packet ids that `awaitingRel` does not. */
  #isTakenUnread: boolean;
  /** So many QoS 2 publishes may be repetitions: those that come first after a restart or a move. */
  #doubtful = 0;
  #isOver = false;
  /** It moves to another worker. */
  leaving: HeldMessages | undefined;

  constructor(
    owner: SessionOwner,
    parts: SessionParts,
    restored?: Restored,
    createdAtMs: number = parts.timers.nowMs,
  ) {
    const { zone } = owner;
    this.clientId = owner.clientId;
    this.username = owner.username;
    this.provenUsername = owner.provenUsername;
    this.mountpoint = owner.mountpoint;
    this.zone = zone;
    this.expirySeconds = owner.expirySeconds;
    this.#parts = parts;
    this.createdAtMs = restored?.head.createdAtMs ?? createdAtMs;
    this.#isTakenUnread = restored !== undefined;
    this.out = new Outflow(this, zone, parts);
    this.journal = this.#journalFor(restored);
    if (this.journal !== undefined) this.out.keepIn(this.journal);
    this.awaitingRel = new AwaitingRel(zone, parts.timers, this);
  }

  /** A publish of the client was not released in time. */
  onUnreleased(packetId: number): void {
    this.#parts.metrics.add(Metric.qos2Expired);
    this.journal?.stored.free(packetId);
  }

  #journalFor(restored: Restored | undefined): SessionJournal | undefined {
    const { sessionDurability } = this.zone;
    // One that is on disk stays there, whatever the zone says now: its messages were promised.
    const isKept = restored !== undefined || sessionDurability !== 'memory';
    if (!this.isDurable || !isKept) return undefined;
    const { store } = this.#parts;
    const stored = restored?.store ?? store.createSession(this.head(undefined));
    const isSync = sessionDurability === 'sync';
    return new SessionJournal(store, stored, this.out, isSync, restored?.head);
  }

  /**
   * The client knows that a QoS 2 publish was refused, and may use its id for another one. A client that
   * is gone does not know, and repeats it: whoever has stored it then has to know it again.
   */
  refused(packetId: number): void {
    this.journal?.stored.free(packetId);
  }

  /** As the store is told of it. */
  head(leftAtMs: number | undefined): SessionHead {
    return {
      clientId: this.clientId,
      username: this.username,
      provenUsername: this.provenUsername,
      mountpoint: this.mountpoint,
      zone: this.zone.name,
      createdAtMs: this.createdAtMs,
      expirySeconds: this.expirySeconds,
      leftAtMs,
      sentSeq: this.journal?.seenSeq ?? 0,
    };
  }

  get link(): Link | null {
    return this.out.link;
  }

  /** It outlives its connection. */
  get isDurable(): boolean {
    return this.expirySeconds > 0;
  }

  get isConnected(): boolean {
    return this.out.link !== null;
  }

  get isReady(): boolean {
    return this.out.isReady;
  }

  get isStored(): boolean {
    return this.journal?.isSync === true;
  }

  deliver(message: Message, delivery: Delivery, isHandedOn = false): Wait {
    if (this.#isOver) {
      // Ended by a hook while the message was on its way to several.
      this.drop(message, 'session_ended');
      return undefined;
    }
    if (this.leaving?.isFor(message, delivery) === true) {
      return this.leaving.hold(message, delivery, isHandedOn);
    }
    if (delivery.noLocal && message.from.clientId === this.clientId) {
      this.drop(message, 'no_local'); // [MQTT-3.8.3-3]
      return undefined;
    }
    if (delivery.mixed !== undefined && message.from.clientId === this.clientId) {
      const wanted = delivery.mixed.filter((part) => !part.noLocal);
      return this.deliver(message, mergeDeliveries(wanted), isHandedOn);
    }
    if (message.mayBeHad) {
      const had = this.journal?.hasPassed(message, delivery) ?? false;
      if (had !== false) return had === true ? undefined : had;
    }
    return this.out.deliver(message, delivery, isHandedOn);
  }

  drop(message: Message, reason: DropReason): void {
    this.out.drop(message, reason);
  }

  /** PUBACK: the end of a QoS 1 message. */
  onPuback(packetId: number, reasonCode: number): AckOutcome {
    const entry = this.out.window.inflight.get(packetId);
    if (entry === undefined || entry.phase !== Phase.awaitPuback) return 'unknown';
    this.out.finish(entry, reasonCode);
    return 'done';
  }

  onPubrec(packetId: number, reasonCode: number): AckOutcome {
    const entry = this.out.window.inflight.get(packetId);
    if (entry === undefined || entry.phase === Phase.awaitPuback) return 'unknown';
    if (reasonCode >= 0x80) this.out.finish(entry, reasonCode);
    else this.out.received(entry, reasonCode);
    return 'done';
  }

  /** PUBCOMP: the end of a QoS 2 message. */
  onPubcomp(packetId: number): AckOutcome {
    const entry = this.out.window.inflight.get(packetId);
    if (entry === undefined || entry.phase !== Phase.awaitPubcomp) return 'unknown';
    this.out.finish(entry, 0);
    return 'done';
  }

  /** A QoS 2 publish of the client was accepted: its id is taken, in the store too. */
  take(packetId: number, wait: Wait): Wait {
    const { journal } = this;
    const isTogether = wait === undefined || wait === journal?.wait;
    if (isTogether) journal?.stored.take(packetId, this.#parts.timers.nowMs);
    const isIt = (): boolean => this.awaitingRel.waitOf(packetId) === stored;
    const flushed = isTogether ? journal?.wait : wait.then(() => this.#takeStored(packetId, isIt));
    const stored: Wait = bothWaits(wait, flushed);
    this.awaitingRel.add(packetId, stored);
    return stored;
  }

  /**
   * Of a message that is not on its way to the disk, because other workers store it or a session that is
   * still to come: not before it is there, or a crash could leave the id without the message. Until then
   * a repetition is known by its passage. From then on it is stored, and cannot be refused any more: the
   * store tells the id until it is there.
   */
  async #takeStored(packetId: number, isIt: () => boolean): Promise<void> {
    const { journal } = this;
    // It may be gone by now, and the id be that of its repetition, which is not stored yet.
    if (this.#isOver || !isIt()) return;
    journal?.stored.take(packetId, this.#parts.timers.nowMs, true);
    if (journal?.isSync === true) await this.#parts.store.lastingFlushed();
  }

  /** It is about to move: the ids of publishes are those that the store has, and no more are written here. */
  leaveTaken(): void {
    this.awaitingRel.clear();
    this.#isTakenUnread = true;
  }

  /**
   * A publish may be one that the client repeats, whether it says so or not: after a crash we do not know
   * all of those that it has not finished.
   */
  mayRepeat(): boolean {
    if (this.#doubtful === 0) return false;
    this.#doubtful--;
    return true;
  }

  /** PUBREL: the id is free again; `then` is called when a crash could not undo that. */
  free(packetId: number, then: () => void): void {
    const { journal } = this;
    const isTaken = this.awaitingRel.delete(packetId);
    if (journal === undefined) {
      then();
      return;
    }
    if (isTaken) journal.stored.free(packetId);
    // Also for an id that is not known: it may be free in memory alone, after a PUBREL before this one.
    journal.whenFlushed(then);
  }

  attach(link: Link, client: ClientInfo, window: number): void {
    if (this.#isTakenUnread) this.#readTaken();
    this.out.attach(link, client, window);
    this.#countConnections(1);
    this.journal?.stored.update(this.head(undefined));
  }

  #readTaken(): void {
    for (const [packetId, sinceMs] of this.journal?.stored.taken() ?? []) {
      this.awaitingRel.restore(packetId, sinceMs);
    }
    this.#isTakenUnread = false;
    this.#doubtful = this.zone.maxAwaitingRel || packetIds;
  }

  detach(): void {
    this.out.detach(this.isDurable);
    this.#countConnections(0);
  }

  #countConnections(count: 0 | 1): void {
    if (this.connections === count) return;
    this.connections = count;
    this.order?.connectionsChanged(this, count === 1 ? 1 : -1);
  }

  /** Messages of shared subscriptions that others may have instead. */
  takeUnfinished(): Queued[] {
    const isMember = this.subscriptions.values().some(({ group }) => group !== undefined);
    // Who has left all groups has nothing of theirs in the queue. First: reading it may throw.
    // Not QoS 2 that the client may have [MQTT-4.8.2-5].
    const unsent = isMember
      ? this.out.takeShared((_, mayBeSent, qos) => !mayBeSent || qos < 2)
      : [];
    return [...this.out.takeUnacked((_, { group }) => group !== undefined), ...unsent];
  }

  /** Those of one group that were never sent. */
  takeUnsent(wanted: (group: Regroup) => boolean): Queued[] {
    return this.out.takeShared((group, mayBeSent) => !mayBeSent && wanted(group));
  }

  /** The session is over. */
  clear(): void {
    this.#isOver = true;
    this.journal?.stored.end();
    this.awaitingRel.clear();
    this.out.clear();
  }
}
