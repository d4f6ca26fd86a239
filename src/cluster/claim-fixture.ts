// A world of workers around one registry in which everything that is said takes its time: messages
// between two parties arrive in order, those of different pairs in any, several at once before anybody
// has thought about the first. Workers hold sessions, move them, die and have successors.

import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { VirtualClock } from '#base/clock';
import type { ClaimRequest } from '#core/peers-port';
import { Claims } from './claims.ts';
import { type ClaimAnswer, type GivenUp, type GiveUp, Registry } from './registry.ts';

export interface Connect extends ClaimRequest {
  readonly isPersistent: boolean;
}

interface HeldSession {
  isPersistent: boolean;
  readonly owner: string | undefined;
  /** The attempt that is connected. */
  connection: number | undefined;
  isLeaving: boolean;
}

interface OpenOrder {
  readonly from: ClaimWorker;
  readonly to: ClaimWorker;
  readonly resolve: (outcome: GivenUp) => void;
  readonly reject: (error: Error) => void;
}

/** Control: the registry, and what is between it and the workers. */
export class ClaimWorld {
  readonly clock: VirtualClock = new VirtualClock();
  readonly registry: Registry;
  readonly workers: ClaimWorker[] = [];
  readonly faults: unknown[] = [];
  /** Persistent sessions on disk, with the user they belong to. */
  readonly store: Map<string, string | undefined> = new Map();
  readonly random: () => number;
  /** How many of the CONNECTs wait for something else between their claim and their session. */
  pauseShare = 0.3;
  readonly #links = new Map<string, (() => void)[]>();
  readonly #orders = new Map<number, OpenOrder>();
  #numbers = 0;

  constructor(workers: number, seed: number) {
    this.random = randomFrom(seed);
    this.registry = new Registry({
      clock: this.clock,
      ask: (worker, order) => this.#ask(worker, order),
      onFault: (error) => this.faults.push(error),
    });
    for (let index = 0; index < workers; index += 1) {
      this.workers.push(new ClaimWorker(this, index, 0));
    }
  }

  below(count: number): number {
    return Math.floor(this.random() * count);
  }

  nextNumber(): number {
    return ++this.#numbers;
  }

  worker(index: number): ClaimWorker {
    const worker = this.workers[index];
    assert(worker !== undefined);
    return worker;
  }

  get living(): ClaimWorker[] {
    return this.workers.filter((worker) => worker.isAlive);
  }

  /** `undefined` is control. What is said to the dead is lost. */
  post(from: ClaimWorker | undefined, to: ClaimWorker | undefined, act: () => void): void {
    const name = `${from?.name ?? 'control'}>${to?.name ?? 'control'}`;
    const link = this.#links.get(name) ?? [];
    this.#links.set(name, link);
    link.push(() => {
      if (to?.isAlive !== false) act();
    });
  }

  /** Some of what is under way on one link arrives. False: nothing was under way. */
  async deliver(): Promise<boolean> {
    const names = [...this.#links.keys()];
    const name = names[this.below(names.length)];
    if (name === undefined) return false;
    const link = this.#links.get(name) ?? [];
    for (const act of link.splice(0, 1 + this.below(4))) act();
    if (link.length === 0) this.#links.delete(name);
    await turn();
    return true;
  }

  async drain(): Promise<void> {
    for (;;) {
      await turn();
      if (!(await this.deliver())) return;
      this.check();
    }
  }

  claim(from: ClaimWorker, request: ClaimRequest, answer: ClaimAnswer): void {
    this.post(from, undefined, () => {
      this.registry.claim(from.index, request, (refusal) => {
        this.post(undefined, from, () => answer(refusal));
      });
    });
  }

  settle(number: number, outcome: GivenUp | Error): void {
    const order = this.#orders.get(number);
    this.#orders.delete(number);
    if (outcome instanceof Error) order?.reject(outcome);
    else order?.resolve(outcome);
  }

  #ask(index: number, request: GiveUp): Promise<GivenUp> {
    const number = this.nextNumber();
    const from = this.worker(index);
    const to = this.worker(request.to);
    const { promise, resolve, reject } = Promise.withResolvers<GivenUp>();
    this.#orders.set(number, { from, to, resolve, reject });
    this.post(undefined, from, () => from.giveUp(number, request, to));
    return promise;
  }

