// The other workers of this node together: they are told what is subscribed here and say what is
// subscribed there; client ids are claimed of the registry, which is asked through `claims`.

import type { MessagePort } from 'node:worker_threads';
import type { Broker } from '#core/broker';
import type { Core } from '#core/context';
import type { ClaimRequest, Interest, MemberName, MemberState, Peers } from '#core/peers-port';
import type { Wait } from '#core/ports';
import type { Store } from '#core/store-port';
import { unpromised } from '#core/wait';
import { Claims, type ClaimsParts } from './claims.ts';
import { HandedOn } from './handed-on.ts';
import type { GivenUp, GiveUp } from './registry.ts';
import { SessionMoves } from './session-moves.ts';
import { type PeerHome, WorkerPeer } from './worker-peer.ts';
import type { Word } from './words.ts';

export interface WorkerPeersParts {
  readonly index: number;
  readonly workers: number;
  readonly store: Store;
  /** One place for each worker: not 0 while it has retained something that is not flushed. */
  readonly retainedPending: Int32Array;
  readonly registry: Pick<ClaimsParts, 'claim' | 'release'>;
}

/** A will that is published when its client comes back elsewhere holds it up so long at most. */
const willMsMax = 1000;

export class WorkerPeers implements Peers, PeerHome {
  readonly isAlone: boolean = false;
  readonly handedOn: HandedOn;
  readonly #parts: WorkerPeersParts;
  readonly #peers: readonly WorkerPeer[];
  readonly #claims: Claims;
  #core: Core | undefined;
  #moves: SessionMoves | undefined;
  #isRetaining = false;
  /** Questions for a flush by number, and how many have not answered. */
  readonly #questions = new Map<number, { left: Set<WorkerPeer>; resolve: () => void }>();
  #nextQuestion = 1;
  /** What those have said so far who have not said `hello` yet. */
  readonly #greetings = new Map<WorkerPeer, { words: Word[]; resolve: () => void }>();

