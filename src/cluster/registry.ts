// Who owns a client id, for all workers of a node. Laws: an id has at most one owner; claims for one id
// are served one after another in the order they came, none is skipped; what was answered to a worker
// is said before anything is asked of it, so whoever is told to give an id up knows that it has it.

import { invariant } from '#base/assert';
import type { Clock, ClockTimer } from '#base/clock';
import { Deque } from '#base/deque';
import type { ClaimRequest } from '#core/peers-port';

const claimsMaxDefault = 100_000;
const deadlineMsDefault = 30_000;

/** What the owner of a client id is told: give it up, to worker `to`. */
export interface GiveUp extends ClaimRequest {
  readonly to: number;
}

/**
 * `ended`: there is no session any more, on disk neither. `moved`: there is one, and the giver has
 * forgotten it; the claimant has it already, or is dead, and its successor will find it in the store.
 */
export type GivenUp = 'ended' | 'moved';

/**
 * A call and no promise: the answer must be on its way to the worker before the next claim in line
 * makes an order for that worker. A promise would speak later than that.
 */
export type ClaimAnswer = (refusal?: Error) => void;

export interface RegistryParts {
  readonly clock: Clock;
  /**
   * Settles always, and says what is true in the end. Rejects when the giver keeps the session: because
   * it died (and the claimant has not got it), or, alive, for the reason given.
   */
  ask(worker: number, order: GiveUp): Promise<GivenUp>;
  /** Told why a live worker could not give up an id. */
  onFault(error: unknown): void;
  /** How long a claim waits for an owner that is down. */
  readonly deadlineMs?: number;
  /** Claims that may wait, of all ids together. */
  readonly claimsMax?: number;
}

interface Claim {
  readonly worker: number;
  /** Which life of that worker: nothing is answered to the next one. */
  readonly life: number;
  readonly request: ClaimRequest;
  readonly answer: ClaimAnswer;
  readonly sinceMs: number;
}

interface Transfer {
  readonly from: number;
  readonly life: number;
  readonly claim: Claim;
  /** The giver said meanwhile that its session has ended. */
  isReleased: boolean;
}

/** What is going on with one id. */
class Line {
  readonly claims = new Deque<Claim>();
  /** The order to give up that is open, with the claim it serves, which is no longer in `claims`. */
  transfer: Transfer | undefined;
  settled: Promise<void> | undefined;
  /** Set while the first claim waits for an owner that is down. */
  wake: ClockTimer | undefined;
}

/**
 *     owners   id → worker            every id: a million of them, so nothing but a small integer
 *     lines    id → transfer, claims  only ids with something going on
 *
 * An id without a line is at rest: nobody has asked for it, or all who asked have been answered. An id
 * with a line has a transfer, or its first claim waits for a worker that is down. Cost: a claim that
 * nobody contests is two lookups; `down`, `up` and `ownedBy` look through everything.
 */
