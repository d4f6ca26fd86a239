// The core's store on an engine: sessions, retained messages, wills and records, all written through
// one committer. Whether it lasts is the engine's affair: LMDB for a broker, memory for a test.

import type { Clock } from '#base/clock';
import type {
  RecordStore,
  RetainedStore,
  SessionHead,
  SessionStore,
  Store,
  StoredSession,
  WillStore,
} from '#core/store-port';
import type { Subscription } from '#core/subscription';
import { Bodies } from './bodies.ts';
import { Committer } from './committer.ts';
import type { Engine } from './engine.ts';
import { Table } from './table.ts';
import { numberKey, readNumber } from './keys.ts';
import { Reaper } from './reaper.ts';
import { RecordTable } from './record-store.ts';
import { RetainedTable } from './retained-store.ts';
import { readHead, readSubscription } from './session-record.ts';
import { type SessionParts, SessionTables } from './session-store.ts';
import { WillTable } from './will-store.ts';

export interface DurableStoreOptions {
  readonly clock: Clock;
  /** Told the error when writing begins to fail, and undefined when it works again. */
  readonly onTrouble?: (error: unknown) => void;
  /** Told of faults that concern nobody who could be told: a record that cannot be read, and the like. */
  readonly onFault?: (error: unknown) => void;
}

/** Sessions read at once. */
const sliceSessions = 1000;
const highest: Buffer = Buffer.alloc(12, 0xff);

export class DurableStore implements Store, AsyncDisposable {
  readonly retained: RetainedStore;
  readonly wills: WillStore;
  readonly #journal: Committer;
  readonly #parts: SessionParts;
  readonly #records = new Map<string, RecordStore>();
  #nextNo: number;
  onTrouble: (error: unknown) => void;
  onFault: (error: unknown) => void;

  constructor(engine: Engine, options: DurableStoreOptions) {
    this.onTrouble = options.onTrouble ?? (() => {});
    this.onFault = options.onFault ?? (() => {});
    const onTrouble = (error: unknown): void => this.onTrouble(error);
    const onFault = (error: unknown): void => this.onFault(error);
    this.#journal = new Committer(engine, { clock: options.clock, onTrouble, onFault });
    const bodies = new Bodies(this.#journal);
    const reaper = new Reaper(this.#journal, bodies);
    const onEnd = (no: number): void => reaper.ended(no);
    this.#parts = { journal: this.#journal, bodies, onEnd, onFault };
    this.retained = new RetainedTable(this.#journal, onFault);
    this.wills = new WillTable(this.#journal);
    this.#nextNo = 1 + Math.max(...numberedTables.map((table) => highestNo(engine, table)));
    reaper.resume();
  }

  flushed(): Promise<void> {
    return this.#journal.flushed();
  }

  lastingFlushed(): Promise<void> {
    return this.#journal.lastingFlushed();
  }

  /** Bytes told and not flushed. */
  get pendingBytes(): number {
    return this.#journal.pendingBytes;
  }

  createSession(head: SessionHead): SessionStore {
    const session = new SessionTables(this.#nextNo++, this.#parts);
    session.update(head);
    return session;
  }

  /** Heads and subscriptions are in the order of the sessions' numbers: a slice of both at a time. */
  *sessions(): Generator<StoredSession> {
    let from = 0;
    for (;;) {
      const slice = this.#slice(from);
      yield* slice.values();
      const last = slice.keys().toArray().at(-1);
      if (last === undefined) return;
      from = last + 1;
    }
  }

  #slice(from: number): Map<number, StoredSession> {
    const { engine } = this.#journal;
    const found = new Map<number, StoredSession & { subscriptions: Subscription[] }>();
    let last = from;
    engine.range(Table.sessions, numberKey(from), undefined, (key, value) => {
      last = readNumber(key, 0);
      const store = new SessionTables(last, this.#parts);
      found.set(last, { head: readHead(value), subscriptions: [], store });
      return found.size < sliceSessions;
    });
    engine.range(Table.subscriptions, numberKey(from), numberKey(last + 1), (key, value) => {
      const session = found.get(readNumber(key, 0));
      session?.subscriptions.push(readSubscription(value, session.head.mountpoint));
      return true;
    });
    return found;
  }

  records(kind: string): RecordStore {
    const known = this.#records.get(kind);
    if (known !== undefined) return known;
    const records = new RecordTable(this.#journal, kind);
    this.#records.set(kind, records);
    return records;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#journal.close();
  }
}

/** Tables whose keys begin with the number of a session. */
const numberedTables = [Table.sessions, Table.subscriptions, Table.queue, Table.taken, Table.ended];

function highestNo(engine: Engine, table: Table): number {
  const last = engine.lastKey(table, numberKey(0), highest);
  return last === undefined ? 0 : readNumber(last, 0);
}
