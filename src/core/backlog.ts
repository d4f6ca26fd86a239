// The messages that a session cannot be given yet. The younger ones are in memory; older ones may lie
// in the store alone, because the client was away or the process was another, and come back a slice at
// a time. The bound of the queue counts both.

import { Deque } from '#base/deque';
import type { ZoneSettings } from '#config/settings';
import { Mqueue, type Queued } from './mqueue.ts';
import type { SessionJournal } from './session-journal.ts';
import type { StoredEntry } from './store-port.ts';

/** Read from the store at once: well under a millisecond of loop time. */
const sliceEntries = 100;

type Limits = Pick<ZoneSettings, 'maxMqueueLen' | 'mqueuePriorities' | 'mqueueDefaultPriority'>;

/** Whose messages wait. */
export interface BacklogOwner {
  /** From the store. Undefined: the client has the message, and there is nothing to send. */
  comeBack(entry: StoredEntry): Queued | undefined;
}

export class Backlog {
  readonly #limits: Limits;
  readonly #queue: Mqueue;
  readonly #owner: BacklogOwner;
  journal: SessionJournal | undefined;
  /** Came back from the store and goes before the queue. */
  #front: Deque<Queued> | undefined;
  /** Something in memory may expire. */
  #mayExpire = false;

  constructor(limits: Limits, owner: BacklogOwner) {
    this.#limits = limits;
    this.#queue = new Mqueue(limits);
    this.#owner = owner;
  }

  get length(): number {
    return this.#queue.length + (this.#front?.length ?? 0) + (this.journal?.parkedCount ?? 0);
  }

  /** Nothing waits, as far as that is known without reading the disk: it is when a client is there. */
  get isEmpty(): boolean {
    return this.#queue.length === 0 && this.#isInOrder;
  }

  get dropped(): number {
    return this.#queue.dropped;
  }

  get #isInOrder(): boolean {
    return (
      (this.#front === undefined || this.#front.length === 0) &&
      (this.journal === undefined || this.journal.parkedCount === 0)
    );
  }

  /** One more would be among the first so many, and none would have to go. */
  fits(count: number): boolean {
    const { maxMqueueLen: max } = this.#limits;
    return this.length < (max === 0 ? count : Math.min(max, count));
  }

  /** Which message would have to go if one more came; `isStored`: it is promised to somebody. */
  overflow(topic: string, isStored: boolean): 'none' | 'oldest' | 'itself' {
    const { maxMqueueLen: max, mqueuePriorities } = this.#limits;
    if (max === 0) return 'none';
    if (mqueuePriorities.size > 0) return this.#queue.isFullFor(topic) ? 'oldest' : 'none';
    if (this.length < max) return 'none';
    const isOldest = this.#isInOrder || isStored || this.#queue.unpromised > 0;
    return isOldest ? 'oldest' : 'itself';
  }

  /** Answers the message that had to go, if one had to. */
  push(queued: Queued): Queued | undefined {
    if (queued.message.expiresAtMs !== Number.POSITIVE_INFINITY) this.#mayExpire = true;
    const max = this.#limits.maxMqueueLen;
    if (max === 0 || this.#isInOrder) return this.#queue.push(queued);
    if (this.#limits.mqueuePriorities.size > 0) {
      this.load();
      return this.#queue.push(queued);
    }
    if (this.length < max) return this.#queue.push(queued);
    this.#queue.dropped++;
    // What was never promised goes before what was.
    const unpromised = this.#queue.takeUnpromised();
    if (unpromised === undefined && queued.seq === 0) return queued;
    const oldest = unpromised ?? this.#takeOldest();
    this.#queue.restore(queued);
    return oldest;
  }

  /** The oldest that no client has seen. */
  #takeOldest(): Queued | undefined {
    const front = this.#front;
    for (let i = 0; i < (front?.length ?? 0); i++) {
      if (front?.at(i)?.mayBeSent === false) return front.removeAt(i);
    }
    const entry = this.journal?.shedParked();
    return entry === undefined ? this.#queue.shift() : this.#owner.comeBack(entry);
  }

  peek(): Queued | undefined {
    this.#refill();
    return this.#front?.peek() ?? this.#queue.peek();
  }

  /** What `peek` answered. */
  shift(): Queued | undefined {
    return this.#front?.shift() ?? this.#queue.shift();
  }

  /** Brings a slice back when the one before is used up. */
  #refill(): void {
    const { journal } = this;
    if (journal === undefined) return;
    while ((this.#front?.length ?? 0) === 0 && journal.parkedCount > 0) {
      if (this.#limits.mqueuePriorities.size > 0) this.load();
      else this.#take(journal.unpark(sliceEntries));
    }
  }

  #take(entries: readonly StoredEntry[]): void {
    this.#front ??= new Deque();
    for (const entry of entries) {
      const queued = this.#owner.comeBack(entry);
      if (queued === undefined) continue;
      if (queued.message.expiresAtMs !== Number.POSITIVE_INFINITY) this.#mayExpire = true;
      this.#front.push(queued);
    }
  }

  /** Everything into memory: for priorities, and for taking out of the middle. */
  load(): void {
    const { journal } = this;
    if (journal === undefined) return;
    while (journal.parkedCount > 0) this.#take(journal.unpark(sliceEntries));
    const front = this.#front;
    if (front === undefined || front.length === 0) return;
    const younger = this.#queue.extract(() => true);
    for (let left = front.length; left > 0; left--) {
      const queued = front.shift() as Queued;
      // What the client may have seen goes first whatever its priority: its packet id may be taken there.
      if (queued.mayBeSent) front.push(queued);
      else this.#queue.restore(queued);
    }
    for (const queued of younger) this.#queue.restore(queued);
  }

  /** Takes out everything that `wanted` names, in order. */
  extract(wanted: (queued: Queued) => boolean): Queued[] {
    this.load();
    return this.extractHeld(wanted);
  }

  /** The same among what is in memory. */
  extractHeld(wanted: (queued: Queued) => boolean): Queued[] {
    const front = this.#front;
    const taken: Queued[] = [];
    for (let left = front?.length ?? 0; left > 0; left--) {
      const queued = front?.shift() as Queued;
      if (wanted(queued)) taken.push(queued);
      else front?.push(queued);
    }
    return [...taken, ...this.#queue.extract(wanted)];
  }

  /** Messages in memory. */
  get heldCount(): number {
    return this.#queue.length + (this.#front?.length ?? 0);
  }

  /** Those in memory whose time is over. Costs nothing where none has an end. */
  takeExpired(nowMs: number): Queued[] {
    if (!this.#mayExpire) return [];
    this.#mayExpire = false;
    return this.extractHeld(({ message, mayBeSent }) => {
      if (message.expiresAtMs === Number.POSITIVE_INFINITY) return false;
      const isExpired = message.isExpired(nowMs) && !(mayBeSent && message.qos === 2);
      this.#mayExpire ||= !isExpired;
      return isExpired;
    });
  }
}
