// What the store keeps of one session, as writes to the open batch and reads of what was flushed. A
// message for this session alone lies in its queue entry; one that several sessions hold lies in a
// body of its own, which each entry refers to and which goes with the last of them.
//
//   receipt = ((serial of the batch × 2^16) + place in it) × 2 + (by reference: 1)
//
// Serial 0 is never open: such a write cannot be taken back, only removed. It stands for places and
// serials that the number has no room for; a broker has to run for years to get there.

import type { Delivery } from '#core/delivery';
import type { Message, Passage } from '#core/message';
import {
  type DeliveryOptions,
  type Receipt,
  type SessionHead,
  type SessionStore,
  type SessionWatcher,
  type StoredEntry,
  unstored,
} from '#core/store-port';
import type { Subscription } from '#core/subscription';
import type { Bodies } from './bodies.ts';
import type { Committer } from './committer.ts';
import { keyBytesMax, Table } from './table.ts';
import {
  numberKey,
  numberMax,
  pairKey,
  passageKey,
  passageRange,
  readNumber,
  shortKey,
  writeNumber,
} from './keys.ts';
import { messageBytes, readMessage, writeMessage } from './message-record.ts';
import {
  EntryKind,
  entryHead,
  headRecord,
  plainEntryBytes,
  plainEntryHead,
  readBodyId,
  readEntryHead,
  subscriptionRecord,
} from './session-record.ts';
import { StoreDamaged } from './store-damaged.ts';

const placesPerBatch = 2 ** 16;
const serialMax = 2 ** 36 - 1;
const numberBytes = 6;
const noBytes: Buffer = Buffer.alloc(0);

/** What the sessions of one store share. */
export interface SessionParts {
  readonly journal: Committer;
  readonly bodies: Bodies;
  /** Marks of passages that are told, as latin1, until they are flushed or not: see `hasPassed`. */
  readonly marks: Map<string, Promise<void>>;
  readonly onEnd: (no: number) => void;
  readonly onFault: (error: unknown) => void;
}

/** Reused for every key: a batch copies it, and sessions are many. */
const scratch: Buffer = pairKey(0, 0);

export class SessionTables implements SessionStore {
  readonly no: number;
  readonly #parts: SessionParts;
  watcher: SessionWatcher | undefined;
  mayHavePassed: boolean;
  /** The messages of this session in one batch. */
  #span: { from: number; through: number } | undefined;
  #spanSerial = 0;
  /** The last batch in which a message was settled or released. */
  #settledSerial = 0;

  constructor(no: number, parts: SessionParts, mayHavePassed: boolean) {
    this.no = no;
    this.mayHavePassed = mayHavePassed;
    this.#parts = parts;
  }

