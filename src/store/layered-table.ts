// A table of the engine with the writes on top that are told and not flushed: they are read first and
// hide what the engine holds. Laws: a write shows at once; when its batch fails it is as if it had
// never been, and what it hid shows again; nothing is read from the engine to take one back. Where
// other threads write to the table, a write shows to them when it is flushed, and theirs to us.

import { invariant } from '#base/assert';
import { latin1Of } from '#base/latin1';
import { SortedMap } from '#base/sorted-map';
import type { Batch } from './batch.ts';
import type { Engine } from './engine.ts';
import type { Table } from './table.ts';
import type { Journal } from './journal.ts';

/** A value, or undefined where it was removed, as one batch leaves it. */
interface Write<V> {
  readonly told: Told<V>;
  value: V | undefined;
  /** The number of the write in its batch. */
  index: number;
}

interface Pending<V> {
  readonly key: Buffer;
  /** The key as latin1, which is in the same order. */
  readonly place: string;
  /** Whether the engine has the key, as far as we know. */
  isFlushed: boolean;
  /** One for each batch that has not settled, oldest first. Never empty. */
  readonly writes: Write<V>[];
}

/** What was told in one batch. */
interface Told<V> {
  readonly batch: Batch;
  readonly pending: Pending<V>[];
  isSettled: boolean;
}

/** What a walk does at a key: take it, go on at a later one, or (undefined) end. */
export type Step = true | Buffer | undefined;

export class LayeredTable<V> {
  readonly #journal: Journal;
  readonly #engine: Engine;
  readonly #table: Table;
  /** Undefined: it cannot be read, and is passed over. */
  readonly #decode: (value: Buffer) => V | undefined;
  readonly #pending = new SortedMap<Pending<V>>();
  #told: Told<V> | undefined;
  /** Keys in the engine when we last looked, and what the writes on top add to that. */
  #flushedCount: number;
  #pendingCount = 0;
  /** Counts writes, so that a walk knows when a visit made one. */
  #changes = 0;

  constructor(journal: Journal, table: Table, decode: (value: Buffer) => V | undefined) {
    this.#journal = journal;
    this.#engine = journal.engine;
    this.#table = table;
    this.#decode = decode;
    this.#flushedCount = this.#engine.count(table);
  }

  /**
   * Of the whole table. What others write is counted with the next flush of ours: asking costs
   * nothing.
   */
  get size(): number {
    return this.#flushedCount + this.#pendingCount;
  }

  /** Keys with writes that are not flushed. */
  get pending(): number {
    return this.#pending.size;
  }

  has(key: Buffer): boolean {
    const pending = this.#pending.get(placeOf(key));
    if (pending !== undefined) return isShown(pending);
    this.#engine.renew();
    return this.#engine.has(this.#table, key);
  }

  get(key: Buffer): V | undefined {
    const pending = this.#pending.get(placeOf(key));
    if (pending !== undefined) return pending.writes.at(-1)?.value;
    this.#engine.renew();
    const value = this.#engine.get(this.#table, key);
    return value && this.#decode(value);
  }

  /** `write` writes the value's bytes, so many of them, at an offset into the batch. */
  put(key: Buffer, value: V, valueBytes: number, write: (bytes: Buffer, at: number) => void): void {
    const pending = this.#pendingAt(key);
    const batch = this.#journal.open;
    const at = batch.putRoom(this.#table, key, valueBytes);
    try {
      write(batch.bytes, at);
    } catch (error) {
      batch.cancel(batch.size - 1);
      throw error;
    }
    this.#tell(pending, batch, value);
  }

  /**
   * Nothing is written when there is nothing to remove. A removal that is not flushed is no reason
   * to write none: it may fail. Nor is it one that the engine has nothing, where others write: what
   * they told before us may be on its way.
   */
  remove(key: Buffer): void {
    const pending = this.#pendingAt(key);
    const isThere = pending.writes.length > 0 || pending.isFlushed;
    if (!isThere && !this.#journal.isShared) return;
    const batch = this.#journal.open;
    batch.remove(this.#table, key);
    this.#tell(pending, batch, undefined);
  }

  /**
   * Goes through the keys in order, from `from` on. `look` decides about each, `take` is given what
   * is taken and answers whether to go on. Both may write. Whoever begins a walk that others' writes
   * belong to renews the engine first.
   */
  walk(from: Buffer, look: (key: Buffer) => Step, take: (key: Buffer, value: V) => boolean): void {
    let at: Buffer | undefined = from;
    while (at !== undefined) {
      const pending = this.#pendingFrom(at);
      const step = this.#walkFlushed(at, pending?.key, look, take);
      if (step !== true) at = step;
      else if (pending === undefined) return;
      else at = this.#walkPending(pending, look, take);
    }
  }

  /** True: nothing is left below `to`. */
  #walkFlushed(
    from: Buffer,
    to: Buffer | undefined,
    look: (key: Buffer) => Step,
    take: (key: Buffer, value: V) => boolean,
  ): Step {
    let left: Step = true;
    this.#engine.range(this.#table, from, to, (key, value) => {
      const changes = this.#changes;
      left = look(key);
      if (left !== true) return false;
      const decoded = this.#decode(value);
      if (decoded !== undefined && !take(key, decoded)) left = undefined;
      else if (changes !== this.#changes) left = behind(key);
      return left === true;
    });
    return left;
  }

  #walkPending(
    { key, writes }: Pending<V>,
    look: (key: Buffer) => Step,
    take: (key: Buffer, value: V) => boolean,
  ): Buffer | undefined {
    const value = writes.at(-1)?.value;
    if (value === undefined) return behind(key);
    const step = look(key);
    if (step !== true) return step;
    return take(key, value) ? behind(key) : undefined;
  }

