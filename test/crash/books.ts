// What was promised to whom, and what came: every message a publisher sent and whether it was
// acknowledged, every session's subscriptions and what arrived in it. All clients live in one process,
// so one counter orders all events. Laws: acknowledged QoS 1 arrives, QoS 2 arrives once, first
// arrivals of a stream are in order, nothing comes to a session that had no subscription for it.

import { matches } from '#topics/match';
import type { PublishPacket } from '#wire/packet';
import { Figures } from './figures.ts';
import { RetainedBook } from './retained-book.ts';
import { nameMessages, parsePayload } from './numbered-message.ts';
import { Violations } from './violations.ts';
import { WillBook } from './will-book.ts';

export type Level = 1 | 2;

export interface Sent {
  readonly publisher: string;
  readonly number: number;
  readonly topic: string;
  readonly qos: Level;
  readonly retain: boolean;
  /** Takes the retained message of its topic away. */
  readonly isClear: boolean;
  readonly sentAt: number;
  /** PUBACK or PUBREC came. */
  ackedAt: number | undefined;
  /** Somebody's session is to have it: it is not acknowledged before the disk has it. */
  isOwed: boolean;
}

export class Books {
  readonly figures: Figures = new Figures();
  readonly violations: Violations = new Violations();
  readonly retained: RetainedBook = new RetainedBook(this.violations);
  readonly wills: WillBook = new WillBook(this.violations);
  readonly #sessions: SessionBook[] = [];
  readonly #sent = new Map<string, Sent>();
  readonly #lastNumber = new Map<string, number>();
  /** Numbers up to this one are settled, by publisher. */
  readonly #settled = new Map<string, number>();
  #now = 0;
  /** When the latest message was sent of those whose acknowledgement waited for the disk. */
  #provenAt = 0;

  /** Publishers whose QoS 2 messages may come twice, and whose sessions overtake each other. */
  isLoose: (publisher: string) => boolean = () => false;

  /** The time: one later with every look at it. */
  tick(): number {
    return ++this.#now;
  }

  /** What the broker was told before this is on disk. */
  get provenAt(): number {
    return this.#provenAt;
  }

  openSession(name: string, qos: Level, isOrdered = true): SessionBook {
    const session = new SessionBook(name, qos, isOrdered, this);
    this.#sessions.push(session);
    return session;
  }

