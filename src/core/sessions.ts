// The sessions of this worker by client id: opening, taking over, expiring, ending. Law: a client id
// has at most one session and a session at most one link; the peers are asked first, so that this
// holds across workers too.

import { CallbackTimer, WheelTimer } from '#base/timers';
import type { ZoneSettings } from '#config/settings';
import type { Queued } from './mqueue.ts';
import type { ClaimRequest, Peers } from './peers-port.ts';
import type { Wait } from './ports.ts';
import { Session, type SessionOwner } from './session.ts';
import { SessionOrder } from './session-order.ts';
import { sentUnknown } from './session-journal.ts';
import type { SessionParts } from './session-parts.ts';
import type { Stats } from './stats.ts';
import type { StoredSession } from './store-port.ts';
import type { Subscriptions } from './subscriptions.ts';
import type { Wills } from './wills.ts';

/** How often the queues of absent clients are looked through, and how many at each tick. */
const sweepSeconds = 60;
const sweepSessions = 500;

export interface OpenRequest extends SessionOwner {
  readonly cleanStart: boolean;
}

export class Sessions {
  readonly #byId = new Map<string, Session>();
  /** The same in the order of client ids, for management. */
  readonly order: SessionOrder<Session> = new SessionOrder();
  readonly #parts: SessionParts;
  readonly #subscriptions: Subscriptions;
  readonly #wills: Wills;
  readonly #stats: Stats;
  readonly #peers: Peers;
  readonly #sweep: CallbackTimer;
  #sweeping: Iterator<Session> | undefined;

