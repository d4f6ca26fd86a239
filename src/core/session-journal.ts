// What the store is told of one session's messages, and what of them lies on disk alone. Each message
// gets a number when it is stored, and its packet id is made of that number: after a crash it is sent
// again under the id the client may have seen it with [MQTT-4.4.0-1], and no write is needed for that.
// Law: nobody sends a QoS 2 message whose number is not on disk, because the number could be given to
// another message after a crash, which the client would take for a duplicate.

import type { Delivery } from './delivery.ts';
import type { Message } from './message.ts';
import type { Wait } from './ports.ts';
import {
  type Receipt,
  type SessionHead,
  type SessionStore,
  type SessionWatcher,
  type Store,
  type StoredEntry,
  unstored,
} from './store-port.ts';

const packetIds = 0xffff;
/** Read at once by a sweep, or to make room. */
const sweepEntries = 100;
/** Numbers grow at least so fast, so that those lost in a crash are not given again. */
const numbersPerMs = 16;
/** Everything may have been sent: the session was cut off. */
export const sentUnknown: number = 2 ** 48 - 1;

/** A message of a session with its place in the store. */
export interface Stored {
  readonly seq: number;
  receipt: Receipt;
}

/** Whose messages they are. */
export interface JournalOwner {
  /** What was told is on disk: what waited for that may go on. */
  onFlushed(): void;
  /** These are not, and their publishers are refused. */
  onRefused(fromSeq: number, throughSeq: number): void;
  onFault(error: unknown): void;
}

export const packetIdOf = (seq: number): number => ((seq - 1) % packetIds) + 1;

export class SessionJournal implements SessionWatcher {
  readonly stored: SessionStore;
  readonly #store: Store;
  /** Acknowledgements wait for the disk. */
  readonly isSync: boolean;
  readonly #owner: JournalOwner;
  /** 0: not known yet, after a restart. */
  #nextSeq: number;
  #flushedSeq = 0;
  /** Messages up to this one were sent to the client, if they were not finished. */
  sentSeq: number;
  /** After a crash: messages up to this one may have been sent, and nobody knows which. */
  #cutSeq = 0;
  #isCutOff: boolean;
  /** Numbers of the messages that lie on disk alone; `count` is -1 until somebody wants to know. */
  #parkedFrom = 0;
  #parkedThrough = 0;
  #parkedCount: number;
  /** Some of them may expire; how far the sweep has come, and whether it has seen such a one. */
  #mayExpire = true;
  #sweptSeq = 0;
  #isExpiring = false;
  /** Settled by the sweep, and perhaps still on disk: to settle one twice would take it from others. */
  #swept: Set<number> | undefined;
  /** What goes next when the queue is full, and what went last. */
  #shedding: StoredEntry[] = [];
  #shedSeq = 0;
  #finishing: Set<number> | undefined;
  /** Of the last `put`. */
  receipt: Receipt = unstored;

  /** `restored`: of a session that another process left; undefined: a new one. */
  constructor(
    store: Store,
    stored: SessionStore,
    owner: JournalOwner,
    isSync: boolean,
    restored: Pick<SessionHead, 'sentSeq'> | undefined,
  ) {
    this.#store = store;
    this.stored = stored;
    this.#owner = owner;
    this.isSync = isSync;
    const isRestored = restored !== undefined;
    this.#isCutOff = restored?.sentSeq === sentUnknown;
    this.sentSeq = this.#isCutOff ? 0 : (restored?.sentSeq ?? 0);
    this.#nextSeq = isRestored ? 0 : 1;
    this.#parkedCount = isRestored ? -1 : 0;
    stored.watcher = this;
  }

