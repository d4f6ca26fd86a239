// What must outlive the process, as the core asks for it. Telling the store costs no waiting: it
// gathers what it is told and writes it in groups. Law: whoever acknowledges something first awaits
// `flushed()`, asked for in the same turn in which the store was told. What is told in one turn
// reaches the disk together or not at all.

import type { Properties, QoS } from '#wire/packet';
import type { Delivery } from './delivery.ts';
import type { Message, Passage, Publisher } from './message.ts';
import type { Subscription } from './subscription.ts';

export interface Store {
  /**
   * Resolves when everything told so far is on disk. Rejects when that failed: then no message,
   * retained message, subscription, or record told since the last flush is there, and whoever told
   * it takes it back. What cannot be taken back (a message settled, an id released, how a session
   * left) is told again by the store itself until it succeeds.
   */
  flushed(): Promise<void>;
  /** The same for what cannot be taken back alone. Never rejects. */
  lastingFlushed(): Promise<void>;
  /** Bytes told and not flushed. */
  readonly pendingBytes: number;
  readonly retained: RetainedStore;
  readonly wills: WillStore;
  /** Begins to keep a session. There is none with this client id, or it has been ended. */
  createSession(head: SessionHead): SessionStore;
  /**
   * What the last process left, or of a worker that died: the sessions of these client ids (absent:
   * all). Read once, before anything is told of them.
   */
  sessions(isWanted?: (clientId: string) => boolean): Iterable<StoredSession>;
  /** Goes on with a session that another worker has flushed and let go of. Nothing of it is read. */
  adoptSession(no: number): SessionStore;
  /**
   * Whether a publish under this name was stored for a receiver (a session by its number, or a shared
   * subscription), by whatever worker. A promise: it is about to be, by this one. Throws when that
   * cannot be read.
   */
  hasPassed(passage: Passage, receiver: number | GroupName): boolean | Promise<void>;
  /** Records of one kind (bans, apps, rules, …), which their owner names. */
  records(kind: string): RecordStore;
}

/** Whose session it is and how its last connection stands. */
export interface SessionHead {
  readonly clientId: string;
  readonly username: string | undefined;
  readonly provenUsername: string | undefined;
  readonly mountpoint: string;
  readonly zone: string;
  readonly createdAtMs: number;
  /** Infinity: never. */
  readonly expirySeconds: number;
  /** Undefined while a client is connected; a session found like that was cut off by a crash. */
  readonly leftAtMs: number | undefined;
  /** Messages up to this one may have been sent to the client before. */
  readonly sentSeq: number;
}

/** A shared subscription, as deliveries name it. */
export interface GroupName {
  readonly name: string;
  readonly filter: string;
}

export interface StoredSession {
  readonly head: SessionHead;
  readonly subscriptions: readonly Subscription[];
  readonly store: SessionStore;
}

/** How a message stands in the store, as the store wrote it down; see `unstored`. */
export type Receipt = number;

/** The receipt of a message that is not in the store: it was never put there, or that failed. */
export const unstored: Receipt = -1;