  constructor(
    parts: SessionParts,
    others: { subscriptions: Subscriptions; wills: Wills; stats: Stats; peers: Peers },
  ) {
    this.#parts = parts;
    this.#subscriptions = others.subscriptions;
    this.#wills = others.wills;
    this.#stats = others.stats;
    this.#peers = others.peers;
    this.#sweep = new CallbackTimer(() => this.sweep());
    parts.timers.schedule(this.#sweep, sweepSeconds * 1000);
  }

  get size(): number {
    return this.#byId.size;
  }

  find(clientId: string): Session | undefined {
    return this.#byId.get(clientId);
  }

  values(): IterableIterator<Session> {
    return this.#byId.values();
  }

  /** The session for a CONNECT: the one there is [MQTT-3.1.2-5], or a new one [MQTT-3.1.2-4]. */
  open(request: OpenRequest): { session: Session; isPresent: boolean } {
    const present = this.#byId.get(request.clientId);
    if (present !== undefined) {
      // [MQTT-3.1.4-3] The client with this id that is still connected has to go.
      present.link?.evict(request.cleanStart ? 'discard' : 'conflict');
      if (request.cleanStart || !isOwner(present, request)) this.terminate(present, 'discard');
      // Evicting may have ended it: a session of expiry 0 ends with its connection.
      else if (this.#byId.get(request.clientId) === present) return this.#resume(present, request);
    }
    const session = new Session(request, this.#parts);
    session.cleanStart = request.cleanStart;
    this.#enter(session);
    this.#list(session);
    return { session, isPresent: false };
  }

  /** The session that `open` would resume. Whoever is connected to it has to go. */
  resumable(request: ClaimRequest): Session | undefined {
    const present = this.#byId.get(request.clientId);
    if (present === undefined || request.cleanStart || !isOwner(present, request)) return undefined;
    present.link?.evict('conflict'); // [MQTT-3.1.4-3]
    // Evicting may have ended it: a session of expiry 0 ends with its connection.
    return this.#byId.get(request.clientId) === present ? present : undefined;
  }

  #enter(session: Session): void {
    this.#byId.set(session.clientId, session);
    this.#stats.move('sessions', 1);
    if (session.isDurable) this.#stats.move('sessions/persistent', 1);
  }

  /** Once it has what it brings: each subscription of one that is listed counts by itself. */
  #list(session: Session): void {
    session.order = this.order;
    this.order.enter(session);
  }

  /**
   * A session that another process left, as one whose client is away. Its messages stay on disk until
   * somebody wants them.
   */
  restore({ head, subscriptions, store }: StoredSession, zone: ZoneSettings): Session | undefined {
    const { nowMs } = this.#parts.timers;
    // One that a crash cut off: its client left now, and was sent we know not what.
    const isCutOff = head.leftAtMs === undefined;
    const leftAtMs = head.leftAtMs ?? nowMs;
    const sentSeq = isCutOff ? sentUnknown : head.sentSeq;
    // The rule of a session does not end with the process: one without expiry lives no longer.
    const left = { ...head, leftAtMs, sentSeq };
    if (head.expirySeconds === 0) {
      store.end();
      return undefined;
    }
    const twin = this.#byId.get(head.clientId);
    if (twin !== undefined) this.terminate(twin, 'discard');
    if (isCutOff) store.update(left);
    const session = new Session({ ...head, zone }, this.#parts, { head: left, store });
    this.#enter(session);
    for (const subscription of subscriptions) this.#subscriptions.restore(session, subscription);
    this.#list(session);
    // A clock that was set back must not lengthen a life.
    this.#expire(session, Math.min(leftAtMs - nowMs, 0) + head.expirySeconds * 1000);
    return session;
  }

  /**
   * A client of another worker claims the id. What is here ends; or it is to move there, and is the
   * answer: it stays until `depart`, without a connection.
   */
  giveUp(request: ClaimRequest): Session | undefined {
    const { clientId, cleanStart } = request;
    const present = this.#byId.get(clientId);
    if (present === undefined) return undefined;
    present.link?.evict(cleanStart ? 'discard' : 'conflict'); // [MQTT-3.1.4-3]
    if (cleanStart || !isOwner(present, request)) this.terminate(present, 'discard');
    // Evicting may have ended it: a session of expiry 0 ends with its connection.
    if (this.#byId.get(clientId) !== present) return undefined;
    this.#stopExpiry(present);
    this.#wills.cancel(clientId);
    return present;
  }

  /** It is not to move after all. */
  keep(session: Session): void {
    if (session.link === null) this.#expire(session, session.expirySeconds * 1000);
  }

  /** It is another worker's from here on, which has it from the store. */
  depart(session: Session): void {
    this.#stopExpiry(session);
    this.#forget(session);
    session.out.abandon();
  }

  /** From another worker, where nothing of it was in the store. */
  receive(owner: SessionOwner, createdAtMs: number): Session {
    const session = new Session(owner, this.#parts, undefined, createdAtMs);
    this.#enter(session);
    this.#list(session);
    this.#expire(session, owner.expirySeconds * 1000);
    return session;
  }

  #forget(session: Session): void {
    this.#byId.delete(session.clientId);
    this.order.leave(session);
    session.order = undefined;
    this.#subscriptions.clear(session);
    this.#stats.move('sessions', -1);
    if (session.isDurable) this.#stats.move('sessions/persistent', -1);
  }

  /** Ends the session of a client id and whoever is connected to it. Waits for the disk if it is there. */
  discard(clientId: string): Wait {
    const present = this.#byId.get(clientId);
    if (present === undefined) return undefined;
    present.link?.evict('discard'); // [MQTT-3.1.4-3]
    this.terminate(present, 'discard');
    return present.journal?.wait;
  }

  #resume(session: Session, request: OpenRequest): { session: Session; isPresent: boolean } {
    this.#stopExpiry(session);
    this.#wills.cancel(session.clientId);
    session.cleanStart = false;
    this.setExpiry(session, request.expirySeconds);
    return { session, isPresent: true };
  }

  setExpiry(session: Session, seconds: number): void {
    const wasDurable = session.isDurable;
    session.expirySeconds = seconds;
    if (session.isDurable !== wasDurable) {
      this.#stats.move('sessions/persistent', wasDurable ? -1 : 1);
    }
  }

  /** The connection of a session has ended. */
  left(session: Session): void {
    session.detach();
    if (this.#byId.get(session.clientId) !== session) return;
    if (!session.isDurable) {
      this.terminate(session, 'closed');
      return;
    }
    session.journal?.stored.update(session.head(this.#parts.timers.nowMs));
    if (!this.#peers.isAlone) this.#subscriptions.connectionChanged(session);
    this.#expire(session, session.expirySeconds * 1000); // [MQTT-3.1.2-23]
  }

  #expire(session: Session, delayMs: number): void {
    if (delayMs === Number.POSITIVE_INFINITY) return;
    session.expiryTimer = new ExpiryTimer(this, session);
    this.#parts.timers.schedule(session.expiryTimer, Math.max(0, delayMs));
  }

  /** The end of a session: its subscriptions, its queue, its timers; its will is due now. */
  terminate(session: Session, reason: string): void {
    if (this.#byId.get(session.clientId) !== session) return;
    this.#stopExpiry(session);
    const unfinished = this.#takeUnfinished(session);
    this.#forget(session);
    session.clear();
    const { nowMs } = this.#parts.timers;
    for (const { message, delivery } of unfinished) {
      if (message.isExpired(nowMs)) session.drop(message, 'expired');
      else delivery.group?.redispatch(message, session);
    }
    this.#peers.release(session.clientId);
    this.#wills.fire(session.clientId);
    this.#parts.hooks.tell('session.terminated', session.clientId, session.username, reason);
  }

  /** Throws when what is on disk alone cannot be read: others are to have it, so the end has to wait. */
  #takeUnfinished(session: Session): Queued[] {
    try {
      return session.takeUnfinished();
    } catch (error) {
      this.#expire(session, sweepSeconds * 1000);
      throw error;
    }
  }

  /** Memory is short: what waits for absent clients without a promise goes. The rest is on disk. */
  relieve(): void {
    for (const session of this.#byId.values()) {
      session.out.park();
      session.out.shedQos0();
    }
  }

  /** Messages of clients that are away expire too. A slice of the sessions at each tick. */
  sweep(): void {
    const { timers } = this.#parts;
    // First of all: whatever reading does, the sweep goes on, though not at once.
    timers.schedule(this.#sweep, sweepSeconds * 1000);
    this.#sweeping ??= this.#byId.values();
    for (let left = sweepSessions; left > 0; left--) {
      const next = this.#sweeping.next();
      if (next.done === true) {
        this.#sweeping = undefined;
        return;
      }
      if (next.value.link !== null || next.value.leaving !== undefined) continue;
      while (next.value.out.sweep(timers.nowMs) && left > 0) left--;
    }
    timers.schedule(this.#sweep, 0);
  }

  #stopExpiry(session: Session): void {
    if (session.expiryTimer !== undefined) this.#parts.timers.cancel(session.expiryTimer);
    session.expiryTimer = undefined;
  }
}

/** No closure and no entry of a map: there may be as many as there are sessions. */
class ExpiryTimer extends WheelTimer {
  readonly #sessions: Sessions;
  readonly #session: Session;

  constructor(sessions: Sessions, session: Session) {
    super();
    this.#sessions = sessions;
    this.#session = session;
  }

  override fire(): void {
    this.#sessions.terminate(this.#session, 'expired');
  }
}

/**
 * The client id decides whose session it is [MQTT-3.1.3-2], but it is not a secret: whoever has proven
 * to be another user, or lives under another mountpoint, must not inherit what was subscribed and
 * queued for somebody else (the class of CVE-2026-6564). A username that nobody checked proves nothing.
 */
function isOwner(
  session: Session,
  request: Pick<OpenRequest, 'provenUsername' | 'mountpoint'>,
): boolean {
  const isSameUser = session.provenUsername === request.provenUsername;
  return isSameUser && session.mountpoint === request.mountpoint;
}
