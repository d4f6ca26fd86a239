// What one client is owed: packets copied one behind another into a slab, written once per loop turn
// however many arrived in it, bounded in bytes. The bound belongs to this client alone: over it the
// client loses its own QoS 0 messages; it never slows down anybody else.

import { Metric, type Metrics } from './metrics.ts';
import type { Transport } from './ports.ts';

const slabBytes = 16 * 1024;
/** Runs at least this long are not copied per receiver: all receivers share one piece of memory. */
export const sharedPieceBytesMin: number = 8 * 1024;
const spareSlabsMax = 1024;

/** The outboxes that got something in this loop turn, and the slabs that none of them uses now. */
export class Flusher {
  #dirty: Outbox[] = [];
  #spare: Buffer[] = [];
  #isScheduled = false;
  readonly #flushAll = (): void => {
    this.#isScheduled = false;
    const dirty = this.#dirty;
    this.#dirty = [];
    for (let i = 0; i < dirty.length; i++) (dirty[i] as Outbox).flush();
  };

  touch(outbox: Outbox): void {
    this.#dirty.push(outbox);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#flushAll);
  }

  takeSlab(): Buffer {
    return this.#spare.pop() ?? Buffer.allocUnsafeSlow(slabBytes);
  }

  giveBack(slab: Buffer): void {
    if (this.#spare.length < spareSlabsMax) this.#spare.push(slab);
  }
}

export class Outbox {
  readonly #transport: Transport;
  readonly #flusher: Flusher;
  readonly #bytesMax: number;
  readonly #metrics: Metrics;
  #pieces: Uint8Array[] | null = null;
  /** The slab being filled; `slab` and `fill` are open to the writers of packets. */
  slab: Buffer | null = null;
  fill = 0;
  /** Bytes offered and not yet taken by the transport. */
  bytes = 0;
  #lent = 0;
  #isDirty = false;
  #isClosed = false;

  constructor(transport: Transport, flusher: Flusher, bytesMax: number, metrics: Metrics) {
    this.#transport = transport;
    this.#flusher = flusher;
    this.#bytesMax = bytesMax;
    this.#metrics = metrics;
  }

  /**
   * Whether so much more is within the bound; one message always fits into an empty outbox. Control
   * packets do not ask: they are few and small.
   */
  hasRoom(bytes: number): boolean {
    return this.bytes + bytes <= this.#bytesMax || this.bytes === 0;
  }

  /** True while the transport has taken all but what this turn brought. */
  get isFlowing(): boolean {
    return this.#lent === 0;
  }

  /**
   * Room for `length` contiguous bytes: they begin at the returned offset of `this.slab`, which the
   * caller fills before doing anything else. Only for packets up to a slab; larger ones: `share`.
   */
  reserve(length: number): number {
    if (this.slab === null) {
      this.slab = this.#flusher.takeSlab();
      this.fill = 0;
    } else if (this.fill + length > slabBytes) {
      this.#closeSlab();
      this.slab = this.#flusher.takeSlab();
    }
    const at = this.fill;
    this.fill = at + length;
    this.#count(length);
    return at;
  }

  /** Copies bytes; nothing of `source` is kept. */
  copy(source: Buffer, start: number, end: number): void {
    const length = end - start;
    if (length > slabBytes) {
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
    if (this.#isClosed || this.#lent > 0 || this.bytes === 0) return;
    const length = this.bytes;
    let isTaken: boolean;
    if (this.#pieces === null) {
      const slab = this.slab as Buffer;
      this.slab = null;
      isTaken = this.#transport.write(slab.subarray(0, this.fill));
      this.fill = 0;
      if (isTaken) this.#flusher.giveBack(slab);
    } else {
      if (this.fill > 0) this.#closeSlab();
      const pieces = this.#pieces;
      this.#pieces = null;
      isTaken = this.#transport.writeAll(pieces);
    }
    if (this.#isClosed) return;
    if (isTaken) this.bytes = 0;
    else this.#lent = length;
    this.#metrics.add(Metric.bytesSent, length);
  }

  /** The transport is done with what it had kept. */
  drained(): void {
    this.bytes -= this.#lent;
    this.#lent = 0;
    if (this.bytes > 0) this.flush();
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
    this.slab = null;
    this.fill = 0;
    this.bytes = 0;
    this.#lent = 0;
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