export class Registry {
  readonly #owners = new Map<string, number>();
  readonly #lines = new Map<string, Line>();
  /** Workers that are down, and since when. */
  readonly #down = new Map<number, number>();
  /** How often a worker has died. */
  readonly #lives = new Map<number, number>();
  readonly #parts: RegistryParts;
  readonly #deadlineMs: number;
  readonly #claimsMax: number;
  #waiting = 0;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
    this.#deadlineMs = parts.deadlineMs ?? deadlineMsDefault;
    this.#claimsMax = parts.claimsMax ?? claimsMaxDefault;
  }

  get size(): number {
    return this.#owners.size;
  }

  /** Ids that something is going on with. */
  get busy(): number {
    return this.#lines.size;
  }

  /** Claims that have not been answered. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Whether what this worker claims is not heard: it is dead, or its successor is not let in yet. */
  isDown(worker: number): boolean {
    return this.#down.has(worker);
  }

  ownerOf(clientId: string): number | undefined {
    return this.#owners.get(clientId);
  }

  /** For the successor of a worker, once `down` has resolved: before that an order may still decide. */
  *ownedBy(worker: number): Generator<string, void, undefined> {
    invariant(
      !this.#down.has(worker) || this.#transfersOf(worker).length === 0,
      'nobody asks what a dead worker owned before its last order is settled',
    );
    for (const [clientId, owner] of this.#owners) if (owner === worker) yield clientId;
  }

  /** The sessions that a worker restored when the node started. */
  adopt(worker: number, clientIds: Iterable<string>): void {
    for (const clientId of clientIds) {
      const owner = this.#owners.get(clientId) ?? worker;
      invariant(owner === worker, 'a session is restored by one worker only');
      this.#owners.set(clientId, worker);
    }
  }

  /** Answers when `worker` is the owner, perhaps at once. Never, if it dies before. */
  claim(worker: number, request: ClaimRequest, answer: ClaimAnswer): void {
    if (this.#down.has(worker)) return; // The last words of a dead worker.
    const { clientId } = request;
    const line = this.#lines.get(clientId);
    const owner = this.#owners.get(clientId);
    if (line === undefined && (owner === undefined || owner === worker)) {
      this.#owners.set(clientId, worker);
      answer();
      return;
    }
    if (this.#waiting >= this.#claimsMax) {
      answer(
        new Error(`Cannot claim "${clientId}": ${this.#claimsMax} claims are waiting already`),
      );
      return;
    }
    this.#waiting += 1;
    const sinceMs = this.#parts.clock.monotonicMs();
    const claim: Claim = { worker, life: this.#lifeOf(worker), request, answer, sinceMs };
    if (line === undefined) this.#open(clientId, claim);
    else line.claims.push(claim);
  }

  /**
   * The session of a worker has ended. While an order to that worker is open the two cross: the worker
   * will find nothing to give up and answer `ended`, and the id goes to the claimant. To free it here
   * would give it to a third in between. Only if the worker answers that it keeps the id does the
   * release count, because then it was said later: a promise is heard after what came behind it.
   * What a dead worker said last does not count either: its successor tells what there is.
   */
  release(worker: number, clientId: string): void {
    if (this.#owners.get(clientId) !== worker || this.#down.has(worker)) return;
    const line = this.#lines.get(clientId);
    if (line === undefined) this.#owners.delete(clientId);
    else if (line.transfer !== undefined) line.transfer.isReleased = true;
  }

  /**
   * A worker died. Its ids stay its own, its claims are dropped. Resolves when no order from it or for
   * it is open: only then is it known what its successor has to restore. An id that was on its way to
   * it as a session (`moved`) is its own then, like any other: the store has the session, the giver
   * has forgotten it, so the successor is the one that restores it.
   */
  async down(worker: number): Promise<void> {
    if (!this.#down.has(worker)) {
      this.#down.set(worker, this.#parts.clock.monotonicMs());
      this.#lives.set(worker, this.#lifeOf(worker) + 1);
      for (const [clientId, line] of [...this.#lines]) this.#drop(worker, clientId, line);
    }
    await Promise.all(this.#transfersOf(worker));
  }

  /** The successor of a worker has these sessions; what else the dead one owned is nobody's. */
  up(worker: number, restored: Iterable<string>): void {
    invariant(this.#down.has(worker), 'a worker that comes up was down');
    const kept = new Set<string>();
    for (const clientId of restored) {
      invariant(
        this.#owners.get(clientId) === worker,
        'a successor restores what its worker owned',
      );
      kept.add(clientId);
    }
    for (const clientId of this.ownedBy(worker)) {
      if (!kept.has(clientId)) this.#owners.delete(clientId);
    }
    this.#down.delete(worker);
    for (const [clientId, line] of [...this.#lines]) this.#wake(clientId, line);
  }

  #open(clientId: string, claim: Claim): void {
    const line = new Line();
    line.claims.push(claim);
    this.#lines.set(clientId, line);
    this.#serve(clientId, line);
  }

  /** Serves claims until one has to wait. An answer may end in a call to us: hence the condition. */
  #serve(clientId: string, line: Line): void {
    while (this.#lines.get(clientId) === line) {
      const claim = line.claims.peek();
      if (claim === undefined) {
        this.#lines.delete(clientId);
        return;
      }
      const owner = this.#owners.get(clientId);
      if (owner === undefined || owner === claim.worker) {
        line.claims.shift();
        this.#owners.set(clientId, claim.worker);
        this.#answer(clientId, line, claim);
      } else if (!this.#down.has(owner)) {
        line.claims.shift();
        this.#order(clientId, line, owner, claim);
        return;
      } else {
        const leftMs = this.#patience(owner, claim);
        if (leftMs > 0) {
          line.wake = this.#parts.clock.setTimer(leftMs, () => this.#wake(clientId, line));
          return;
        }
        line.claims.shift();
        const text = `Cannot claim "${clientId}": worker ${owner} is down`;
        this.#answer(clientId, line, claim, new Error(text));
      }
    }
  }

  /** Grows from the first claim of a line to the last, so one timer for the first is enough. */
  #patience(owner: number, claim: Claim): number {
    const downSinceMs = this.#down.get(owner) ?? claim.sinceMs;
    const nowMs = this.#parts.clock.monotonicMs();
    return Math.max(claim.sinceMs, downSinceMs) + this.#deadlineMs - nowMs;
  }

  #answer(clientId: string, line: Line, claim: Claim, refusal?: Error): void {
    this.#waiting -= 1;
    // First, so that a worker that has no use for it any more may release it in the same breath.
    if (line.claims.length === 0) this.#lines.delete(clientId);
    if (this.#isAlive(claim)) claim.answer(refusal);
  }

  #order(clientId: string, line: Line, owner: number, claim: Claim): void {
    const transfer = { from: owner, life: this.#lifeOf(owner), claim, isReleased: false };
    line.transfer = transfer;
    const order = { ...claim.request, to: claim.worker };
    line.settled = Promise.try(() => this.#parts.ask(owner, order))
      .then(
        (outcome) => this.#givenUp(clientId, line, claim, outcome),
        (error: unknown) => this.#notGivenUp(clientId, line, transfer, error),
      )
      .catch((error: unknown) => this.#parts.onFault(error));
  }

  #givenUp(clientId: string, line: Line, claim: Claim, outcome: GivenUp): void {
    line.transfer = undefined;
    if (this.#isAlive(claim) || outcome === 'moved') this.#owners.set(clientId, claim.worker);
    else this.#owners.delete(clientId);
    this.#answer(clientId, line, claim);
    this.#serve(clientId, line);
  }

  #notGivenUp(clientId: string, line: Line, transfer: Transfer, error: unknown): void {
    line.transfer = undefined;
    const { claim, from, life } = transfer;
    const hasDied = this.#lifeOf(from) !== life;
    if (hasDied && this.#isAlive(claim)) {
      line.claims.unshift(claim);
    } else {
      if (!hasDied && transfer.isReleased) this.#owners.delete(clientId);
      if (this.#isAlive(claim)) this.#parts.onFault(error);
      const text = `Cannot claim "${clientId}": worker ${from} did not give it up`;
      this.#answer(clientId, line, claim, new Error(text, { cause: error }));
    }
    this.#serve(clientId, line);
  }

  #drop(worker: number, clientId: string, line: Line): void {
    const claims = [...line.claims];
    line.claims.clear();
    for (const claim of claims) if (claim.worker !== worker) line.claims.push(claim);
    this.#waiting -= claims.length - line.claims.length;
    this.#wake(clientId, line);
  }

  /** Looks at a line again whose first claim waits for an owner that is down. */
  #wake(clientId: string, line: Line): void {
    if (line.wake === undefined) return;
    line.wake.cancel();
    line.wake = undefined;
    this.#serve(clientId, line);
  }

  #transfersOf(worker: number): Promise<void>[] {
    const found: Promise<void>[] = [];
    for (const { transfer, settled } of this.#lines.values()) {
      if (transfer === undefined || settled === undefined) continue;
      if (transfer.from === worker || transfer.claim.worker === worker) found.push(settled);
    }
    return found;
  }

  #isAlive(claim: Claim): boolean {
    return claim.life === this.#lifeOf(claim.worker);
  }

  #lifeOf(worker: number): number {
    return this.#lives.get(worker) ?? 0;
  }
}
