// Another worker of this node: messages to it and from it over one link, which is gone while that
// worker is being started again. Laws: an awaited message is kept until the other has confirmed that
// it is flushed there, and is sent again to the one that comes after it; what nobody awaits is lost
// with the worker it was for.

import type { MessagePort } from 'node:worker_threads';
import { describeError } from '#base/errors';
import type { Core } from '#core/context';
import type { FrameRun } from '#core/delivery';
import type { Message, Publisher } from '#core/message';
import { Metric } from '#core/metrics';
import type { MemberName, MemberState, Peer } from '#core/peers-port';
import type { Wait } from '#core/ports';
import { RemoteMember } from '#core/remote-member';
import type { Route } from '#core/router';
import { bothWaits, unpromised } from '#core/wait';
import type { HandedOn } from './handed-on.ts';
import { Link, type LinkOwner } from './link.ts';
import { Flag, type LinkBatch } from './link-batch.ts';
import { LinkReader, type LinkSink } from './link-reader.ts';
import type { Word } from './words.ts';

/** The awaited messages of one batch: they are flushed there together. */
interface Awaited {
  readonly batch: LinkBatch | undefined;
  readonly entries: Entry[];
  readonly answer: PromiseWithResolvers<void>;
}

interface Entry {
  readonly message: Message;
  readonly member: MemberName | undefined;
  readonly flags: number;
}

export interface PeerHome {
  readonly core: Core;
  readonly handedOn: HandedOn;
  onWord(peer: WorkerPeer, word: Word): void;
}

export class WorkerPeer implements Peer, LinkOwner, LinkSink {
  readonly index: number;
  readonly #home: PeerHome;
  #link: Link | undefined;
  #reader: LinkReader | undefined;
  /** Numbers of batches with awaited messages, sent and received, counted by both ends alike. */
  #sentNo = 0;
  #receivedNo = 0;
  #open: Awaited | undefined;
  readonly #unanswered = new Map<number, Awaited>();
  /** Those for a worker that died, and those for its successor before it has said hello. */
  #owed: Awaited[] = [];
  /** It knows our subscriptions and has said its own: messages may go. */
  #isReady = false;
  /** Of the batch that is being read. */
  #waits: Promise<void>[] = [];
  #hasAwaited = false;

  constructor(index: number, home: PeerHome) {
    this.index = index;
    this.#home = home;
  }

  get isUp(): boolean {
    return this.#link !== undefined;
  }

  /** The worker is there, perhaps again. Words go at once, messages when it has said `hello`. */
  up(port: MessagePort): void {
    this.#link = new Link(port, this);
    this.#reader = new LinkReader(this.#home.core.router, this.index);
    this.#sentNo = 0;
    this.#receivedNo = 0;
  }

  /** It died. */
  down(): void {
    const link = this.#link;
    this.#link = undefined;
    this.#isReady = false;
    this.#open = undefined;
    this.#owed.push(...this.#unanswered.values());
    this.#unanswered.clear();
    link?.close();
  }

  /**
   * It has said what it wants: what is owed goes now, ahead of what comes. Not what was for a member that it
   * never got or that has moved: it may not know yet where that one is, and would confirm for nobody.
   */
  greeted(): void {
    const owed = this.#owed;
    this.#owed = [];
    this.#open = undefined;
    this.#isReady = true;
    for (const { entries, answer } of owed) {
      const waits = new Set<Wait>();
      for (const entry of entries) {
        entry.message.mayBeHad = entry.message.passage !== undefined;
        waits.add(this.#sendAgain(entry));
      }
      answer.resolve([...waits].reduce(bothWaits, undefined));
    }
  }

  #sendAgain({ message, member, flags }: Entry): Wait {
    if (member === undefined) return this.#send(message, member, flags);
    const group = this.#home.core.filters.group(member.filter, member.group);
    const session = group?.sessionOf(member.clientId);
    const isThere = session instanceof RemoteMember && session.peer === this;
    if (isThere) return this.#send(message, member, flags);
    try {
      return group?.dispatch(message, (flags & Flag.isHandedOn) !== 0);
    } catch (error) {
      this.onFault(error);
      return Promise.reject(error as Error);
    }
  }