  /** Of its last words some are heard, and then that there are no more. */
  kill(worker: ClaimWorker): void {
    worker.isAlive = false;
    for (const [name, link] of this.#links) {
      if (name.startsWith(`${worker.name}>`)) link.length = this.below(link.length + 1);
    }
    this.post(worker, undefined, () => this.#died(worker));
    for (const other of this.living) this.post(worker, other, () => other.linkEnded(worker));
  }

  #died(worker: ClaimWorker): void {
    const settled = this.registry.down(worker.index);
    worker.isBuried = true;
    for (const [number, { from, to }] of this.#orders) {
      if (from !== worker && to !== worker) continue;
      if (from.isBuried && to.isBuried) this.settle(number, new Error('Both are dead'));
      else if (from === worker) this.post(undefined, to, () => to.hasArrived(number, from));
      else this.post(undefined, from, () => from.claimantDied(number));
    }
    void settled.then(() => this.#succeed(worker));
  }

  #succeed({ index, life }: ClaimWorker): void {
    const owned = [...this.registry.ownedBy(index)];
    const successor = new ClaimWorker(this, index, life + 1);
    this.workers[index] = successor;
    this.post(undefined, successor, () => {
      const restored = successor.restore(owned);
      this.post(successor, undefined, () => this.registry.up(index, restored));
    });
  }

  /** At any instant one worker at most believes to own an id, and one at most has its session. */
  check(): void {
    const owned = new Map<string, number>();
    const held = new Map<string, number>();
    for (const worker of this.living) {
      for (const clientId of worker.touched) {
        if (!worker.claims.owns(clientId)) continue;
        assert.equal(owned.get(clientId), undefined, `two workers own ${clientId}`);
        owned.set(clientId, worker.index);
      }
      for (const clientId of worker.sessions.keys()) {
        assert.equal(held.get(clientId), undefined, `two workers hold ${clientId}`);
        held.set(clientId, worker.index);
      }
    }
  }
}

/** A worker as far as client ids are concerned. */
export class ClaimWorker {
  readonly index: number;
  readonly life: number;
  readonly name: string;
  readonly claims: Claims;
  readonly sessions: Map<string, HeldSession> = new Map();
  readonly attempts: Map<number, string> = new Map();
  /** Ids that were ever claimed or restored here. */
  readonly touched: Set<string> = new Set();
  readonly #gone = new Set<number>();
  readonly #endedEarly = new Set<number>();
  isAlive = true;
  /** Has what its predecessor left: clients may come. */
  isOpen: boolean;
  /** Control knows that it is dead. */
  isBuried = false;
  readonly #world: ClaimWorld;
  readonly #moves = new Map<number, { readonly clientId: string; isHandedOver: boolean }>();
  /** Those that this worker hears nothing from any more, or never did: they were dead before. */
  readonly #ended: Set<ClaimWorker>;
  readonly #questions: { readonly number: number; readonly giver: ClaimWorker }[] = [];

  constructor(world: ClaimWorld, index: number, life: number) {
    this.#world = world;
    this.index = index;
    this.life = life;
    this.isOpen = life === 0;
    this.#ended = new Set(world.workers.filter(({ isAlive }) => !isAlive));
    this.name = `worker ${index}.${life}`;
    this.claims = new Claims({
      claim: (request, answer) => world.claim(this, request, answer),
      release: (clientId) => this.#tell(() => world.registry.release(index, clientId)),
      hasSession: (clientId) => this.sessions.has(clientId),
    });
  }

