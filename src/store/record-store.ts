// Small records of one kind as JSON. The key is written into the record too, because a long one
// stands in the engine as a hash. Law: what is read is a fresh copy, before the flush and after.
//
//   key   kind ␀ key or its hash        value   [key, value] as JSON

import { invariant } from '#base/assert';
import type { RecordStore } from '#core/store-port';
import { keyBytesMax, Table } from './table.ts';
import type { Journal } from './journal.ts';
import { shortKey } from './keys.ts';
import { behind, LayeredTable } from './layered-table.ts';
import { StoreDamaged } from './store-damaged.ts';

type Entry = readonly [key: string, value: unknown];

/** How many records are read at a time. */
const pageSize = 100;

/** One for each kind: two of one kind would not see each other's writes before they are flushed. */
export class RecordTable implements RecordStore {
  readonly #journal: Journal;
  readonly #records: LayeredTable<string>;
  /** What every key of this kind begins with. */
  readonly #prefix: Buffer;

  constructor(journal: Journal, kind: string) {
    invariant(/^[a-z][a-z0-9_.-]{0,63}$/.test(kind), 'a kind of records is a short plain word');
    this.#journal = journal;
    this.#records = new LayeredTable(journal, Table.records, (value) => value.toString('utf8'));
    this.#prefix = Buffer.from(`${kind}\0`);
  }

  get(key: string): unknown {
    const text = this.#records.get(this.#keyOf(key));
    return text === undefined ? undefined : parsed(text)[1];
  }

  put(key: string, value: unknown): void {
    invariant(JSON.stringify(value) !== undefined, 'a record is something that JSON can say');
    const text = JSON.stringify([key, value]);
    const bytes = Buffer.byteLength(text);
    this.#records.put(this.#keyOf(key), text, bytes, (into, at) => void into.write(text, at));
  }

  delete(key: string): void {
    this.#records.remove(this.#keyOf(key));
  }

  /** In the order of keys, long ones last. Between two of them records may come and go. */
  *entries(): Generator<Entry> {
    this.#journal.engine.renew();
    for (let from: Buffer | undefined = this.#prefix; from !== undefined; ) {
      const page: string[] = [];
      const start: Buffer = from;
      from = undefined;
      this.#records.walk(
        start,
        (key) => (this.#isOurs(key) ? true : undefined),
        (key, text) => {
          page.push(text);
          if (page.length === pageSize) from = behind(key);
          return page.length < pageSize;
        },
      );
      yield* page.map(parsed);
    }
  }

  #isOurs(key: Buffer): boolean {
    return this.#prefix.compare(key, 0, Math.min(key.length, this.#prefix.length)) === 0;
  }

  #keyOf(key: string): Buffer {
    return Buffer.concat([this.#prefix, shortKey(key, keyBytesMax - this.#prefix.length)]);
  }
}

function parsed(text: string): Entry {
  try {
    const entry: unknown = JSON.parse(text);
    if (Array.isArray(entry) && entry.length === 2 && typeof entry[0] === 'string') {
      return [entry[0], entry[1]];
    }
  } catch (cause) {
    throw new StoreDamaged('Cannot read a record: it is not JSON', { cause });
  }
  throw new StoreDamaged('Cannot read a record: it is not a key and a value');
}
