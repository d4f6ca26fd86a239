// The core's store on an engine: sessions, retained messages, wills and records, all written through
// one committer. Whether it lasts is the engine's affair: LMDB for a broker, memory for a test.

import type { Clock } from '#base/clock';
import type { Passage } from '#core/message';
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
import { numberKey, passageKey, type PassageReceiver, readNumber } from './keys.ts';
import { NumberKind, Numbers, numbersAfter } from './numbers.ts';
import { Reaper } from './reaper.ts';
import { RecordTable } from './record-store.ts';
import { RetainedTable } from './retained-store.ts';
import { clientIdOfHead, readHead, readSubscription } from './session-record.ts';
import { type SessionParts, SessionTables } from './session-store.ts';
import { WillTable } from './will-store.ts';

export interface DurableStoreOptions {
  readonly clock: Clock;
  /** Told the error when writing begins to fail, and undefined when it works again. */
  readonly onTrouble?: (error: unknown) => void;
  /** Told of faults that concern nobody who could be told: a record that cannot be read, and the like. */
  readonly onFault?: (error: unknown) => void;
  /** Others write to the same engine, each through a store of its own. */
  readonly isShared?: boolean;
  /** Where all of them take their numbers from; absent: this store has its own. */
  readonly numbers?: SharedArrayBuffer;
  /** Clears what the last process did not; true for one of them alone, which begins before the others. */
  readonly isReaping?: boolean;
}

/** Sessions looked at before the first of them is handed out. */
const sliceSessions = 1000;

type Found = StoredSession & { readonly subscriptions: Subscription[] };
type IsWanted = (clientId: string) => boolean;

export class DurableStore implements Store, AsyncDisposable {
  readonly retained: RetainedStore;
  readonly wills: WillStore;
  readonly #journal: Committer;
  readonly #parts: SessionParts;
  readonly #records = new Map<string, RecordStore>();
  readonly #numbers: Numbers;
  onTrouble: (error: unknown) => void;
  onFault: (error: unknown) => void;

  constructor(engine: Engine, options: DurableStoreOptions) {
    this.onTrouble = options.onTrouble ?? (() => {});
    this.onFault = options.onFault ?? (() => {});
    const onTrouble = (error: unknown): void => this.onTrouble(error);
    const onFault = (error: unknown): void => this.onFault(error);
    const { clock, isShared = false } = options;
    this.#journal = new Committer(engine, { clock, onTrouble, onFault, isShared });
    const numbers = options.numbers ?? numbersAfter(engine);
    this.#numbers = new Numbers(numbers, NumberKind.session);
    const bodies = new Bodies(this.#journal, new Numbers(numbers, NumberKind.body));
    const reaper = new Reaper(this.#journal, bodies);
    const onEnd = (no: number): void => reaper.ended(no);
    this.#parts = { journal: this.#journal, bodies, marks: new Map(), onEnd, onFault };
    this.retained = new RetainedTable(this.#journal, onFault);
    this.wills = new WillTable(this.#journal);
    if (options.isReaping ?? true) reaper.resume();
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

  /** Of each table, what is on disk. */
  counts(): Readonly<Record<string, number>> {
    const { engine } = this.#journal;
    engine.renew();
    return Object.fromEntries(
      Object.entries(Table).map(([name, table]) => [name, engine.count(table)]),
    );
  }

  createSession(head: SessionHead): SessionStore {
    const session = new SessionTables(this.#numbers.next(), this.#parts, false);
    session.update(head);
    return session;
  }

  adoptSession(no: number): SessionStore {
    return new SessionTables(no, this.#parts, true);
  }

  hasPassed({ sessionNo, packetId }: Passage, receiver: PassageReceiver): boolean | Promise<void> {
    const { engine } = this.#journal;
    const key = passageKey(sessionNo, packetId, receiver);
    const told = this.#parts.marks.get(key.toString('latin1'));
    if (told !== undefined) return told;
    engine.renew();
    return engine.has(Table.passages, key);
  }

  /** Heads and subscriptions are in the order of the sessions' numbers: a slice of both at a time. */
  *sessions(isWanted?: IsWanted): Generator<StoredSession> {
    this.#journal.engine.renew();
    for (let from: number | undefined = 0; from !== undefined; ) {
      const found = new Map<number, Found>();
      const last = this.#readHeads(from, found, isWanted);
      if (last !== undefined) this.#readSubscriptions(from, last, found, isWanted);
      yield* found.values();
      from = last === undefined ? undefined : last + 1;
    }
  }

  /** Answers the last number it has looked at; undefined: there is none. */
  #readHeads(from: number, found: Map<number, Found>, isWanted?: IsWanted): number | undefined {
    let last: number | undefined;
    let looked = 0;
    this.#journal.engine.range(Table.sessions, numberKey(from), undefined, (key, value) => {
      last = readNumber(key, 0);
      if (isWanted?.(clientIdOfHead(value)) ?? true) {
        const head = readHead(value);
        found.set(last, { head, subscriptions: [], store: this.adoptSession(last) });
      }
      return ++looked < sliceSessions;
    });
    return last;
  }

  /** All of the slice in one go, or only where somebody is wanted. */
  #readSubscriptions(
    from: number,
    last: number,
    found: ReadonlyMap<number, Found>,
    isWanted?: IsWanted,
  ): void {
    const read = (first: number, through: number): void => {
      const [start, end] = [numberKey(first), numberKey(through + 1)];
      this.#journal.engine.range(Table.subscriptions, start, end, (key, value) => {
        const session = found.get(readNumber(key, 0));
        session?.subscriptions.push(readSubscription(value, session.head.mountpoint));
        return true;
      });
    };
    if (isWanted === undefined) read(from, last);
    else for (const no of found.keys()) read(no, no);
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