  /** A message is about to be written for the first time. */
  send(message: Pick<Sent, 'publisher' | 'topic' | 'qos' | 'retain' | 'isClear'>): Sent {
    const number = (this.#lastNumber.get(message.publisher) ?? 0) + 1;
    this.#lastNumber.set(message.publisher, number);
    const state = { sentAt: this.tick(), ackedAt: undefined, isOwed: false };
    const sent: Sent = { ...message, number, ...state };
    this.#sent.set(keyOf(sent.publisher, number), sent);
    if (sent.retain) this.retained.sent(sent);
    // A message without payload cannot say who it is.
    if (!sent.isClear) for (const session of this.#sessions) session.owe(sent);
    return sent;
  }

  acknowledge(sent: Sent): void {
    sent.ackedAt = this.tick();
    if (sent.isOwed) this.#provenAt = Math.max(this.#provenAt, sent.sentAt);
    this.figures.acknowledged[sent.qos]++;
    if (sent.retain) this.retained.acknowledged(sent);
  }

  find(publisher: string, number: number): Sent | 'settled' | undefined {
    if (number <= (this.#settled.get(publisher) ?? 0)) return 'settled';
    return this.#sent.get(keyOf(publisher, number));
  }

  /** What acknowledged messages have not arrived, in words. */
  missing(): string[] {
    return this.#sessions.flatMap((session) => session.missing());
  }

  get isAnythingOwed(): boolean {
    return this.#sessions.some((session) => session.isOwed);
  }

  /** Everything has come to rest: judges what is missing and forgets what is done. */
  settle(): void {
    for (const session of this.#sessions) session.settle();
    this.wills.settle();
    this.#sent.clear();
    for (const [publisher, number] of this.#lastNumber) this.#settled.set(publisher, number);
  }
}

interface Window {
  readonly filter: string;
  /** SUBSCRIBE went out, SUBACK came, UNSUBSCRIBE went out, UNSUBACK came. */
  readonly askedAt: number;
  grantedAt: number;
  leavingAt: number;
  leftAt: number;
}

const never = Number.POSITIVE_INFINITY;

/** What one session, or one shared subscription with all its members, is owed and has got. */
export class SessionBook {
  readonly name: string;
  readonly qos: Level;
  readonly books: Books;
  readonly #isOrdered: boolean;
  #windows: Window[] = [];
  readonly #owed = new Map<string, Sent>();
  readonly #counts = new Map<string, number>();
  /** Who got it first, and under which id. */
  readonly #firsts = new Map<string, string>();
  readonly #last = new Map<string, number>();

  constructor(name: string, qos: Level, isOrdered: boolean, books: Books) {
    this.name = name;
    this.qos = qos;
    this.books = books;
    this.#isOrdered = isOrdered;
  }

  get isOwed(): boolean {
    return this.#owed.values().some(({ ackedAt }) => ackedAt !== undefined);
  }

  /** SUBSCRIBE goes out, perhaps again. */
  ask(filter: string): void {
    const open = this.#open(filter);
    // Asked for again while it was being given up: what was owed before is not owed any more.
    if (open !== undefined && open.leavingAt !== never) open.leftAt = this.books.tick();
    if (open === undefined || open.leavingAt !== never) {
      const askedAt = this.books.tick();
      this.#windows.push({ filter, askedAt, grantedAt: never, leavingAt: never, leftAt: never });
    }
  }

  granted(filter: string): void {
    const open = this.#open(filter);
    if (open?.grantedAt === never) open.grantedAt = this.books.tick();
  }

  /** UNSUBSCRIBE goes out: what has not arrived need not any more. */
  leave(filter: string): void {
    const open = this.#open(filter);
    if (open?.leavingAt !== never) return;
    open.leavingAt = this.books.tick();
    for (const [key, sent] of this.#owed) if (!this.#isPromised(sent)) this.#owed.delete(key);
  }

  left(filter: string): void {
    const open = this.#open(filter);
    if (open !== undefined) open.leftAt = this.books.tick();
  }

  owe(sent: Sent): void {
    if (!this.#isPromised(sent)) return;
    this.#owed.set(keyOf(sent.publisher, sent.number), sent);
    sent.isOwed = true;
  }

  /** A message has come in, to one of its clients, that is not a repetition by its packet id. */
  receive(packet: PublishPacket, client: string = this.name): void {
    const { books } = this;
    const { violations, figures } = books;
    if (packet.topic.startsWith('w/')) return books.wills.received(packet);
    if (packet.payload.length === 0) return;
    const { publisher, number, topic, qos } = parsePayload(packet.payload);
    const sent = books.find(publisher, number);
    const under = `id ${packet.packetId}${packet.dup ? ' with DUP' : ''}`;
    const told = `"${client}" got "${publisher} ${number}" (QoS ${qos}) on "${packet.topic}", ${under}`;
    if (sent === undefined) return violations.add('invented', `${told}: nobody sent it`);
    if (topic !== packet.topic) return violations.add('invented', `${told}: sent to "${topic}"`);
    // The answer to a subscription, which may come beside the message itself.
    if (packet.retain) return;
    figures.delivered++;
    const key = keyOf(publisher, number);
    const count = (this.#counts.get(key) ?? 0) + 1;
    const wasOwed = this.#owed.delete(key);
    if (sent === 'settled' || count > 1) {
      const isOnce = qos === 2 && this.qos === 2 && !books.isLoose(publisher);
      if (isOnce)
        violations.add('doubled', `${told}; first was ${this.#firsts.get(key) ?? 'long ago'}`);
      else figures.repeated++;
      if (sent === 'settled') return;
    }
    this.#counts.set(key, count);
    if (count === 1) this.#firsts.set(key, `"${client}", ${under}`);
    if (!this.#mayReceive(sent)) violations.add('stranger', `${told}: not subscribed to it`);
    const isOrdered = this.#isOrdered && !books.isLoose(publisher);
    if (wasOwed && isOrdered) this.#checkOrder(sent, told);
  }

  missing(): string[] {
    const lost = [...this.#owed.values()].filter(({ ackedAt }) => ackedAt !== undefined);
    return nameMessages(lost).map((named) => `"${this.name}" never got ${named}`);
  }

  settle(): void {
    const { violations, figures } = this.books;
    for (const named of this.missing()) violations.add('lost', named);
    figures.lost += [...this.#owed.values()].filter(({ ackedAt }) => ackedAt !== undefined).length;
    this.#owed.clear();
    this.#counts.clear();
    this.#firsts.clear();
    this.#windows = this.#windows.filter(({ leftAt }) => leftAt === never);
  }

  /** Asked for and not left: at most one of a filter. */
  #open(filter: string): Window | undefined {
    return this.#windows.find((window) => window.filter === filter && window.leftAt === never);
  }

  #isPromised({ topic, sentAt }: Sent): boolean {
    return this.#windows.some(
      ({ filter, grantedAt, leavingAt }) =>
        grantedAt < sentAt && leavingAt === never && matches(plain(filter), topic),
    );
  }

  #mayReceive({ topic, sentAt, ackedAt }: Sent): boolean {
    return this.#windows.some(
      ({ filter, askedAt, leftAt }) =>
        sentAt < leftAt && askedAt < (ackedAt ?? never) && matches(plain(filter), topic),
    );
  }

  /**
   * [MQTT-4.6.0-5], by first arrivals. Only of what was owed: a message that was sent before the
   * subscription, and once more after it, rightly comes behind its successors.
   */
  #checkOrder({ publisher, topic, qos, number }: Sent, told: string): void {
    const stream = `${publisher} ${topic} ${qos}`;
    const last = this.#last.get(stream) ?? 0;
    if (number < last) {
      this.books.violations.add('disordered', `${told}: ${last} of the same stream came before`);
    }
    this.#last.set(stream, Math.max(last, number));
  }
}

function keyOf(publisher: string, number: number): string {
  return `${publisher} ${number}`;
}

function plain(filter: string): string {
  return filter.startsWith('$share/') ? filter.split('/').slice(2).join('/') : filter;
}
