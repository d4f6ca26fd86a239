// A session goes from one worker to another while messages for it are under way from all of them. Each
// worker P changes over from the old place B to the new place A at one instant, and says so on both of
// its links, which keep their order:
//
//   B → A   offer      head and subscriptions; the session stays at B, without a connection
//   A → P   arrive     behind A's subscriptions, which a waiting room holds in the session's place
//   P → B   gone       what P sends from here on is A's: B holds it aside, unacknowledged
//   P → A   here       what P sent before is B's: A has let it pass by
//   B → A   handover   all have gone, B has flushed and forgotten the session
//   A → B   arrived    all are here; A has it from the store, and what waited was put into it
//
// Law: every message is put into the session exactly once, and nothing is acknowledged before. Until A
// has it, everybody goes on sending to B as well. So if A dies on the way, B takes up what it held
// aside, and if B dies, its successor is sent again what B held unacknowledged.

import { randomHex } from '#base/ids';
import type { Broker } from '#core/broker';
import { HeldMessages, WaitingRoom } from '#core/held-messages';
import { type Message, publishedHere } from '#core/message';
import type { MemberState } from '#core/peers-port';
import type { Wait } from '#core/ports';
import { packBaggage, unpackBaggage } from '#core/session-baggage';
import type { Session } from '#core/session';
import type { Store } from '#core/store-port';
import { storedDelivery } from '#core/stored-delivery';
import type { Subscription } from '#core/subscription';
import { deliveryOf } from '#core/subscriptions';
import { bothWaits } from '#core/wait';
import { pack, type PackedBaggage, unpack } from './packed-baggage.ts';
import type { WorkerPeer } from './worker-peer.ts';
import { type Offer, packHead, unpackHead, type Word } from './words.ts';

interface Leaving {
  /** Tells this move from others of the same session, whose words may come late. */
  readonly move: string;
  readonly session: Session;
  readonly to: WorkerPeer;
  readonly held: HeldMessages;
  readonly done: PromiseWithResolvers<void>;
  /** flushing: nothing more comes; handed over: the store has all of it, and another may write there. */
  state: 'waiting' | 'flushing' | 'handed over';
}

interface Arriving {
  readonly offer: Offer;
  readonly from: WorkerPeer;
  readonly room: WaitingRoom;
  baggage: PackedBaggage | undefined;
  /** It is here, or will not be. */
  readonly over: PromiseWithResolvers<void>;
}

export interface MovesHome {
  readonly broker: Broker;
  readonly store: Store;
  readonly index: number;
  readonly peers: readonly WorkerPeer[];
  /** Over when those have on disk what was said to them. */
  readonly flushedBy: (peers: readonly WorkerPeer[]) => Wait;
}

/** A disk that takes nothing for so long keeps the session where it is. */
const flushMsMax = 10_000;

export class SessionMoves {
  readonly #home: MovesHome;
  readonly #name = randomHex(4);
  #moves = 0;
  readonly #leaving = new Map<string, Leaving>();
  readonly #arriving = new Map<string, Arriving>();

  constructor(home: MovesHome) {
    this.#home = home;
  }

  /** Resolves when the session is with the other worker or with its successor. Rejects: it is here. */
  send(session: Session, to: WorkerPeer): Promise<void> {
    const { clientId } = session;
    if (!to.isUp)
      return Promise.reject(new Error(`Cannot move a session: worker ${to.index} is down`));
    const held = new HeldMessages();
    const done = Promise.withResolvers<void>();
    session.leaving = held;
    const move = `${this.#name}.${++this.#moves}`;
    this.#leaving.set(clientId, { move, session, to, held, done, state: 'waiting' });
    for (const peer of this.#home.peers) if (!peer.isUp) held.switchOver(peer.index);
    to.say(['offer', this.#offerOf(session, move)]);
    return done.promise;
  }

  #offerOf(session: Session, move: string): Offer {
    const { filters, timers } = this.#home.broker.core;
    const { clientId, journal } = session;
    const subscriptions = [...session.subscriptions.values()];
    const joinNos: Record<string, number> = {};
    for (const { filter, routed, group } of subscriptions) {
      const joinNo = group && filters.group(routed, group)?.joinNoOf(clientId);
      if (joinNo !== undefined && joinNo !== '') joinNos[filter] = joinNo;
    }
    return {
      clientId,
      move,
      no: journal?.stored.no,
      isStored: session.isStored,
      head: packHead(session.head(timers.nowMs)),
      subscriptions,
      joinNos,
    };
  }

  onWord(peer: WorkerPeer, word: Word): void {
    if (word[0] === 'offer') this.#onOffer(peer, word[1]);
    else if (word[0] === 'arrive') this.#onArrive(peer, word[1], word[2], word[3]);
    else if (word[0] === 'gone') this.#onGone(this.#leavingOf(word[1], word[2]), peer.index);
    else if (word[0] === 'here') this.#onHere(this.#arrivingOf(word[1], word[2]), peer.index);
    else if (word[0] === 'handover') this.#onHandover(word[1], word[2], word[3]);
    else if (word[0] === 'arrived') this.#finish(this.#leavingOf(word[1], word[2]));
    else if (word[0] === 'stay') this.#giveIn(this.#arrivingOf(word[1], word[2]));
    else if (word[0] === 'returned') this.#onReturned(word[1], word[2]);
    else if (word[0] === 'disown') this.#disownOf(word[1]);
  }

  #leavingOf(clientId: string, move: string): Leaving | undefined {
    const leaving = this.#leaving.get(clientId);
    return leaving?.move === move ? leaving : undefined;
  }

  #arrivingOf(clientId: string, move: string): Arriving | undefined {
    const arriving = this.#arriving.get(clientId);
    return arriving?.offer.move === move ? arriving : undefined;
  }

