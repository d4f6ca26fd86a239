// Retained messages in the engine. Topics are keys (keys.ts), so that a filter walks over them by
// leaps; those too long to be keys stand in a table of their own under a hash, and are looked through
// one by one. Law: every topic has one place in the walk, whether its message is flushed or not, so
// none is seen twice.
//
//   value   expires at (u48, all ones: never)   message record, perhaps with its origin before it

import { latin1Of } from '#base/latin1';
import { matches } from '#topics/match';
import { hasWildcard } from '#topics/topic';
import type { Message } from '#core/message';
import type { RetainedStore } from '#core/store-port';
import { Table } from './table.ts';
import { FilterScan } from './filter-scan.ts';
import type { Journal } from './journal.ts';
import { hashKey, isLong, readNumber, retainedKey, writeNumber, numberMax } from './keys.ts';
import { behind, LayeredTable } from './layered-table.ts';
import { messageBytes, writeMessage } from './message-record.ts';
import { originRecord, readOriginated } from './origin-record.ts';
import { StoreDamaged } from './store-damaged.ts';

interface Kept {
  readonly message: Message;
  readonly expiresAtMs: number;
}

type Visit = (message: Message, expiresAtMs: number) => boolean;

const expiryBytes = 6;
const never = numberMax;
/** What the place of a walk begins with: which table it is in. */
const inShort = 's';
const inLong = 'l';
const lowestHash: Buffer = Buffer.of(0);

type Scan = Pick<FilterScan, 'first' | 'matches' | 'next'>;
const everything: Scan = { first: Buffer.of(0), matches: () => true, next: undefined };

export class RetainedTable implements RetainedStore {
  readonly #short: LayeredTable<Kept>;
  readonly #long: LayeredTable<Kept>;
  readonly #journal: Journal;

  /** `onFault` is told of a message that cannot be read; the others are served all the same. */
  constructor(journal: Journal, onFault: (error: unknown) => void) {
    const decode = (value: Buffer): Kept | undefined => {
      try {
        return readKept(value);
      } catch (error) {
        if (!(error instanceof StoreDamaged)) throw error;
        onFault(error);
        return undefined;
      }
    };
    this.#journal = journal;
    this.#short = new LayeredTable<Kept>(journal, Table.retained, decode);
    this.#long = new LayeredTable<Kept>(journal, Table.retainedLong, decode);
  }

  get size(): number {
    return this.#short.size + this.#long.size;
  }

  get pending(): number {
    return this.#short.pending + this.#long.pending;
  }

  has(topic: string): boolean {
    const { table, key } = this.#find(topic);
    return table.has(key);
  }

  put(message: Message, expiresAtMs: number): void {
    const { table, key } = this.#find(message.topic);
    const origin = originRecord(message.from);
    const bytes = expiryBytes + origin.length + messageBytes(message);
    table.put(key, { message: message.own(), expiresAtMs }, bytes, (into, at) => {
      const expiry = expiresAtMs === Number.POSITIVE_INFINITY ? never : expiresAtMs;
      const originAt = writeNumber(into, at, expiry);
      into.set(origin, originAt);
      writeMessage(message, into, originAt + origin.length);
    });
  }

  delete(topic: string): void {
    const { table, key } = this.#find(topic);
    table.remove(key);
  }

  slice(filter: string, from: string, namesMax: number, visit: Visit): string | undefined {
    if (!hasWildcard(filter)) {
      this.#visitOne(filter, visit);
      return undefined;
    }
    return this.#walk(
      new FilterScan(filter),
      (topic) => matches(filter, topic),
      from,
      namesMax,
      visit,
    );
  }

  sliceAll(from: string, namesMax: number, visit: Visit): string | undefined {
    return this.#walk(everything, () => true, from, namesMax, visit);
  }

  #walk(
    scan: Scan,
    isWanted: (topic: string) => boolean,
    from: string,
    namesMax: number,
    visit: Visit,
  ): string | undefined {
    if (from === '') this.#journal.engine.renew();
    let left = namesMax;
    const stop = (): boolean => left-- <= 0;
    if (!from.startsWith(inLong)) {
      const at = from === '' ? scan.first : keyOfPlace(from);
      const resume = this.#walkShort(scan, at, stop, visit);
      if (resume !== undefined) return placeOf(inShort, resume);
    }
    // Where others write, the size may be an old one.
    if (this.#long.size === 0 && !this.#journal.isShared) return undefined;
    const at = from.startsWith(inLong) ? keyOfPlace(from) : lowestHash;
    const resume = this.#walkLong(isWanted, at, stop, visit);
    return resume && placeOf(inLong, resume);
  }

  #find(topic: string): { readonly table: LayeredTable<Kept>; readonly key: Buffer } {
    const key = retainedKey(topic);
    return isLong(key) ? { table: this.#long, key: hashKey(key) } : { table: this.#short, key };
  }

  #visitOne(topic: string, visit: Visit): void {
    const { table, key } = this.#find(topic);
    const kept = table.get(key);
    if (kept !== undefined) visit(kept.message, kept.expiresAtMs);
  }

  /** Answers where to go on, or undefined when all is done. */
  #walkShort(scan: Scan, from: Buffer, stop: () => boolean, visit: Visit): Buffer | undefined {
    let resume: Buffer | undefined;
    this.#short.walk(
      from,
      (key) => {
        if (stop()) {
          resume = key;
          return undefined;
        }
        return scan.matches(key) || scan.next;
      },
      (key, { message, expiresAtMs }) => {
        if (visit(message, expiresAtMs)) return true;
        resume = behind(key);
        return false;
      },
    );
    return resume;
  }

  #walkLong(
    isWanted: (topic: string) => boolean,
    from: Buffer,
    stop: () => boolean,
    visit: Visit,
  ): Buffer | undefined {
    let resume: Buffer | undefined;
    this.#long.walk(
      from,
      (key) => {
        if (!stop()) return true;
        resume = key;
        return undefined;
      },
      (key, { message, expiresAtMs }) => {
        if (!isWanted(message.topic) || visit(message, expiresAtMs)) return true;
        resume = behind(key);
        return false;
      },
    );
    return resume;
  }
}

function readKept(value: Buffer): Kept {
  if (value.length < expiryBytes) {
    throw new StoreDamaged(`Cannot read a retained message: it has ${value.length} bytes`);
  }
  const expiry = readNumber(value, 0);
  return {
    message: readOriginated(value, expiryBytes),
    expiresAtMs: expiry === never ? Number.POSITIVE_INFINITY : expiry,
  };
}

function placeOf(table: string, key: Buffer): string {
  return table + latin1Of(key, 0, key.length);
}

function keyOfPlace(place: string): Buffer {
  return Buffer.from(place.slice(1), 'latin1');
}