  constructor(parts: WorkerPeersParts) {
    this.#parts = parts;
    this.handedOn = new HandedOn(parts.store.records('handed-on'), parts.index);
    const others = Array.from({ length: parts.workers }, (_, i) => i).filter(
      (i) => i !== parts.index,
    );
    this.#peers = others.map((i) => new WorkerPeer(i, this));
    this.#claims = new Claims({
      claim: (request, answer) => parts.registry.claim(request, answer),
      release: (clientId) => parts.registry.release(clientId),
      hasSession: (clientId) => this.core.sessions.find(clientId) !== undefined,
    });
  }

  /** The broker that these are the peers of; before anything else is asked. */
  serve(broker: Broker): void {
    this.#core = broker.core;
    const { store, index } = this.#parts;
    const flushedBy = this.#askFlush.bind(this);
    this.#moves = new SessionMoves({ broker, store, index, peers: this.#peers, flushedBy });
  }

  get core(): Core {
    if (this.#core === undefined) throw new TypeError('Cannot be asked before the broker is there');
    return this.#core;
  }

  get claims(): Claims {
    return this.#claims;
  }

  /** A worker is there. Resolves when it knows what is subscribed here, and we what is there. */
  async peerUp(index: number, port: MessagePort): Promise<void> {
    const peer = this.#peerAt(index);
    const { filters } = this.core;
    const greeted = this.#greetingOf(peer);
    peer.up(port);
    for (const [filter, level] of filters.interests()) peer.say(['interest', filter, level]);
    for (const member of filters.members()) peer.say(['member', member]);
    peer.say(['hello']);
    await Promise.all([peer.handled(), greeted]);
  }

  #greetingOf(peer: WorkerPeer): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#greetings.set(peer, { words: [], resolve });
    return promise;
  }

  /** Resolves when nothing that it has told us can reach the store any more. */
  async peerDown(index: number): Promise<void> {
    const peer = this.#peerAt(index);
    peer.down();
    this.#greetings.get(peer)?.resolve();
    this.#greetings.delete(peer);
    this.#moves?.peerDown(peer);
    for (const question of this.#questions.keys()) this.#answered(question, peer);
    await this.#parts.store.flushed().catch(() => undefined);
  }

  close(): void {
    for (const peer of this.#peers) peer.down();
  }

  #peerAt(index: number): WorkerPeer {
    const peer = this.#peers.find((one) => one.index === index);
    if (peer === undefined) throw new RangeError(`Cannot find worker ${index} among the peers`);
    return peer;
  }

  interest(filter: string, level: Interest): Wait {
    return this.#tellAll(['interest', filter, level]);
  }

  member(member: MemberState): Wait {
    return this.#tellAll(['member', member]);
  }

  left({ group, filter, clientId }: MemberName): void {
    for (const peer of this.#peers) peer.say(['left', { group, filter, clientId }]);
  }

  /** One that is down learns everything when it is back. */
  #tellAll(word: Word): Wait {
    const waits: Promise<void>[] = [];
    for (const peer of this.#peers) {
      peer.say(word);
      const handled = peer.handled();
      if (handled !== undefined) waits.push(handled);
    }
    if (waits.length < 2) return waits[0];
    return Promise.all(waits).then(() => undefined);
  }

  retainedTold(): void {
    if (this.#isRetaining) return;
    this.#isRetaining = true;
    const { retainedPending, index } = this.#parts;
    Atomics.store(retainedPending, index, 1);
    this.#unmarkWhenFlushed();
  }

  #unmarkWhenFlushed(): void {
    const { store, retainedPending, index } = this.#parts;
    const look = (): void => {
      if (store.retained.pending > 0) {
        this.#unmarkWhenFlushed();
        return;
      }
      this.#isRetaining = false;
      Atomics.store(retainedPending, index, 0);
    };
    store.flushed().then(look, look);
  }

  retainedFlushed(): Wait {
    const { retainedPending } = this.#parts;
    const asked = this.#peers.filter(
      (peer) => peer.isUp && Atomics.load(retainedPending, peer.index) !== 0,
    );
    return this.#askFlush(asked);
  }

  /** The wait is over when those have on disk what we have said to them, or are gone. */
  #askFlush(asked: readonly WorkerPeer[]): Wait {
    if (asked.length === 0) return undefined;
    const question = this.#nextQuestion++;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#questions.set(question, { left: new Set(asked), resolve });
    for (const peer of asked) peer.say(['flush', question]);
    return promise;
  }

  #answered(question: number, peer: WorkerPeer): void {
    const asked = this.#questions.get(question);
    if (asked?.left.delete(peer) !== true || asked.left.size > 0) return;
    this.#questions.delete(question);
    asked.resolve();
  }

  claim(request: ClaimRequest): Wait {
    return this.#claims.claim(request);
  }

  owns(clientId: string): boolean {
    return this.#claims.owns(clientId);
  }

  attempted(clientId: string): void {
    this.#claims.attempted(clientId);
  }

  /**
   * Not before the end is on disk: another worker would begin a new session of the same id, and a crash
   * could leave both.
   */
  release(clientId: string): void {
    void this.#parts.store.lastingFlushed().then(() => {
      if (this.core.sessions.find(clientId) === undefined) this.#claims.ended(clientId);
    });
  }

  /** The registry wants the id for another worker. Rejects when the session stays here after all. */
  async giveUp(order: GiveUp): Promise<GivenUp> {
    const { clientId, to } = order;
    const { sessions, wills } = this.core;
    this.#claims.givenUp(clientId);
    const moving = sessions.giveUp(order);
    // What is written of its will here must not be written after what is written there. Not for ever:
    // it may be for a worker that is down, whose successor waits for this move.
    await this.#within(willMsMax, wills.settled(clientId));
    await this.#parts.store.lastingFlushed();
    if (moving === undefined) return 'ended';
    try {
      await this.#moves?.send(moving, this.#peerAt(to));
      return 'moved';
    } catch (error) {
      sessions.keep(moving);
      this.#claims.kept(clientId);
      throw error;
    }
  }

  async #within(ms: number, wait: Wait): Promise<void> {
    if (wait === undefined) return;
    const late = Promise.withResolvers<void>();
    const timer = this.core.clock.setTimer(ms, () => late.resolve());
    await Promise.race([wait, late.promise]);
    timer.cancel();
  }

  /** The session is here. Waits until nothing is under way that could bring it. */
  async hasSession(clientId: string): Promise<boolean> {
    await this.#moves?.arrival(clientId);
    return this.core.sessions.find(clientId) !== undefined;
  }

  /** What members that left here had for others when the last process, or worker, died. */
  handOn(isOurs: (index: number) => boolean): void {
    const { filters } = this.core;
    for (const { message, group, filter, forget } of this.handedOn.left(isOurs)) {
      const wait = filters.group(filter, group)?.dispatch(message);
      if (wait === undefined) forget();
      else unpromised(wait.then(() => forget()));
    }
  }

  /**
   * What a worker wants is taken as a whole, when it has said `hello`: if it dies before that, we go on
   * with what its predecessor wanted.
   */
  onWord(peer: WorkerPeer, word: Word): void {
    const greeting = this.#greetings.get(peer);
    if (greeting === undefined) {
      this.#heed(peer, word);
    } else if (word[0] !== 'hello') {
      greeting.words.push(word);
    } else {
      this.#greetings.delete(peer);
      const members = this.core.filters.forgetPeer(peer);
      for (const said of greeting.words) this.#heed(peer, said);
      for (const member of members) this.#keepMember(member);
      peer.greeted();
      greeting.resolve();
    }
  }

  /**
   * A dead worker may have had a member from another one that had not handed it over: its successor does
   * not have it, and while the other is down, too, nobody says so. Until that one has a successor it is
   * taken to be there, or what is published meanwhile would be for nobody.
   */
  #keepMember(member: MemberState): void {
    const { filters } = this.core;
    const { filter, group, clientId, isStored } = member;
    const away = this.#peers.find((peer) => !peer.isUp || this.#greetings.has(peer));
    if (!isStored || away === undefined) return;
    if (filters.group(filter, group)?.sessionOf(clientId) !== undefined) return;
    filters.setMember(away, { ...member, isConnected: false });
  }

  #heed(peer: WorkerPeer, word: Word): void {
    const { filters } = this.core;
    if (word[0] === 'interest') filters.setInterest(peer, word[1], word[2]);
    else if (word[0] === 'member') filters.setMember(peer, word[1]);
    else if (word[0] === 'left') filters.dropMember(peer, word[1]);
    else if (word[0] === 'flush') this.#answerFlushed(peer, word[1]);
    else if (word[0] === 'flushed') this.#answered(word[1], peer);
    else this.#moves?.onWord(peer, word);
  }

  #answerFlushed(peer: WorkerPeer, question: number): void {
    const answer = (): void => peer.say(['flushed', question]);
    this.#parts.store.flushed().then(answer, answer);
  }
}
