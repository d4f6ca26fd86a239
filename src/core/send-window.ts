// What a client has been sent and has not finished: the messages in flight, how many there may be, and
// sending them again. Law: what was sent first is sent again first [MQTT-4.6.0-1].

import type { TimerWheel } from '#base/timers';
import type { Delivery, Link, Sent } from './delivery.ts';
import { FrameArena } from './frame-arena.ts';
import { Inflight, type InflightEntry, Phase } from './inflight.ts';
import type { Message } from './message.ts';
import type { Queued } from './mqueue.ts';
import { Resend } from './resend.ts';
import type { Stored } from './session-journal.ts';
import type { Receipt, StoredEntry } from './store-port.ts';

/** Messages in flight that may lie in blocks shared with others; the rest get memory of their own. */
const sharedBlocksMax = 512;

/** Whose window it is. An object, not a function: sessions are many, and closures take memory. */
export interface WindowOwner {
  /** A message cannot be sent to this client at all. `entry`: it was in flight and is no longer. */
  onAbandoned(entry: Stored | undefined, message: Message, why: Exclude<Sent, 'sent'>): void;
}

export class SendWindow {
  readonly inflight: Inflight = new Inflight();
  readonly #timers: TimerWheel;
  readonly #owner: WindowOwner;
  #link: Link | null = null;
  /** Messages sent over the present link and not finished; at most `size`. */
  #outstanding = 0;
  /** So many may be in flight. */
  size = 0;
  /** Clients before MQTT 5 are sent again what they do not acknowledge; 0: never. */
  #retryMs = 0;
  #resend: Resend | undefined;
  #memory: FrameArena | undefined;

  constructor(timers: TimerWheel, owner: WindowOwner) {
    this.#timers = timers;
    this.#owner = owner;
  }

  get hasRoom(): boolean {
    return this.#outstanding < this.size;
  }

  /** How many messages more may be sent. */
  get room(): number {
    return this.size - this.#outstanding;
  }

  /** Part of what was in flight on the last connection has not been sent on this one. */
  get isBehind(): boolean {
    return this.#resend?.isPending === true;
  }

  attach(link: Link, size: number, retryMs: number): void {
    this.#link = link;
    this.size = size;
    this.#outstanding = 0;
    this.#retryMs = retryMs;
    const backlog = this.inflight.inOrder();
    for (const entry of backlog) entry.isOutstanding = false;
    this.#resend = backlog.length > 0 ? this.#resending(backlog) : undefined;
  }

  detach(): void {
    this.#link = null;
    this.#outstanding = 0;
    this.#resend?.stop();
    this.#resend = undefined;
  }

  /** Sends a message for the first time, or once more after a restart. True: it was sent. */
  send(
    link: Link,
    message: Message,
    delivery: Delivery,
    qos: 1 | 2,
    seq: number,
    receipt: Receipt,
    isAgain: boolean,
  ): boolean {
    // Many messages in flight could each hold a block of the arena.
    if (this.inflight.size < sharedBlocksMax) message.own();
    else message.compact((this.#memory ??= new FrameArena()));
    const phase = qos === 1 ? Phase.awaitPuback : Phase.awaitPubrec;
    const { nowMs } = this.#timers;
    const packetId =
      seq === 0
        ? this.inflight.add(message, delivery, phase, nowMs)
        : this.inflight.addStored(seq, receipt, message, delivery, phase, nowMs).packetId;
    const sent = link.sendPublish(message, delivery, qos, packetId, isAgain);
    // The client left meanwhile: what is in flight is sent again when it is back.
    if (sent === 'gone') return false;
    if (sent !== 'sent') {
      this.#abandon(packetId, message, sent);
      return false;
    }
    this.#outstanding++;
    if (this.#retryMs > 0) (this.#resend ??= this.#resending([])).arm();
    return true;
  }

  /** A hook may have ended the session meanwhile. */
  #abandon(packetId: number, message: Message, why: Exclude<Sent, 'sent'>): void {
    const entry = this.inflight.get(packetId);
    const isHere = entry?.message === message;
    if (isHere) this.inflight.delete(packetId);
    this.#owner.onAbandoned(isHere ? entry : undefined, message, why);
  }

  /** A message that the client has and that another process could not release. */
  release({ seq, receipt }: StoredEntry, delivery: Delivery): void {
    const { nowMs } = this.#timers;
    const phase = Phase.awaitPubcomp;
    const entry = this.inflight.addStored(seq, receipt, undefined, delivery, phase, nowMs);
    entry.isOutstanding = this.#link !== null;
    if (this.#link === null) return;
    this.#outstanding++;
    this.#link.sendPubrel(entry.packetId);
  }

  /** It was under way in another worker. */
  resume(packetId: number, phase: Phase, message: Message | undefined, delivery: Delivery): void {
    const entry = this.inflight.restore(packetId, message, delivery, phase, this.#timers.nowMs);
    entry.isOutstanding = false;
  }

  /** Sends again what was under way, as far as window and outbox allow. True: all of it. */
  catchUp(link: Link): boolean {
    while (this.#resend?.isPending === true) {
      if (!this.hasRoom || !link.hasRoom(0)) return false;
      const entry = this.#resend.take();
      if (entry === undefined) break;
      this.#outstanding++;
      entry.isOutstanding = true;
      this.#sendAgain(link, entry);
    }
    return true;
  }

  #resending(backlog: InflightEntry[]): Resend {
    return new Resend(this.inflight, backlog, this.#timers, this.#retryMs, (entry) => {
      // A client that does not read is not helped by more of the same.
      if (this.#link?.isFlowing === true) this.#sendAgain(this.#link, entry);
    });
  }

  #sendAgain(link: Link, entry: InflightEntry): void {
    entry.sentAtMs = this.#timers.nowMs;
    if (entry.phase === Phase.awaitPubcomp) {
      if (!entry.isReleasing) link.sendPubrel(entry.packetId);
      return;
    }
    const qos = entry.phase === Phase.awaitPuback ? 1 : 2;
    const message = entry.message as Message;
    const sent = link.sendPublish(message, entry.delivery, qos, entry.packetId, true);
    if (sent === 'sent' || sent === 'gone') return;
    this.#outstanding--;
    this.#abandon(entry.packetId, message, sent);
  }

  /** PUBREC: the client has the message; from here on only its id matters. */
  received(entry: InflightEntry): void {
    entry.phase = Phase.awaitPubcomp;
    entry.message = undefined;
    entry.isReleasing = true;
    entry.sentAtMs = this.#timers.nowMs;
  }

  /** A crash could not undo the PUBREC any more: were the message sent again, it would be a second one. */
  sendPubrel(entry: InflightEntry): void {
    entry.isReleasing = false;
    if (this.inflight.get(entry.packetId) === entry) this.#link?.sendPubrel(entry.packetId);
  }

  /** Takes out QoS 1 messages. */
  takeUnacked(wanted: (message: Message, delivery: Delivery) => boolean): Queued[] {
    const taken: Queued[] = [];
    for (const entry of this.inflight.inOrder()) {
      const { delivery, phase, seq, receipt, message } = entry;
      if (phase !== Phase.awaitPuback || !message || !wanted(message, delivery)) continue;
      this.inflight.delete(entry.packetId);
      if (entry.isOutstanding && this.#link !== null) this.#outstanding--;
      taken.push({ message, delivery, seq, receipt, mayBeSent: true });
    }
    return taken;
  }

  finish(entry: InflightEntry): void {
    this.inflight.delete(entry.packetId);
    if (entry.isOutstanding) this.#outstanding--;
  }

  clear(): void {
    this.inflight.clear();
  }
}