  #tell(act: () => void): void {
    this.#world.post(this, undefined, act);
  }

  /** The number of the attempt. */
  connect(request: Connect): number {
    const number = this.#world.nextNumber();
    this.touched.add(request.clientId);
    this.attempts.set(number, request.clientId);
    this.#attempt(number, request).catch((error: unknown) => this.#world.faults.push(error));
    return number;
  }

  async #attempt(number: number, request: Connect): Promise<void> {
    let isGranted = true;
    try {
      await this.claims.claim(request);
    } catch {
      isGranted = false; // Refused by the registry: the model only asks that all end.
    }
    // A stage that waits for a disk.
    if (this.#world.random() < this.#world.pauseShare) await this.#pause();
    if (!this.isAlive) return;
    const isLost = !isGranted || this.#gone.has(number);
    if (!isLost && this.claims.owns(request.clientId)) this.#open(number, request);
    if (!this.#endedEarly.has(number)) this.claims.attempted(request.clientId);
    this.attempts.delete(number);
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => this.#world.post(this, this, resolve));
  }

  #open(number: number, { clientId, cleanStart, provenUsername, isPersistent }: Connect): void {
    const present = this.sessions.get(clientId);
    assert(present?.isLeaving !== true, 'a session that leaves is not ours to open');
    const isResumed = present?.isPersistent === true && present.owner === provenUsername;
    if (present !== undefined && (cleanStart || !isResumed)) this.#end(clientId);
    const session = this.sessions.get(clientId);
    if (session === undefined) {
      assert(!this.#world.store.has(clientId), `the session of ${clientId} was lost on its way`);
      const made = { isPersistent, owner: provenUsername, connection: number, isLeaving: false };
      this.sessions.set(clientId, made);
    } else {
      session.connection = number;
      session.isPersistent = isPersistent;
    }
    if (isPersistent) this.#world.store.set(clientId, provenUsername);
    else this.#world.store.delete(clientId);
  }

  /** The client of an attempt closes its connection before it is in; it ends now or when it is noticed. */
  abandon(number: number, isNow: boolean): void {
    const clientId = this.attempts.get(number);
    if (clientId === undefined || this.#gone.has(number)) return;
    this.#gone.add(number);
    if (!isNow) return;
    this.#endedEarly.add(number);
    this.claims.attempted(clientId);
  }

  /** The client leaves, or the session of one that is away expires. */
  leave(clientId: string): void {
    const session = this.sessions.get(clientId);
    if (session?.connection !== undefined && session.isPersistent) session.connection = undefined;
    else if (session !== undefined) this.#end(clientId);
  }

  #end(clientId: string): void {
    this.sessions.delete(clientId);
    this.#world.store.delete(clientId);
    this.claims.ended(clientId);
  }

  giveUp(number: number, order: GiveUp, to: ClaimWorker): void {
    const { clientId } = order;
    this.claims.givenUp(clientId);
    const session = this.sessions.get(clientId);
    const isSame = session?.owner === order.provenUsername;
    if (session === undefined || !session.isPersistent || order.cleanStart || !isSame) {
      if (session !== undefined) this.#end(clientId);
      void this.#pause().then(() => this.#tell(() => this.#world.settle(number, 'ended')));
      return;
    }
    session.connection = undefined;
    session.isLeaving = true;
    this.#moves.set(number, { clientId, isHandedOver: false });
    void this.#pause().then(() => this.#handOver(number, to));
  }

  #handOver(number: number, to: ClaimWorker): void {
    const move = this.#moves.get(number);
    if (move === undefined) return;
    const session = this.sessions.get(move.clientId);
    if (session === undefined) {
      this.#moves.delete(number);
      this.#tell(() => this.#world.settle(number, 'ended'));
      return;
    }
    move.isHandedOver = true;
    this.sessions.delete(move.clientId);
    this.#world.post(this, to, () => to.#arrive(number, move.clientId, session));
  }

  #arrive(number: number, clientId: string, session: HeldSession): void {
    this.sessions.set(clientId, { ...session, isLeaving: false });
    this.#tell(() => this.#world.settle(number, 'moved'));
  }

  /** Control asks because the giver is dead: what has not come when its link ends never will. */
  hasArrived(number: number, giver: ClaimWorker): void {
    this.#questions.push({ number, giver });
    this.#answerQuestions();
  }

  linkEnded(other: ClaimWorker): void {
    this.#ended.add(other);
    this.#answerQuestions();
  }

  #answerQuestions(): void {
    for (const { number, giver } of this.#questions) {
      if (!this.#ended.has(giver)) continue;
      // Heard only if nothing has arrived: that was said before.
      this.#tell(() => this.#world.settle(number, new Error('The giver is dead')));
    }
  }

  claimantDied(number: number): void {
    const move = this.#moves.get(number);
    if (move === undefined) return; // It ended, and that has been said.
    this.#moves.delete(number);
    const session = this.sessions.get(move.clientId);
    if (move.isHandedOver) {
      this.#tell(() => this.#world.settle(number, 'moved'));
    } else if (session === undefined) {
      this.#tell(() => this.#world.settle(number, 'ended'));
    } else {
      session.isLeaving = false;
      this.claims.kept(move.clientId);
      this.#tell(() => this.#world.settle(number, new Error('The claimant is dead')));
    }
  }

  restore(owned: readonly string[]): string[] {
    const { store } = this.#world;
    const restored = owned.filter((clientId) => store.has(clientId));
    for (const clientId of restored) {
      const owner = store.get(clientId);
      const session = { isPersistent: true, owner, connection: undefined, isLeaving: false };
      this.sessions.set(clientId, session);
      this.touched.add(clientId);
    }
    this.claims.restored(restored);
    this.isOpen = true;
    return restored;
  }
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
