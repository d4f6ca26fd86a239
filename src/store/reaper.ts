// Clears away what ended sessions leave: subscriptions, queued messages, packet ids, marks. A slice per
// commit, so that a session with a million messages holds nobody up; a mark in the store lets the
// next process go on where this one stopped. Law: a slice is told once, in lasting writes, for which a
// full disk has room; the next is read when it is flushed.

import type { Bodies } from './bodies.ts';
import type { Committer } from './committer.ts';
import { Table } from './table.ts';
import { numberKey, readNumber } from './keys.ts';
import { EntryKind, readBodyId, readEntryHead } from './session-record.ts';
import { StoreDamaged } from './store-damaged.ts';

const sliceRecords = 500;
/** What a session has besides its queue. */
const keyedTables = [Table.subscriptions, Table.taken, Table.passages] as const;
const lowestKey: Buffer = Buffer.of(0);

export class Reaper {
  readonly #journal: Committer;
  readonly #bodies: Bodies;
  readonly #waiting: number[] = [];
  #isBusy = false;

  constructor(journal: Committer, bodies: Bodies) {
    this.#journal = journal;
    this.#bodies = bodies;
  }

  /**
   * What the last process did not finish. NOTE: of several threads one alone does it, before the
   * others begin: what is cleared by two of them is let go of twice.
   */
  resume(): void {
    const { engine } = this.#journal;
    const left = new Set<number>();
    engine.keys(Table.ended, lowestKey, undefined, (key) => {
      left.add(readNumber(key, 0));
      return true;
    });
    // A mark that came too late for the end of its publisher is nobody's.
    engine.keys(Table.passages, lowestKey, undefined, (key) => {
      const no = readNumber(key, 0);
      if (!left.has(no) && !engine.has(Table.sessions, numberKey(no))) left.add(no);
      return true;
    });
    for (const no of left) this.#waiting.push(no);
    this.#next();
  }

  /**
   * The session has just been marked as ended, in the batch that is open now. NOTE: not before that is
   * flushed, for which the store tries until it is: what was settled with it would be taken twice.
   */
  ended(no: number): void {
    this.#journal.onSettled((isFlushed) => {
      if (!isFlushed) {
        this.ended(no);
        return;
      }
      this.#waiting.push(no);
      this.#next();
    });
  }

  #next(): void {
    const no = this.#waiting[0];
    if (this.#isBusy || no === undefined) return;
    this.#isBusy = true;
    let isDone: boolean | undefined;
    try {
      isDone = this.#reapSlice(no);
    } finally {
      this.#awaitSlice(isDone);
    }
  }

  /** `isDone` undefined: reading threw, and the next one that ends brings us back here. */
  #awaitSlice(isDone: boolean | undefined): void {
    this.#journal.onSettled((isFlushed) => {
      if (!isFlushed) {
        this.#awaitSlice(isDone);
        return;
      }
      this.#isBusy = false;
      if (isDone === true) this.#waiting.shift();
      if (isDone !== undefined) this.#next();
    });
  }

  /** True: nothing is left of it. */
  #reapSlice(no: number): boolean {
    const { engine, open } = this.#journal;
    const from = numberKey(no);
    const to = numberKey(no + 1);
    engine.renew();
    let left = sliceRecords;
    engine.range(Table.queue, from, to, (key, value) => {
      if (left === 0) return false;
      left--;
      open.remove(Table.queue, key, true);
      const bodyId = bodyOf(value);
      if (bodyId !== undefined) this.#bodies.letGo(bodyId, true);
      return true;
    });
    for (const table of keyedTables) {
      engine.keys(table, from, to, (key) => {
        if (left === 0) return false;
        left--;
        open.remove(table, key, true);
        return true;
      });
    }
    if (left === 0) return false;
    open.remove(Table.ended, from, true);
    return true;
  }
}

/** An entry that nobody can read is cleared like the others; what it may have referred to stays. */
function bodyOf(entry: Buffer): number | undefined {
  try {
    const { kind, bodyAt } = readEntryHead(entry);
    return kind === EntryKind.byReference ? readBodyId(entry, bodyAt) : undefined;
  } catch (error) {
    if (error instanceof StoreDamaged) return undefined;
    throw error;
  }
}
