// A queue with two ends on a ring buffer, for session queues and the like. Law: an instance that was
// never used owns no storage, because most sessions of a broker have nothing queued.

import { invariant } from './assert.ts';

const firstCapacity = 4;
/** A storage up to this size is kept when the deque runs empty; a greater one is released. */
const keptCapacity = 16;
/** Shared by all that own no storage. Never written: with capacity 0 every write grows first. */
const noSlots: never[] = [];

/**
 *     slots  [ e . . . a b c d ]    capacity 8 (a power of two), head 4, length 5
 *                      ^
 *                      head         at(i) is slots[(head + i) & (capacity - 1)]
 *
 * Invariant: a slot that holds nothing is undefined, so that nothing removed is kept alive. Cost:
 * push, shift, unshift, peek and at are O(1), growth amortised over the doublings; removeAt is
 * O(distance to the nearer end).
 */
export class Deque<T> {
  #slots: (T | undefined)[] = noSlots;
  #head = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Slots of storage, for tests and memory accounts. */
  get capacity(): number {
    return this.#slots.length;
  }

  push(value: T): void {
    if (this.#length === this.#slots.length) this.#grow();
    this.#slots[this.#slot(this.#length)] = value;
    this.#length += 1;
  }

  unshift(value: T): void {
    if (this.#length === this.#slots.length) this.#grow();
    this.#head = this.#slot(-1);
    this.#slots[this.#head] = value;
    this.#length += 1;
  }

  shift(): T | undefined {
    if (this.#length === 0) return undefined;
    const value = this.#slots[this.#head];
    this.#slots[this.#head] = undefined;
    this.#head = this.#slot(1);
    this.#length -= 1;
    if (this.#length === 0) this.#release();
    return value;
  }

  /** The next that shift() would give. */
  peek(): T | undefined {
    return this.at(0);
  }

  /** Counted from the head; undefined outside of 0 … length - 1. */
  at(index: number): T | undefined {
    if (index < 0 || index >= this.#length) return undefined;
    return this.#slots[this.#slot(index)];
  }

  /** Takes one out of the middle; those behind it move up. */
  removeAt(index: number): T {
    invariant(
      Number.isInteger(index) && index >= 0 && index < this.#length,
      'removeAt is given an index within the deque',
    );
    const slots = this.#slots;
    const value = slots[this.#slot(index)] as T;
    if (index < this.#length / 2) {
      for (let i = index; i > 0; i -= 1) slots[this.#slot(i)] = slots[this.#slot(i - 1)];
      slots[this.#head] = undefined;
      this.#head = this.#slot(1);
    } else {
      const last = this.#length - 1;
      for (let i = index; i < last; i += 1) slots[this.#slot(i)] = slots[this.#slot(i + 1)];
      slots[this.#slot(last)] = undefined;
    }
    this.#length -= 1;
    if (this.#length === 0) this.#release();
    return value;
  }

  clear(): void {
    this.#slots = noSlots;
    this.#head = 0;
    this.#length = 0;
  }

  /** From head to tail. The deque may not be changed meanwhile; the data path uses at(). */
  *[Symbol.iterator](): Generator<T, void, undefined> {
    for (let i = 0; i < this.#length; i += 1) yield this.#slots[this.#slot(i)] as T;
  }

  #slot(index: number): number {
    return (this.#head + index) & (this.#slots.length - 1);
  }

  #grow(): void {
    const capacity = this.#slots.length === 0 ? firstCapacity : this.#slots.length * 2;
    // oxlint-disable-next-line unicorn/no-new-array -- the exact size in one allocation is the point
    const slots = new Array<T | undefined>(capacity).fill(undefined);
    for (let i = 0; i < this.#length; i += 1) slots[i] = this.#slots[this.#slot(i)];
    this.#slots = slots;
    this.#head = 0;
  }

  #release(): void {
    this.#head = 0;
    if (this.#slots.length > keptCapacity) this.#slots = noSlots;
  }
}
