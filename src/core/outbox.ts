// What one client is owed: packets copied one behind another into a slab, written once per loop turn
// however many arrived in it, bounded in bytes. The bound belongs to this client alone: over it the
// client loses its own QoS 0 messages; it never slows down anybody else.

import { type Flushable, type Flusher, largeSlabBytes, smallSlabBytes } from './flusher.ts';
import { Metric, type Metrics } from './metrics.ts';
import type { Transport } from './ports.ts';

/** Runs at least this long are not copied per receiver: all receivers share one piece of memory. */
export const sharedPieceBytesMin: number = 8 * 1024;
/** In place of the bytes that the transport has kept: it has none, and is to get none yet. */
const heldBack = -1;

/** The client's side of the outbox. */
export interface OutboxOwner {
  /** There is room again after `hasRoom` had said no. */
  onRoom(): void;
  /** Something of ours threw where nobody else would catch it. */
  onFault(error: unknown): void;
}

export class Outbox implements Flushable {
  readonly #transport: Transport;
  readonly #flusher: Flusher;
  readonly #bytesMax: number;
  readonly #metrics: Metrics;
  readonly #owner: OutboxOwner;
  #pieces: Uint8Array[] | null = null;
  /** The slabs among the pieces, to be given back. */
  #fullSlabs: Buffer[] | null = null;
  /** The slab being filled; `slab` and `fill` are open to the writers of packets. */
  slab: Buffer | null = null;
  fill = 0;
  /** Bytes offered and not yet taken by the transport. */
  bytes = 0;
  #lent = 0;
  /** The memory counted as held: a client that takes everything at once never has any. */
  #counted: Set<ArrayBufferLike> | null = null;
  #isDirty = false;
  #hasRefused = false;
  #isClosed = false;

  constructor(
    transport: Transport,
    flusher: Flusher,
    bytesMax: number,
    metrics: Metrics,
    owner: OutboxOwner,
  ) {
    this.#transport = transport;
    this.#flusher = flusher;
    this.#bytesMax = bytesMax;
    this.#metrics = metrics;
    this.#owner = owner;
  }

  /**
   * Whether so much more is within the bound; one message always fits into an empty outbox. Whoever
   * is told no is told by `onRoom` when it is worth asking again. Answers to the client's own packets
   * do not ask: the connection stops reading while the outbox is over its bound.
   */
  hasRoom(bytes: number): boolean {
    if (this.bytes + bytes <= this.#bytesMax || this.bytes === 0) return true;
    this.#hasRefused = true;
    return false;
  }

  /** Somebody was told that there is no room, and there has been none since. */
  get isFull(): boolean {
    return this.#hasRefused;
  }

  /** True while the transport has taken all but what this turn brought. */
  get isFlowing(): boolean {
    return this.#lent === 0;
  }

  /**
   * Room for `length` contiguous bytes: they begin at the returned offset of `this.slab`, which the
   * caller fills before doing anything else. Only for packets up to `sharedPieceBytesMin`.
   */
  reserve(length: number): number {
    if (this.slab === null) {
      this.slab = length <= smallSlabBytes ? this.#flusher.takeSmall() : this.#flusher.takeLarge();
      this.fill = 0;
    } else if (this.fill + length > this.slab.length) {
      this.#enlarge(this.slab, length);
    }
    const at = this.fill;
    this.fill = at + length;
    this.#count(length);
    return at;
  }

  #enlarge(slab: Buffer, length: number): void {
    if (this.fill + length > largeSlabBytes) {
      this.#closeSlab();
      this.slab = this.#flusher.takeLarge();
      return;
    }
    this.slab = this.#flusher.takeLarge();
    slab.copy(this.slab, 0, 0, this.fill);
    this.#flusher.giveBack(slab);
  }

  /** Copies bytes; nothing of `source` is kept. */
  copy(source: Buffer, start: number, end: number): void {
    const length = end - start;
    if (length > largeSlabBytes) {
      this.share(Buffer.from(source.subarray(start, end)));
      return;
    }
    const at = this.reserve(length);
    copyBytes(source, start, end, this.slab as Buffer, at);
  }

