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

/** How far the hand-over of a message has come. */
export const Phase = { awaitPuback: 1, awaitPubrec: 2, awaitPubcomp: 3 } as const;
export type Phase = (typeof Phase)[keyof typeof Phase];

export interface InflightEntry {
  packetId: number;
  phase: Phase;
  /** Absent once a QoS 2 receiver has confirmed the message: only its id matters then. */
  message: Message | undefined;
  delivery: Delivery;
  order: number;
  /** Sent over the present link: it takes a place in the window. */
  isOutstanding: boolean;
  sentAtMs: number;
}

const idMax = 0xffff;

export class Inflight {
  #slots: (InflightEntry | undefined)[] = [];
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
    } while (this.#slots[id & mask] !== undefined);
    this.#lastId = id;
    this.size++;
    this.#slots[id & mask] = {
      packetId: id,
      phase,
      message,
      delivery,
      order: this.#order++,
      isOutstanding: true,
      sentAtMs: nowMs,
    };
    return id;
  }

  get(packetId: number): InflightEntry | undefined {
    const entry = this.#slots[packetId & (this.#slots.length - 1)];
    return entry !== undefined && entry.packetId === packetId ? entry : undefined;
  }

  delete(packetId: number): void {
    const at = packetId & (this.#slots.length - 1);
    invariant(this.#slots[at]?.packetId === packetId, 'only a packet id in flight is released');
    this.#slots[at] = undefined;
    this.size--;
  }

  /** In the order of first sending. */
  inOrder(): InflightEntry[] {
    const used = this.#slots.filter((entry) => entry !== undefined);
    return used.sort((a, b) => a.order - b.order);
  }

  clear(): void {
    this.#slots = [];
    this.size = 0;
  }

  #grow(): void {
    const used = this.#slots;
    const capacity = Math.max(8, used.length * 2);
    this.#slots = new Array<InflightEntry | undefined>(capacity).fill(undefined);
    for (const entry of used) {
      if (entry !== undefined) this.#slots[entry.packetId & (capacity - 1)] = entry;
    }
  }
}