/** What the store keeps of one session. Messages go by a number that grows with each of them. */
export interface SessionStore {
  /** Its name in the store, for as long as the session lives, whatever worker it lives in. */
  readonly no: number;
  /**
   * Publishes of the client may have been stored by other workers. Set by whoever hands one to them;
   * true from the beginning for a session that was not begun here.
   */
  mayHavePassed: boolean;
  update(head: SessionHead): void;
  subscribe(subscription: Subscription): void;
  unsubscribe(filter: string): void;
  /**
   * `isHandedOn`: another session had it, which has let go of it in the same turn. It cannot be taken
   * back: a store that fails tells it again, and nobody is told that it was refused. A message with a
   * `passage` is marked with it, see `Store.hasPassed`.
   */
  put(seq: number, message: Message, delivery: Delivery, isHandedOn?: boolean): Receipt;
  /** The message is finished, dropped, or somebody else's now. */
  settle(seq: number, message: Message | undefined, receipt: Receipt): void;
  /** The same for the oldest of all that are there: nobody reads so far back again. */
  shed(seq: number, message: Message | undefined, receipt: Receipt): void;
  /** A QoS 2 message was received by the client: from here on only its number matters. */
  release(seq: number, message: Message, receipt: Receipt): Receipt;
  /** No message that was settled or released could be read again. */
  readonly isSettled: boolean;
  /** Told what became of the messages that were put. */
  watcher: SessionWatcher | undefined;
  /** A QoS 2 publish of the client was taken; its packet id stays taken until PUBREL. */
  take(packetId: number, sinceMs: number, isLasting?: boolean): void;
  /** What was marked with this publish, by whatever worker, is forgotten as well. */
  free(packetId: number): void;
  /** Ids that are taken, oldest first. */
  taken(): Iterable<readonly [packetId: number, sinceMs: number]>;
  /** Flushed messages with numbers from `from` to `through`, in order, at most `countMax`. */
  read(from: number, through: number, countMax: number): StoredEntry[];
  /** How many flushed messages there are from `from` on, and the highest number (0: none). */
  extent(from: number): { readonly count: number; readonly lastSeq: number };
  /** Everything about this session goes. */
  end(): void;
}

export interface SessionWatcher {
  /** Messages up to this number are on disk, or were settled before they could be. */
  onFlushed(throughSeq: number): void;
  /** The messages with these numbers are not: their publishers are refused. */
  onRefused(fromSeq: number, throughSeq: number): void;
}

export interface StoredEntry {
  readonly seq: number;
  /** Undefined: the client has it, PUBREL is to be sent. */
  readonly message: Message | undefined;
  readonly options: DeliveryOptions;
  readonly receipt: Receipt;
}

/** How the subscription wanted the message, without the objects of a process. */
export interface DeliveryOptions {
  readonly qos: QoS;
  readonly retainAsPublished: boolean;
  readonly isReplay: boolean;
  readonly subscriptionIds: readonly number[] | undefined;
  readonly group: GroupName | undefined;
}

/** Retained messages live in the store and nowhere else. */
export interface RetainedStore {
  /** Where several workers write: of what was flushed when something of ours was, and ours on top. */
  readonly size: number;
  /** Topics that were told here and are not flushed. */
  readonly pending: number;
  has(topic: string): boolean;
  put(message: Message, expiresAtMs: number): void;
  delete(topic: string): void;
  /**
   * Messages whose topics match a filter, a slice of about `namesMax` at a time: begin at `''`, go on
   * from the answer, done when it is undefined. A visit that answers false ends the slice behind its
   * message. What is put or deleted between slices may be seen or not; nothing is seen twice.
   */
  slice(
    filter: string,
    from: string,
    namesMax: number,
    visit: (message: Message, expiresAtMs: number) => boolean,
  ): string | undefined;
  /** The same for all topics, those included that no wildcard matches. */
  sliceAll(
    from: string,
    namesMax: number,
    visit: (message: Message, expiresAtMs: number) => boolean,
  ): string | undefined;
}

/** The wills of clients that are connected, and of those that left and whose will is delayed. */
export interface WillStore {
  put(clientId: string, will: StoredWill): void;
  delete(clientId: string): void;
  /** It was published, in this turn: if that fails, the will stays. */
  sent(clientId: string): void;
  /** What the last process left, or of a worker that died: those of these client ids (absent: all). */
  all(
    isWanted?: (clientId: string) => boolean,
  ): Iterable<readonly [clientId: string, will: StoredWill]>;
}

export interface StoredWill {
  /** With mountpoint. */
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: QoS;
  readonly retain: boolean;
  readonly properties: Properties;
  readonly from: Publisher;
  readonly delaySeconds: number;
  /** Undefined while the client is connected. */
  readonly dueAtMs: number | undefined;
}

/** Small typed records by key. What was put is read back at once; it is safe after `flushed()`. */
export interface RecordStore {
  get(key: string): unknown;
  /** Anything that JSON can say. */
  put(key: string, value: unknown): void;
  delete(key: string): void;
  entries(): Iterable<readonly [key: string, value: unknown]>;
}