  /** Queues memory that nobody will change until it is written; several outboxes may share it. */
  share(piece: Uint8Array): void {
    if (piece.length === 0) return;
    if (this.fill > 0) this.#closeSlab();
    (this.#pieces ??= []).push(piece);
    this.#count(piece.length);
  }

  #closeSlab(): void {
    const slab = this.slab as Buffer;
    (this.#pieces ??= []).push(slab.subarray(0, this.fill));
    (this.#fullSlabs ??= []).push(slab);
    this.slab = null;
    this.fill = 0;
  }

  #count(length: number): void {
    this.bytes += length;
    if (this.#isDirty) return;
    this.#isDirty = true;
    this.#flusher.touch(this);
  }

  flush(): void {
    this.#isDirty = false;
    if (this.#isClosed || this.bytes === 0) return;
    if (this.#lent !== 0) {
      this.#countWaiting();
      return;
    }
    const length = this.bytes;
    let isTaken: boolean;
    if (this.#pieces === null) {
      const slab = this.slab as Buffer;
      this.slab = null;
      isTaken = this.#transport.write(slab.subarray(0, this.fill));
      this.fill = 0;
      if (isTaken) this.#flusher.giveBack(slab);
      else this.#countHeld(slab);
    } else {
      if (this.fill > 0) this.#closeSlab();
      const pieces = this.#pieces;
      const slabs = this.#fullSlabs;
      this.#pieces = null;
      this.#fullSlabs = null;
      isTaken = this.#transport.writeAll(pieces);
      if (!isTaken) for (const piece of pieces) this.#countHeld(piece);
      else if (slabs !== null) for (const slab of slabs) this.#flusher.giveBack(slab);
    }
    if (this.#isClosed) {
      this.#uncount();
      return;
    }
    this.#metrics.add(Metric.bytesSent, length);
    if (isTaken) {
      this.bytes = 0;
      this.#tellRoom();
    } else {
      this.#lent = length;
    }
  }

  failed(error: unknown): void {
    this.#owner.onFault(error);
  }

  /** Nothing is written until `release`, neither what has been put in nor what will be. */
  hold(): void {
    if (this.#lent === 0) this.#lent = heldBack;
  }

  release(): void {
    if (this.#lent !== heldBack) return;
    this.#lent = 0;
    this.drained();
  }

  /** The transport is done with what it had kept. */
  drained(): void {
    if (this.#lent === heldBack) return;
    this.bytes -= this.#lent;
    this.#lent = 0;
    this.#uncount();
    if (this.bytes > 0) this.flush();
    else this.#tellRoom();
  }

  #countWaiting(): void {
    if (this.#pieces !== null) for (const piece of this.#pieces) this.#countHeld(piece);
    if (this.slab !== null) this.#countHeld(this.slab);
  }

  /** Several pieces may lie in one block of memory, and several outboxes may hold it. */
  #countHeld({ buffer }: Uint8Array): void {
    this.#counted ??= new Set();
    if (this.#counted.has(buffer)) return;
    this.#counted.add(buffer);
    this.#flusher.pressure.held.hold(buffer);
  }

  #uncount(): void {
    if (this.#counted === null) return;
    for (const buffer of this.#counted) this.#flusher.pressure.held.release(buffer);
    this.#counted = null;
  }

  #tellRoom(): void {
    if (!this.#hasRefused) return;
    this.#hasRefused = false;
    this.#owner.onRoom();
  }

  /** Writes what can be written now, then lets the transport end in order. */
  end(): void {
    if (this.#isClosed) return;
    if (this.#lent === 0) this.flush();
    else if (this.bytes > this.#lent) this.#flushBehind();
    this.#isClosed = true;
    this.#transport.end();
  }

  /** The last words of a connection whose transport still holds earlier ones: queued behind them. */
  #flushBehind(): void {
    if (this.fill > 0) this.#closeSlab();
    if (this.#pieces !== null) this.#transport.writeAll(this.#pieces);
    this.#pieces = null;
  }

  /** The transport is gone. */
  close(): void {
    this.#isClosed = true;
    this.#pieces = null;
    this.#fullSlabs = null;
    this.slab = null;
    this.fill = 0;
    this.bytes = 0;
    this.#lent = 0;
    this.#uncount();
  }
}

/** Below this a loop is quicker than the call into the engine's own copy. */
const loopBytesMax = 32;

export function copyBytes(
  source: Buffer,
  start: number,
  end: number,
  target: Buffer,
  at: number,
): void {
  if (end - start > loopBytesMax) {
    source.copy(target, at, start, end);
    return;
  }
  let to = at;
  for (let i = start; i < end; i++) target[to++] = source[i] as number;
}
