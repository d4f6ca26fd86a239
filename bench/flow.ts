// One publisher's closed loop. Its window is a ring of slots, each a prebuilt batch of frames that
// is written in one go, and written again only when every receiver has all of it:
//
//   slot 0 ██████ sent, 2 of 2 receivers have it → stamp, write again
//   slot 1 ██████ sent, 1 of 2
//   slot 2 ██████ sent, 0 of 2
//
// So at most slots × batch messages are under way, a buffer is never touched while a socket still
// holds it, and a packet id (fixed by slot and place) is never in use twice. Receivers are the
// subscribers and, at QoS 1, the publisher itself with its PUBACKs. Messages of a flow arrive in
// order, hence counting is enough to know which slot is complete.

import type { Socket } from 'node:net';
import { payloadBytes, publishFrame, type Qos, sampledAt, sentAt } from './frames.ts';

export interface FlowShape {
  readonly qos: Qos;
  readonly batch: number;
  readonly slots: number;
}

export class Flow {
  readonly shape: FlowShape;
  sent = 0;
  readonly #socket: Socket;
  readonly #receivers: number;
  readonly #batches: Buffer[] = [];
  /** Where the slot's sampled message has its time stamp: at another place in every slot. */
  readonly #stampAt: number[] = [];
  readonly #missing: Uint32Array;
  #stopped = false;

  constructor(socket: Socket, index: number, topic: string, subscribers: number, shape: FlowShape) {
    this.shape = shape;
    this.#socket = socket;
    this.#receivers = subscribers + (shape.qos > 0 ? 1 : 0);
    this.#missing = new Uint32Array(shape.slots);
    for (let slot = 0; slot < shape.slots; slot++) {
      const frames = Array.from({ length: shape.batch }, (_, place) =>
        publishFrame(topic, shape.qos, slot * shape.batch + place + 1, index),
      );
      const sampled = Math.floor(((slot + 0.5) / shape.slots) * shape.batch);
      const frameBytes = frames[0]?.length ?? 0;
      const payloadAt = (sampled + 1) * frameBytes - payloadBytes;
      const bytes = Buffer.concat(frames);
      bytes[payloadAt + sampledAt] = 1;
      this.#batches.push(bytes);
      this.#stampAt.push(payloadAt + sentAt);
    }
  }

  start(): void {
    for (let slot = 0; slot < this.shape.slots; slot++) this.#send(slot);
  }

  /** What is under way still arrives; nothing new is sent. */
  stop(): void {
    this.#stopped = true;
  }

  /** One receiver has all of a slot. */
  complete(slot: number): void {
    this.#missing[slot]! -= 1; // slot < slots: arrivals count in the same ring
    if (this.#missing[slot] === 0 && !this.#stopped) this.#send(slot);
  }

  #send(slot: number): void {
    const bytes = this.#batches[slot]!; // slot < slots, as above
    bytes.writeDoubleLE(performance.now(), this.#stampAt[slot] ?? 0);
    this.#missing[slot] = this.#receivers;
    this.sent += this.shape.batch;
    this.#socket.write(bytes);
  }
}

/** How far one receiver is within one flow. */
export class Arrivals {
  readonly flow: Flow;
  #slot = 0;
  #left: number;

  constructor(flow: Flow) {
    this.flow = flow;
    this.#left = flow.shape.batch;
  }

  one(): void {
    if (--this.#left > 0) return;
    const slot = this.#slot;
    this.#left = this.flow.shape.batch;
    this.#slot = slot + 1 === this.flow.shape.slots ? 0 : slot + 1;
    this.flow.complete(slot);
  }
}
