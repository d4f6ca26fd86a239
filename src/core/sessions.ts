// The sessions of this worker by client id: opening, taking over, expiring, ending. Law: a client id
// has at most one session and a session at most one link; the peers are asked first, so that this
// holds across workers too.

import { CallbackTimer } from '#base/timers';
import type { Peers } from './ports.ts';
import { Session, type SessionOwner, type SessionParts } from './session.ts';
import type { Stats } from './stats.ts';
import type { Subscriptions } from './subscriptions.ts';
import type { Wills } from './wills.ts';

export interface OpenRequest extends SessionOwner {
  readonly cleanStart: boolean;
}

export class Sessions {
  readonly #byId = new Map<string, Session>();
  readonly #expiring = new Map<Session, CallbackTimer>();
  readonly #parts: SessionParts;
  readonly #subscriptions: Subscriptions;
  readonly #wills: Wills;
  readonly #stats: Stats;
  readonly #peers: Peers;

  constructor(
    parts: SessionParts,
    others: { subscriptions: Subscriptions; wills: Wills; stats: Stats; peers: Peers },
  ) {
    this.#parts = parts;
    this.#subscriptions = others.subscriptions;
    this.#wills = others.wills;
    this.#stats = others.stats;
    this.#peers = others.peers;
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
    this.#byId.set(session.clientId, session);
    this.#stats.move('sessions', 1);
    if (session.isDurable) this.#stats.move('sessions/persistent', 1);
    return { session, isPresent: false };
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
    if (session.expirySeconds === Number.POSITIVE_INFINITY) return;
    const timer = new CallbackTimer(() => this.terminate(session, 'expired'));
    this.#expiring.set(session, timer);
    this.#parts.timers.schedule(timer, session.expirySeconds * 1000); // [MQTT-3.1.2-23]
  }

  /** The end of a session: its subscriptions, its queue, its timers; its will is due now. */
  terminate(session: Session, reason: string): void {
    if (this.#byId.get(session.clientId) !== session) return;
    this.#byId.delete(session.clientId);
    this.#stopExpiry(session);
    const unfinished = session.takeUnfinished();
    this.#subscriptions.clear(session);
    const wasDurable = session.isDurable;
    session.clear();
    const { nowMs } = this.#parts.timers;
    for (const { message, delivery } of unfinished) {
      if (message.isExpired(nowMs)) session.drop(message, 'expired');
      else delivery.group?.redispatch(message, session);
    }
    this.#stats.move('sessions', -1);
    if (wasDurable) this.#stats.move('sessions/persistent', -1);
    this.#peers.release(session.clientId);
    this.#wills.fire(session.clientId);
    this.#parts.hooks.tell('session.terminated', session.clientId, session.username, reason);
  }

  #stopExpiry(session: Session): void {
    const timer = this.#expiring.get(session);
    if (timer !== undefined) this.#parts.timers.cancel(timer);
    this.#expiring.delete(session);
  }
}

/**
 * The client id decides whose session it is [MQTT-3.1.3-2], but it is not a secret: whoever has proven
 * to be another user, or lives under another mountpoint, must not inherit what was subscribed and
 * queued for somebody else (the class of CVE-2026-6564). A username that nobody checked proves nothing.
 */
function isOwner(session: Session, request: OpenRequest): boolean {
  const isSameUser = session.provenUsername === request.provenUsername;
  return isSameUser && session.mountpoint === request.mountpoint;
}
