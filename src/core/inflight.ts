// The QoS 1 and 2 messages that a client has been sent and has not finished, by packet id.
//
//   slot = id & mask          ids grow by one per message and skip a slot still in use, so a
//   [ 1 ][ 2 ][ - ][ 4 ]      lookup is one index and one comparison; capacity doubles from 8 up
//                             to the window and nothing is allocated for a client that needs none.
//
// Invariants: at most `capacity - 1` slots are in use, so a free id is always found; `order` grows
// with every message, so that resending keeps the order of sending [MQTT-4.6.0-1].

import { invariant } from '#base/assert';
import type { Delivery } from './delivery.ts';
import type { Message } from './message.ts';
import { packetIdOf, type Stored } from './session-journal.ts';
import { type Receipt, unstored } from './store-port.ts';

/** How far the hand-over of a message has come. */
export const Phase = { awaitPuback: 1, awaitPubrec: 2, awaitPubcomp: 3 } as const;
export type Phase = (typeof Phase)[keyof typeof Phase];

/**
 * A class, because V8 may take an object literal that has survived a few times for long-lived and put the
 * next ones where only a full collection looks: there each holds its message, and half as much again of
 * the CPU of a QoS 1 message went into collecting them.
 */
export class InflightEntry implements Stored {
  readonly packetId: number;
  phase: Phase;
  /** Absent once a QoS 2 receiver has confirmed the message: only its id matters then. */
  message: Message | undefined;
  delivery: Delivery;
  readonly order: number;
  /** Sent over the present link: it takes a place in the window. */
  isOutstanding = true;
  sentAtMs: number;
  /** That the client has a QoS 2 message is not on disk yet: PUBREL has to wait. */
  isReleasing = false;
  seq: number;
  receipt: Receipt;

  constructor(
    packetId: number,
    phase: Phase,
    message: Message | undefined,
    delivery: Delivery,
    order: number,
    sentAtMs: number,
    seq: number,
    receipt: Receipt,
  ) {
    this.packetId = packetId;
    this.phase = phase;
    this.message = message;
    this.delivery = delivery;
    this.order = order;
    this.sentAtMs = sentAtMs;
    this.seq = seq;
    this.receipt = receipt;
  }
}

const idMax = 0xffff;

export class Inflight {
  #slots: (InflightEntry | undefined)[] = [];
  /** Stored messages whose slot another one has: few, behind one that is never acknowledged. */
  #beside: Map<number, InflightEntry> | undefined;
  #lastId = 0;
  #order = 0;
  size = 0;

  /** Takes a new packet id for the message. The caller has checked the window. */
  add(message: Message, delivery: Delivery, phase: Phase, nowMs: number): number {
    invariant(this.size < idMax, 'the window is at most 65535');
    if (this.size + 1 >= this.#slots.length) this.#grow();
    const mask = this.#slots.length - 1;
    let id = this.#lastId;
    do {
      id = id === idMax ? 1 : id + 1;
    } while (this.#slots[id & mask] !== undefined || this.#beside?.has(id) === true);
    this.#lastId = id;
    this.#enter(id, 0, unstored, message, delivery, phase, nowMs);
    return id;
  }

  /** A stored message brings its packet id along; the caller has checked that it is free. */
  addStored(
    seq: number,
    receipt: Receipt,
    message: Message | undefined,
    delivery: Delivery,
    phase: Phase,
    nowMs: number,
  ): InflightEntry {
    const id = packetIdOf(seq);
    if (this.size + 1 >= this.#slots.length) this.#grow();
    invariant(this.get(id) === undefined, 'no two messages in flight have one packet id');
    return this.#enter(id, seq, receipt, message, delivery, phase, nowMs);
  }

  /** One that has its packet id from another worker. */
  restore(
    packetId: number,
    message: Message | undefined,
    delivery: Delivery,
    phase: Phase,
    nowMs: number,
  ): InflightEntry {
    if (this.size + 1 >= this.#slots.length) this.#grow();
    this.#lastId = Math.max(this.#lastId, packetId);
    return this.#enter(packetId, 0, unstored, message, delivery, phase, nowMs);
  }

  #enter(
    packetId: number,
    seq: number,
    receipt: Receipt,
    message: Message | undefined,
    delivery: Delivery,
    phase: Phase,
    sentAtMs: number,
  ): InflightEntry {
    const order = this.#order++;
    const entry = new InflightEntry(
      packetId,
      phase,
      message,
      delivery,
      order,
      sentAtMs,
      seq,
      receipt,
    );
    this.#place(entry);
    this.size++;
    return entry;
  }

  #place(entry: InflightEntry): void {
    const at = entry.packetId & (this.#slots.length - 1);
    if (this.#slots[at] === undefined) this.#slots[at] = entry;
    else (this.#beside ??= new Map()).set(entry.packetId, entry);
  }

  get(packetId: number): InflightEntry | undefined {
    const entry = this.#slots[packetId & (this.#slots.length - 1)];
    if (entry !== undefined && entry.packetId === packetId) return entry;
    return this.#beside?.get(packetId);
  }

  delete(packetId: number): void {
    const at = packetId & (this.#slots.length - 1);
    if (this.#slots[at]?.packetId === packetId) {
      this.#slots[at] = undefined;
    } else {
      const isBeside = this.#beside?.delete(packetId) === true;
      invariant(isBeside, 'only a packet id in flight is released');
    }
    this.size--;
  }

  /** In the order of first sending. */
  inOrder(): InflightEntry[] {
    const used = this.#slots.filter((entry) => entry !== undefined);
    if (this.#beside !== undefined) used.push(...this.#beside.values());
    return used.sort((a, b) => a.order - b.order);
  }

  clear(): void {
    this.#slots = [];
    this.#beside = undefined;
    this.size = 0;
  }

  #grow(): void {
    const used = this.inOrder();
    const capacity = Math.max(8, this.#slots.length * 2);
    this.#slots = new Array<InflightEntry | undefined>(capacity).fill(undefined);
    this.#beside = undefined;
    for (const entry of used) this.#place(entry);
  }
}