  /** The client of this session repeats elsewhere what was not confirmed: it is not sent again from here. */
  disown(sessionNo: number): void {
    for (const { entries } of [...this.#owed, ...this.#unanswered.values()]) {
      const kept = entries.filter(({ message }) => message.passage?.sessionNo !== sessionNo);
      entries.splice(0, entries.length, ...kept);
    }
  }

  forward(message: Message, isAwaited: boolean): Wait {
    return this.#send(message, undefined, isAwaited ? Flag.isAwaited : 0);
  }

  forwardTo(member: MemberState, message: Message, isHandedOn: boolean): Wait {
    const isAwaited = member.isStored && message.qos > 0;
    const flags = (isAwaited ? Flag.isAwaited : 0) | (isHandedOn ? Flag.isHandedOn : 0);
    if (!isHandedOn || !isAwaited) return this.#send(message, member, flags);
    const { group, filter } = member;
    const kept = this.#home.handedOn.keep(message, group, filter);
    return this.#send(message, member, flags)?.then(() => kept.forget());
  }

  #send(message: Message, member: MemberName | undefined, flags: number): Wait {
    const batch = this.#isReady ? this.#link?.batch : undefined;
    batch?.message(message, flags, member);
    if ((flags & Flag.isAwaited) === 0) {
      if (batch === undefined) this.#home.core.metrics.add(Metric.messagesDropped);
      return undefined;
    }
    if (this.#open === undefined || this.#open.batch !== batch) this.#open = this.#await(batch);
    this.#open.entries.push({ message: message.own(), member, flags });
    return this.#open.answer.promise;
  }

  #await(batch: LinkBatch | undefined): Awaited {
    const awaited = { batch, entries: [], answer: Promise.withResolvers<void>() };
    if (batch === undefined) this.#owed.push(awaited);
    else this.#unanswered.set(++this.#sentNo, awaited);
    return awaited;
  }

  forwardRun(run: FrameRun, topic: Buffer, isV5: boolean, from: Publisher): void {
    if (this.#isReady) this.#link?.batch.run(run, topic, isV5, from);
    else this.#home.core.metrics.add(Metric.messagesDropped, run.count);
  }

  say(word: Word): void {
    this.#link?.batch.word(word);
  }

  /** Everything said so far has been handled there; a worker that is gone keeps nobody waiting. */
  handled(): Wait {
    return this.#link?.handled();
  }

  onBatch(bytes: Buffer, length: number): void {
    const link = this.#link;
    this.#waits = [];
    this.#hasAwaited = false;
    try {
      this.#reader?.read(bytes, length, this);
    } finally {
      if (this.#hasAwaited) this.#answerWhenStored(++this.#receivedNo, this.#waits, link);
      // What fills queues alone touches no outbox, after which it is looked otherwise.
      this.#home.core.flusher.pressure.look();
    }
  }

  #answerWhenStored(no: number, waits: readonly Promise<void>[], link: Link | undefined): void {
    const answer = (isStored: boolean): void => {
      // Not to its successor, which counts anew.
      if (this.#link === link) this.say(['stored', no, isStored]);
    };
    if (waits.length === 0) {
      answer(true);
      return;
    }
    void Promise.allSettled(waits).then((all) =>
      answer(all.every(({ status }) => status === 'fulfilled')),
    );
  }

  onRun(run: FrameRun, route: Route, isV5: boolean, publisher: Publisher): void {
    try {
      this.#home.core.express.deliver(run, route, { isV5, publisher }, this.index);
    } catch (error) {
      this.onFault(error);
    }
  }

  onMessage(message: Message, route: Route, flags: number, member: MemberName | undefined): void {
    const wait = this.#deliver(message, route, flags, member);
    if ((flags & Flag.isAwaited) === 0) {
      unpromised(wait);
      return;
    }
    this.#hasAwaited = true;
    // Most of them wait for the same flush.
    if (wait !== undefined && this.#waits.at(-1) !== wait) this.#waits.push(wait);
  }

  #deliver(message: Message, route: Route, flags: number, member: MemberName | undefined): Wait {
    const { router, filters, metrics } = this.#home.core;
    if (member === undefined) {
      if (!route.isSystem) return router.dispatchHere(message, route);
      return metrics.withoutSent(() => router.dispatchHere(message, route));
    }
    const group = filters.group(member.filter, member.group);
    const isHandedOn = (flags & Flag.isHandedOn) !== 0;
    try {
      return group?.deliverTo(member.clientId, message, isHandedOn);
    } catch (error) {
      this.onFault(error);
      return Promise.reject(error as Error);
    }
  }

  onWord(word: unknown): void {
    const said = word as Word;
    if (said[0] === 'stored') this.#onStored(said[1], said[2]);
    else this.#handle(said);
  }

  /** What fails must not take along what stands behind it: messages are counted by their batches. */
  #handle(word: Word): void {
    try {
      this.#home.onWord(this, word);
    } catch (error) {
      this.onFault(error);
    }
  }

  #onStored(no: number, isStored: boolean): void {
    const awaited = this.#unanswered.get(no);
    this.#unanswered.delete(no);
    if (isStored) awaited?.answer.resolve();
    else awaited?.answer.reject(new Error(`Cannot store: worker ${this.index} could not`));
  }

  onCongestion(isCongested: boolean): void {
    this.#home.core.flusher.pressure.onCongestion(isCongested);
  }

  onFault(error: unknown): void {
    this.#home.core.log.error('link.failed', { peer: this.index, error: describeError(error) });
  }
}