  /** Stores a message. Answers its number; its receipt is left in `receipt`. */
  put(message: Message, delivery: Delivery, nowMs: number, isHandedOn = false): number {
    if (this.#nextSeq === 0) {
      // Not again: what came back from the disk is still there under its number.
      if (this.#parkedCount < 0) this.#measure();
      this.#nextSeq = Math.max(this.#parkedThrough + 1, nowMs * numbersPerMs);
    }
    const seq = this.#nextSeq++;
    this.receipt = this.stored.put(seq, message, delivery, isHandedOn);
    return seq;
  }

  /** As `Store.hasPassed`: it was stored before, or is about to be. */
  hasPassed({ passage }: Message, { group }: Delivery): boolean | Promise<void> {
    if (passage === undefined) return false;
    try {
      return this.#store.hasPassed(passage, group ?? this.stored.no);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  /** For the next process: up to where a client may have seen messages. */
  get seenSeq(): number {
    return this.#isCutOff ? sentUnknown : Math.max(this.sentSeq, this.#cutSeq);
  }

  mayBeSent(seq: number): boolean {
    return seq <= this.seenSeq;
  }

  /** In flight, and not the queue's to drop: if QoS 2 is not finished, its packet id is never free. */
  #isInFlight({ seq, message }: StoredEntry): boolean {
    return seq <= this.sentSeq || (seq <= this.#cutSeq && message?.qos !== 1);
  }

  /** What an acknowledgement has to wait for; a store that fails tells it to whoever does. */
  get wait(): Wait {
    return this.isSync ? this.#store.flushed() : undefined;
  }

  /** The message may be sent: nothing could be mistaken for it. */
  isSafe(seq: number): boolean {
    return !this.isSync || seq <= this.#flushedSeq;
  }

  settle({ seq, receipt }: Stored, message: Message | undefined): void {
    if (seq > 0) this.stored.settle(seq, message, receipt);
  }

  /** The oldest had to go. */
  shed({ seq, receipt }: Stored, message: Message): void {
    if (seq > 0) this.stored.shed(seq, message, receipt);
  }

  /** It is on disk, and nothing that was settled there can come back when it is read again. */
  mayPark({ seq, receipt }: Stored): boolean {
    return seq > 0 && seq <= this.#flushedSeq && receipt !== unstored;
  }

  /**
   * A QoS 2 message is finished. Its packet id is not given again before that is on disk: after a
   * crash its PUBREL would go out once more, and end the message that has the id by then.
   */
  finished(packetId: number): void {
    if (!this.isSync) return;
    this.#finishing ??= new Set();
    this.#finishing.add(packetId);
    this.whenFlushed(() => {
      this.#finishing?.delete(packetId);
      this.#owner.onFlushed();
    });
  }

  /** Whether a packet id is still on disk as that of a finished message. */
  isFinishing(packetId: number): boolean {
    return this.#finishing?.has(packetId) === true;
  }

  /** Calls back when what cannot be taken back is on disk, however long a store fails before. */
  whenFlushed(call: () => void): void {
    if (!this.isSync) {
      call();
      return;
    }
    this.#store
      .lastingFlushed()
      .then(call)
      .catch((error: unknown) => this.#owner.onFault(error));
  }

  onFlushed(throughSeq: number): void {
    this.#flushedSeq = Math.max(this.#flushedSeq, throughSeq);
    this.#owner.onFlushed();
  }

  onRefused(fromSeq: number, throughSeq: number): void {
    this.#owner.onRefused(fromSeq, throughSeq);
  }

  /** How many messages lie on disk alone; they are older than all others. */
  get parkedCount(): number {
    if (this.#parkedCount < 0) this.#measure();
    return this.#parkedCount;
  }

  /** The same for a session that ends, whether its messages can be counted or not. */
  countLeft(): number {
    try {
      return this.parkedCount;
    } catch {
      // They go uncounted.
      return 0;
    }
  }

  #measure(): void {
    const { count, lastSeq } = this.stored.extent(this.#parkedFrom);
    this.#parkedCount = count;
    this.#parkedThrough = lastSeq;
    if (this.#isCutOff) this.#cutSeq = lastSeq;
    this.#isCutOff = false;
    this.#flushedSeq = Math.max(this.#flushedSeq, lastSeq);
  }

  /** The oldest of them, which from now on are the caller's. */
  unpark(countMax: number): StoredEntry[] {
    if (this.parkedCount === 0) return [];
    const entries = this.stored.read(this.#parkedFrom, this.#parkedThrough, countMax);
    const last = entries.at(-1);
    this.#shedding = [];
    if (last !== undefined) this.#parkedFrom = last.seq + 1;
    // What was shed or has expired may not be gone from the disk yet. It is not counted any more.
    const wanted = entries.filter((entry) => !this.#isGone(entry));
    const isMore = entries.length === countMax && this.#parkedFrom <= this.#parkedThrough;
    this.#parkedCount = isMore ? Math.max(1, this.#parkedCount - wanted.length) : 0;
    return wanted;
  }

  #isGone(entry: StoredEntry): boolean {
    const isShed = entry.seq <= this.#shedSeq && !this.#isInFlight(entry);
    return isShed || this.#swept?.has(entry.seq) === true;
  }

  /** The queue is full: the oldest of those on disk that are not in flight goes. */
  shedParked(): StoredEntry | undefined {
    if (this.parkedCount === 0) return undefined;
    if (this.#shedding.length === 0) this.#findOldest();
    const entry = this.#shedding.shift();
    if (entry === undefined) return undefined;
    this.#shedSeq = entry.seq;
    this.#parkedCount--;
    this.stored.shed(entry.seq, entry.message, entry.receipt);
    return { ...entry, receipt: unstored };
  }

  #findOldest(): void {
    let from = Math.max(this.#parkedFrom, this.sentSeq + 1, this.#shedSeq + 1);
    for (;;) {
      const oldest = this.stored.read(from, this.#parkedThrough, sweepEntries);
      const isKept = (entry: StoredEntry): boolean =>
        this.#isInFlight(entry) || this.#isGone(entry);
      this.#shedding = oldest.filter((entry) => !isKept(entry));
      if (this.#shedding.length > 0 || oldest.length < sweepEntries) return;
      from = (oldest.at(-1) as StoredEntry).seq + 1;
    }
  }

  /**
   * Settles what has expired among a slice of those on disk, and tells about each; what may have been
   * sent is left to be finished. True: there is more to look at, now or later.
   */
  sweepParked(nowMs: number, onExpired: (message: Message) => void): boolean {
    if (!this.#mayExpire || this.parkedCount === 0) return false;
    if (this.stored.isSettled) this.#swept = undefined;
    const from = Math.max(this.#sweptSeq + 1, this.#parkedFrom);
    const entries = this.stored.read(from, this.#parkedThrough, sweepEntries);
    for (const entry of entries) {
      const { seq, message, receipt } = entry;
      this.#sweptSeq = seq;
      if (message === undefined || message.expiresAtMs === Number.POSITIVE_INFINITY) continue;
      this.#isExpiring = true;
      if (!message.isExpired(nowMs) || this.#isInFlight(entry) || this.#isGone(entry)) continue;
      this.stored.settle(seq, message, receipt);
      (this.#swept ??= new Set()).add(seq);
      this.#parkedCount--;
      onExpired(message);
    }
    if (entries.length === sweepEntries) return true;
    this.#mayExpire = this.#isExpiring;
    this.#isExpiring = false;
    this.#sweptSeq = 0;
    return false;
  }

  /** These are on disk alone from now on. */
  park(entries: readonly Stored[]): void {
    let isFirst = this.parkedCount === 0;
    for (const { seq } of entries) {
      this.#parkedFrom = isFirst ? seq : Math.min(this.#parkedFrom, seq);
      this.#parkedThrough = Math.max(this.#parkedThrough, seq);
      isFirst = false;
    }
    this.#parkedCount += entries.length;
    this.#mayExpire = true;
  }
}