  #onOffer(from: WorkerPeer, offer: Offer): void {
    const { clientId, move } = offer;
    const { filters } = this.#home.broker.core;
    const room = new WaitingRoom(clientId, offer.isStored);
    const over = Promise.withResolvers<void>();
    this.#arriving.set(clientId, { offer, from, room, baggage: undefined, over });
    for (const subscription of offer.subscriptions) {
      const { routed, group, filter } = subscription;
      void filters.add(routed, group, deliveryOf(room, subscription), offer.joinNos[filter]);
    }
    room.held.switchOver();
    for (const peer of this.#home.peers) {
      if (peer.isUp) peer.say(['arrive', clientId, move, from.index]);
      else room.held.switchOver(peer.index);
    }
    from.say(['gone', clientId, move]);
  }

  /** In one turn for both: nothing of ours goes out in between. */
  #onArrive(to: WorkerPeer, clientId: string, move: string, from: number): void {
    to.say(['here', clientId, move]);
    if (from === this.#home.index) this.#onGone(this.#leavingOf(clientId, move), publishedHere);
    else this.#peerAt(from)?.say(['gone', clientId, move]);
  }

  #peerAt(index: number): WorkerPeer | undefined {
    return this.#home.peers.find((peer) => peer.index === index);
  }

  #onGone(leaving: Leaving | undefined, worker: number): void {
    if (leaving === undefined) return;
    leaving.held.switchOver(worker);
    if (leaving.state === 'waiting' && this.#isComplete(leaving.held)) this.#handOver(leaving);
  }

  #onHere(arriving: Arriving | undefined, worker: number): void {
    arriving?.room.held.switchOver(worker);
    this.#openIfAllHere(arriving);
  }

  #handOver(leaving: Leaving): void {
    leaving.state = 'flushing';
    const { store, broker } = this.#home;
    const { clock, flusher } = broker.core;
    const { session, to, move } = leaving;
    const { clientId } = session;
    const late = clock.setTimer(flushMsMax, () => {
      to.say(['stay', clientId, move]);
      this.#comeBack(leaving, 'the store takes nothing');
    });
    // What was refused is not the session's; what cannot be taken back is tried until it is there.
    void this.#letGoOfPublishes(session)
      .then(() => store.lastingFlushed())
      .then(() => {
        late.cancel();
        if (this.#leaving.get(clientId) !== leaving) return;
        leaving.state = 'handed over';
        const baggage = pack(packBaggage(session, flusher.pressure.held));
        // Its publishes are released, or given up, where it goes.
        session.awaitingRel.clear();
        to.say(['handover', clientId, move, baggage]);
      });
  }

  /**
   * What its client has published with QoS 2 and was not confirmed it repeats where it is now. By then our
   * copies are on disk, where they are known by their passage, or are nowhere: neither sent again from
   * here nor stored later, by a session that is on its way itself. NOTE: nothing is let go of after the
   * wait; the session may have stayed, and its client may be here and have published since.
   */
  async #letGoOfPublishes(session: Session): Promise<void> {
    const { journal } = session;
    if (journal === undefined) return;
    const { no } = journal.stored;
    // First: what is let go of must not look like what has been stored.
    session.leaveTaken();
    const { peers, flushedBy } = this.#home;
    const up = peers.filter(({ isUp }) => isUp);
    this.#disownOf(no);
    for (const peer of up) peer.say(['disown', no]);
    await flushedBy(up);
  }

  /** Also what we have of it for others: where it came from elsewhere, it was for a member that has moved. */
  #disownOf(sessionNo: number): void {
    this.#disown(({ passage }) => passage?.sessionNo === sessionNo);
    for (const peer of this.#home.peers) peer.disown(sessionNo);
  }

  #disown(isDisowned: (message: Message) => boolean): void {
    for (const { room } of this.#arriving.values()) room.held.disown(isDisowned);
    for (const { held } of this.#leaving.values()) held.disown(isDisowned);
  }

  /** The other worker has it, or its successor will find it in the store. */
  #finish(leaving: Leaving | undefined): void {
    if (leaving === undefined) return;
    const { session, held, done } = leaving;
    this.#leaving.delete(session.clientId);
    this.#home.broker.core.sessions.depart(session);
    held.forget();
    done.resolve();
  }

  #isComplete(held: HeldMessages): boolean {
    return held.switchedCount === this.#home.peers.length + 1;
  }

  #onHandover(clientId: string, move: string, baggage: PackedBaggage): void {
    const arriving = this.#arrivingOf(clientId, move);
    if (arriving === undefined) return;
    arriving.baggage = baggage;
    this.#openIfAllHere(arriving);
  }

  #openIfAllHere(arriving: Arriving | undefined): void {
    if (arriving?.baggage === undefined || !this.#isComplete(arriving.room.held)) return;
    const { room, offer, from, baggage, over } = arriving;
    const { clientId, move } = offer;
    this.#arriving.delete(clientId);
    const session = this.#open(offer, room);
    if (session !== undefined) {
      const { filters, flusher } = this.#home.broker.core;
      const groupOf = filters.group.bind(filters);
      const deliveryFor = storedDelivery.bind(undefined, session);
      unpackBaggage(session, unpack(baggage), flusher.pressure.held, (options) =>
        deliveryFor(options, groupOf),
      );
      room.held.deliverTo(session);
    }
    from.say(['arrived', clientId, move]);
    over.resolve();
  }

  /** Undefined: none is under way. */
  arrival(clientId: string): Promise<void> | undefined {
    return this.#arriving.get(clientId)?.over.promise;
  }

  /** The session takes the place of its waiting room: first in, then out, so that nobody is told. */
  #open(offer: Offer, room: WaitingRoom): Session | undefined {
    const { broker, store } = this.#home;
    const { sessions, subscriptions: all } = broker.core;
    const head = unpackHead(offer.head);
    const subscriptions = offer.subscriptions.map(withAllFields);
    const zone = broker.zoneOf(head);
    let session: Session | undefined;
    if (offer.no !== undefined) {
      session = sessions.restore(
        { head, subscriptions, store: store.adoptSession(offer.no) },
        zone,
      );
    } else {
      session = sessions.receive({ ...head, zone }, head.createdAtMs);
      for (const subscription of subscriptions) all.restore(session, subscription);
    }
    this.#closeRoom(offer, room);
    return session;
  }

  #closeRoom(offer: Offer, room: WaitingRoom): void {
    const { filters } = this.#home.broker.core;
    for (const { routed, group } of offer.subscriptions) filters.remove(routed, group, room);
  }

  /**
   * A worker died: whatever it had not said it says no more, and what its clients had published with
   * QoS 2 they repeat.
   */
  peerDown(peer: WorkerPeer): void {
    this.#disown(({ passage, via }) => passage !== undefined && via === peer.index);
    for (const leaving of [...this.#leaving.values()]) {
      if (leaving.to !== peer) this.#onGone(leaving, peer.index);
      else if (leaving.state === 'handed over') this.#finish(leaving);
      else this.#comeBack(leaving, 'the worker that it was for has died');
    }
    for (const arriving of [...this.#arriving.values()]) {
      if (arriving.from !== peer || arriving.baggage !== undefined) {
        this.#onHere(arriving, peer.index);
      } else {
        this.#returnMembers(arriving);
        this.#giveIn(arriving);
      }
    }
  }

  /** It stays here after all. */
  #comeBack({ session, held, done }: Leaving, why: string): void {
    this.#leaving.delete(session.clientId);
    session.leaving = undefined;
    // To its shared subscriptions it was a member over there since that worker said so.
    const { subscriptions: all } = this.#home.broker.core;
    let told: Wait;
    for (const one of session.subscriptions.values()) {
      if (one.group) told = bothWaits(told, all.restore(session, one).wait);
    }
    held.deliverTo(session);
    // The successor of that worker does not have it: whoever heard that first would know of no member.
    const fail = (): void => done.reject(new Error(`Cannot move a session: ${why}`));
    if (told === undefined) fail();
    else told.then(fail, fail);
  }

  /**
   * It does not come. Its old worker, or the successor of that, is sent what waits here as well; only
   * what came through a shared subscription was for us alone.
   */
  #giveIn(arriving: Arriving | undefined): void {
    if (arriving === undefined) return;
    const { offer, room, over } = arriving;
    const { filters } = this.#home.broker.core;
    this.#arriving.delete(offer.clientId);
    this.#closeRoom(offer, room);
    room.held.release((message, { group }) =>
      group === undefined ? undefined : filters.group(group.filter, group.name)?.dispatch(message),
    );
    over.resolve();
  }

  /** The member is with a worker that is down: it must not be missing in the meantime. */
  #returnMembers({ offer, from }: Arriving): void {
    const { clientId, isStored, joinNos } = offer;
    for (const { filter, routed, group } of offer.subscriptions) {
      const joinNo = joinNos[filter];
      if (group === undefined || joinNo === undefined) continue;
      const member = { group, filter: routed, clientId, joinNo, isStored, isConnected: false };
      this.#onReturned(from.index, member);
      for (const peer of this.#home.peers) peer.say(['returned', from.index, member]);
    }
  }

  #onReturned(index: number, member: MemberState): void {
    const peer = this.#peerAt(index);
    if (peer !== undefined) this.#home.broker.core.filters.setMember(peer, member);
  }
}

/** JSON leaves out what is undefined. */
function withAllFields(subscription: Subscription): Subscription {
  const { group, subscriptionId } = subscription;
  return { ...subscription, group, subscriptionId };
}