  /** The first one at or behind a key. */
  #pendingFrom(key: Buffer): Pending<V> | undefined {
    if (this.#pending.size === 0) return undefined;
    let found: Pending<V> | undefined;
    this.#pending.visit(placeOf(key), undefined, (_, pending) => {
      found = pending;
      return false;
    });
    return found;
  }

  /** The writes on a key, or none as yet: such a one is not in the map before something is told. */
  #pendingAt(key: Buffer): Pending<V> {
    const place = placeOf(key);
    const pending = this.#pending.get(place);
    return pending ?? { key, place, isFlushed: this.#engine.has(this.#table, key), writes: [] };
  }

  #tell(pending: Pending<V>, batch: Batch, value: V | undefined): void {
    const { place, writes } = pending;
    const told = this.#toldIn(batch);
    const before = addedBy(pending);
    const last = writes.at(-1);
    const index = batch.size - 1;
    if (last?.told === told) {
      batch.cancel(last.index);
      last.value = value;
      last.index = index;
    } else {
      if (last === undefined) this.#pending.set(place, pending);
      writes.push({ told, value, index });
      told.pending.push(pending);
    }
    this.#changes++;
    this.#pendingCount += addedBy(pending) - before;
  }

  #toldIn(batch: Batch): Told<V> {
    const last = this.#told;
    // A batch's memory is used again once it has settled.
    if (last !== undefined && last.batch === batch && !last.isSettled) return last;
    const told: Told<V> = { batch, pending: [], isSettled: false };
    this.#told = told;
    this.#journal.onSettled((isFlushed) => this.#settle(told, isFlushed));
    return told;
  }

  #settle(told: Told<V>, isFlushed: boolean): void {
    told.isSettled = true;
    for (const pending of told.pending) {
      const { writes, place } = pending;
      const before = addedBy(pending);
      // Batches settle in their order, so the oldest write is this batch's.
      const write = writes.shift();
      invariant(write?.told === told, 'batches settle in the order in which they were open');
      if (isFlushed) {
        const isThere = write.value !== undefined;
        this.#flushedCount += Number(isThere) - Number(pending.isFlushed);
        pending.isFlushed = isThere;
      }
      if (writes.length === 0) this.#pending.delete(place);
      this.#pendingCount += addedBy(pending) - before;
    }
    this.#changes++;
    if (isFlushed && this.#journal.isShared) this.#flushedCount = this.#engine.count(this.#table);
  }
}

/** How many keys (none, one more, one less) its writes make of what the engine has. */
function addedBy<V>(pending: Pending<V>): number {
  return Number(isShown(pending)) - Number(pending.isFlushed);
}

function isShown<V>({ writes, isFlushed }: Pending<V>): boolean {
  const last = writes.at(-1);
  return last === undefined ? isFlushed : last.value !== undefined;
}

/** The lowest key behind another one. */
export function behind(key: Buffer): Buffer {
  const next = Buffer.alloc(key.length + 1);
  next.set(key);
  return next;
}

function placeOf(key: Buffer): string {
  return latin1Of(key, 0, key.length);
}