  get #journal(): Committer {
    return this.#parts.journal;
  }

  get #bodies(): Bodies {
    return this.#parts.bodies;
  }

  get isSettled(): boolean {
    return this.#journal.isFlushed(this.#settledSerial);
  }

  update(head: SessionHead): void {
    const record = headRecord(head);
    this.#journal.open.put(Table.sessions, numberKey(this.no), record, true);
  }

  subscribe(subscription: Subscription): void {
    const key = this.#filterKey(subscription.filter);
    this.#journal.open.put(Table.subscriptions, key, subscriptionRecord(subscription));
  }

  unsubscribe(filter: string): void {
    this.#journal.open.remove(Table.subscriptions, this.#filterKey(filter));
  }

  #filterKey(filter: string): Buffer {
    return Buffer.concat([numberKey(this.no), shortKey(filter, keyBytesMax - numberBytes)]);
  }

  put(seq: number, message: Message, delivery: Delivery, isHandedOn = false): Receipt {
    const body = message.isShared && !isHandedOn ? this.#bodies.hold(message) : undefined;
    const kind = body === undefined ? EntryKind.inline : EntryKind.byReference;
    const options = delivery as DeliveryOptions;
    const flags = plainEntryHead(kind, options);
    const head = flags === undefined ? entryHead(kind, options) : undefined;
    const headBytes = head?.length ?? plainEntryBytes;
    const batch = this.#journal.open;
    const bodyBytes = body === undefined ? messageBytes(message) : numberBytes;
    const at = batch.putRoom(Table.queue, this.#keyOf(seq), headBytes + bodyBytes, isHandedOn);
    const place = batch.size - 1;
    const { bytes } = batch;
    if (head !== undefined) bytes.set(head, at);
    else bytes.writeUInt16BE(0x0100 | (flags as number), at);
    if (body === undefined) writeMessage(message, bytes, at + headBytes);
    else writeNumber(bytes, at + headBytes, body.id);
    if (message.passage !== undefined) this.#mark(message.passage, options, isHandedOn);
    if (isHandedOn) this.#watchLasting(seq);
    else this.#watch(seq);
    // A batch of so many writes is not one that a receiver could still be quicker than.
    const isNamed = place < placesPerBatch && this.#journal.serial <= serialMax;
    const serial = isNamed ? this.#journal.serial : 0;
    return (
      (serial * placesPerBatch + (serial === 0 ? 0 : place)) * 2 + (body === undefined ? 0 : 1)
    );
  }

  /** NOTE: it stays when the message is settled before it is written: the message did arrive. */
  #mark({ sessionNo, packetId }: Passage, { group }: DeliveryOptions, isLasting: boolean): void {
    const key = passageKey(sessionNo, packetId, group ?? this.no);
    this.#journal.open.put(Table.passages, key, noBytes, isLasting);
    const { marks } = this.#parts;
    const mark = key.toString('latin1');
    marks.set(mark, this.#journal.flushed());
    this.#journal.onSettled(() => marks.delete(mark));
  }

  settle(seq: number, message: Message | undefined, receipt: Receipt): void {
    this.#settledSerial = this.#journal.serial;
    this.shed(seq, message, receipt);
  }

  shed(seq: number, message: Message | undefined, receipt: Receipt): void {
    if (receipt === unstored) return;
    const batch = this.#journal.open;
    const isOpen = this.#isOpen(receipt);
    if (isOpen) batch.cancel(Math.floor(receipt / 2) % placesPerBatch);
    else batch.remove(Table.queue, this.#keyOf(seq), true);
    this.#letGo(message, receipt, isOpen);
  }

  /** The write can still be taken back. */
  #isOpen(receipt: Receipt): boolean {
    return Math.floor(receipt / 2 / placesPerBatch) === this.#journal.serial;
  }

  release(seq: number, message: Message, receipt: Receipt): Receipt {
    if (receipt === unstored) return unstored;
    const head = entryHead(EntryKind.released, {
      qos: 2,
      retainAsPublished: false,
      isReplay: false,
      subscriptionIds: undefined,
      group: undefined,
    });
    this.#journal.open.put(Table.queue, this.#keyOf(seq), head, true);
    this.#settledSerial = this.#journal.serial;
    this.#letGo(message, receipt, this.#isOpen(receipt));
    return 0;
  }

  /** A release that is told in the same batch as its hold must share its fate. */
  #letGo(message: Message | undefined, receipt: Receipt, isSameBatch: boolean): void {
    if (receipt % 2 === 1 && message?.body !== undefined) {
      this.#bodies.letGo(message.body.id, !isSameBatch);
    }
  }

  #watch(seq: number): void {
    if (this.#span !== undefined && this.#spanSerial === this.#journal.serial) {
      this.#span.through = seq;
      return;
    }
    const span = { from: seq, through: seq };
    this.#span = span;
    this.#spanSerial = this.#journal.serial;
    this.#journal.onSettled((isFlushed) => {
      if (this.#span === span) this.#span = undefined;
      if (isFlushed) this.watcher?.onFlushed(span.through);
      else this.watcher?.onRefused(span.from, span.through);
    });
  }

  /** It is not among those that may be refused with its neighbours. */
  #watchLasting(seq: number): void {
    this.#span = undefined;
    this.#journal.onSettled((isFlushed) => {
      if (isFlushed) this.watcher?.onFlushed(seq);
      else this.#watchLasting(seq);
    });
  }

  take(packetId: number, sinceMs: number, isLasting = false): void {
    const since = numberKey(sinceMs);
    this.#journal.open.put(Table.taken, this.#keyOf(packetId), since, isLasting);
  }

  free(packetId: number): void {
    this.#journal.open.remove(Table.taken, this.#keyOf(packetId), true);
    if (this.mayHavePassed) this.#forgetPassages(packetId);
  }

  /**
   * Whoever has marked the publish has flushed that before its client could release it. Marks that
   * cannot be read now stay until the id is released again: the release itself must not fail.
   */
  #forgetPassages(packetId: number): void {
    const { engine, open } = this.#journal;
    const [from, to] = passageRange(this.no, packetId);
    try {
      engine.renew();
      engine.keys(Table.passages, from, to, (key) => open.remove(Table.passages, key, true) >= 0);
    } catch (error) {
      this.#parts.onFault(error);
    }
  }

  taken(): Iterable<readonly [packetId: number, sinceMs: number]> {
    const found: [number, number][] = [];
    const { engine } = this.#journal;
    engine.renew();
    engine.range(Table.taken, pairKey(this.no, 0), pairKey(this.no + 1, 0), (key, value) => {
      found.push([readNumber(key, 6), readNumber(value, 0)]);
      return true;
    });
    return found.sort((a, b) => a[1] - b[1]);
  }

  read(from: number, through: number, countMax: number): StoredEntry[] {
    const found: StoredEntry[] = [];
    const { engine } = this.#journal;
    const end = pairKey(this.no, Math.min(through + 1, numberMax));
    engine.renew();
    engine.range(Table.queue, pairKey(this.no, from), end, (key, value) => {
      const entry = this.#readOrPass(readNumber(key, 6), value);
      if (entry !== undefined) found.push(entry);
      return found.length < countMax;
    });
    return found;
  }

  /** One record that nobody can read must not keep the others from their client. */
  #readOrPass(seq: number, value: Buffer): StoredEntry | undefined {
    try {
      return this.#readEntry(seq, value);
    } catch (error) {
      if (!(error instanceof StoreDamaged)) throw error;
      this.#parts.onFault(error);
      return undefined;
    }
  }

  #readEntry(seq: number, value: Buffer): StoredEntry {
    const { kind, options, bodyAt } = readEntryHead(value);
    if (kind === EntryKind.released) return { seq, message: undefined, options, receipt: 0 };
    if (kind === EntryKind.inline) {
      return { seq, message: readMessage(value, bodyAt), options, receipt: 0 };
    }
    return { seq, message: this.#bodies.read(readBodyId(value, bodyAt)), options, receipt: 1 };
  }

  extent(from: number): { count: number; lastSeq: number } {
    const { engine } = this.#journal;
    const end = pairKey(this.no, numberMax);
    engine.renew();
    const last = engine.lastKey(Table.queue, pairKey(this.no, from), end);
    if (last === undefined) return { count: 0, lastSeq: 0 };
    let count = 0;
    engine.keys(Table.queue, pairKey(this.no, from), end, () => {
      count++;
      return true;
    });
    return { count, lastSeq: readNumber(last, 6) };
  }

  end(): void {
    const batch = this.#journal.open;
    batch.remove(Table.sessions, numberKey(this.no), true);
    batch.put(Table.ended, numberKey(this.no), noBytes, true);
    this.#parts.onEnd(this.no);
  }

  #keyOf(seq: number): Buffer {
    writeNumber(scratch, writeNumber(scratch, 0, this.no), seq);
    return scratch;
  }
}
