// Shared subscriptions: the members of one `$share/<group>/<filter>` (or `$queue/<filter>`), those in
// other workers among them, and who gets the next message. All workers have the same list and take
// turns together (group-memory.ts), so that round robin is round robin over all members whoever
// publishes. Somebody is chosen even when nobody is connected.

import { textHash } from '#base/text-hash';
import type { SharedStrategy } from '#config/settings';
import type { Delivery, Regroup, Subscriber } from './delivery.ts';
import { type GroupSlot, LocalSlot } from './group-memory.ts';
import { WaitingRoom } from './held-messages.ts';
import type { Message, Passage } from './message.ts';
import type { Peer } from './peers-port.ts';
import type { Wait } from './ports.ts';
import { RemoteMember } from './remote-member.ts';
import { unpromised } from './wait.ts';

type Pick = (group: SharedGroup, message: Message) => Delivery;

const strategies: Record<SharedStrategy, Pick> = {
  random: (group) => group.memberAt(Math.floor(Math.random() * group.size)),
  round_robin: (group) => group.memberAt(group.slot.nextTurn()),
  sticky: (group) => group.stuckMember(),
  hash: (group, message) => group.memberAt(textHash(message.from.clientId)),
};

export interface SharedOptions {
  readonly strategy: SharedStrategy;
  /** QoS 1 and 2 go to a member that is connected and has room, while there is one. */
  readonly needsReady: boolean;
  /** Whether somebody of a group has stored a publish before. */
  readonly hasPassed?: (passage: Passage, group: Regroup) => boolean | Promise<void>;
}

interface Member {
  delivery: Delivery;
  readonly joinNo: number;
}

export class SharedGroup implements Regroup {
  readonly name: string;
  readonly filter: string;
  readonly slot: GroupSlot;
  readonly #options: SharedOptions;
  /** In the order of their join numbers. */
  readonly #members: Member[] = [];
  #joined = 0;

  constructor(
    name: string,
    filter: string,
    options: SharedOptions,
    slot: GroupSlot = new LocalSlot(),
  ) {
    this.name = name;
    this.filter = filter;
    this.slot = slot;
    this.#options = options;
  }

  get size(): number {
    return this.#members.length;
  }

  memberAt(index: number): Delivery {
    return (this.#members[index % this.#members.length] as Member).delivery;
  }

  deliveryOf(session: Subscriber): Delivery | undefined {
    return this.#members.find(({ delivery }) => delivery.session === session)?.delivery;
  }

  has(session: Subscriber): boolean {
    return this.deliveryOf(session) !== undefined;
  }

  joinNoOf(clientId: string): number | undefined {
    return this.#members.find((member) => nameOf(member) === clientId)?.joinNo;
  }

  /** Members whose sessions are here, with their join numbers. */
  *locals(): Generator<readonly [delivery: Delivery, joinNo: number]> {
    for (const { delivery, joinNo } of this.#members) {
      if (!isRemote(delivery)) yield [delivery, joinNo];
    }
  }

  /** A message may be stored by others than this worker now: elsewhere, or here when its session has come. */
  get mayCross(): boolean {
    return this.#members.some(
      ({ delivery }) => isRemote(delivery) || delivery.session instanceof WaitingRoom,
    );
  }

  get hasLocals(): boolean {
    return this.#members.some(({ delivery }) => !isRemote(delivery));
  }

  sessionOf(clientId: string): Subscriber | undefined {
    return this.#members.find((member) => nameOf(member) === clientId)?.delivery.session;
  }

  /** The members that another worker has. */
  remotesOf(peer: Peer): RemoteMember[] {
    return this.#members.flatMap(({ delivery: { session } }) =>
      session instanceof RemoteMember && session.peer === peer ? [session] : [],
    );
  }

  /** The peers of all members that are not here. */
  get peerIndexes(): number[] {
    return this.#members.flatMap(({ delivery: { session } }) =>
      session instanceof RemoteMember ? [session.peer.index] : [],
    );
  }

  /**
   * A member that subscribes again, or whose session has moved, keeps its place. What is said of a
   * place that it had before comes late, from a worker where it was then.
   */
  set(delivery: Delivery, joinNo?: number): void {
    const { clientId } = delivery.session;
    const at = this.#members.findIndex((member) => nameOf(member) === clientId);
    const known = this.#members[at];
    const place = joinNo ?? known?.joinNo ?? this.#joined + 1;
    if (known !== undefined && place < known.joinNo) return;
    if (known?.joinNo === place) {
      known.delivery = delivery;
      return;
    }
    if (at >= 0) this.#members.splice(at, 1);
    this.#joined = Math.max(this.#joined, place);
    const behind = this.#members.findIndex((member) => member.joinNo > place);
    const member = { delivery, joinNo: place };
    this.#members.splice(behind < 0 ? this.#members.length : behind, 0, member);
  }

  delete(session: Subscriber): void {
    const at = this.#members.findIndex(({ delivery }) => delivery.session === session);
    if (at < 0) return;
    this.#members.splice(at, 1);
    // Whose turn is next stays next. The worker that has the member does it for all.
    const isOurs = !(session instanceof RemoteMember);
    if (isOurs && at < this.slot.turn % (this.#members.length + 1)) this.slot.skip(-1);
  }

  stuckMember(): Delivery {
    const { stuck } = this.slot;
    const known = this.#members.find(({ joinNo }) => joinNo === stuck);
    if (known !== undefined) return known.delivery;
    const chosen = this.#members[Math.floor(Math.random() * this.size)] as Member;
    const agreed = this.slot.stick(stuck, chosen.joinNo);
    return (this.#members.find(({ joinNo }) => joinNo === agreed) ?? chosen).delivery;
  }

  dispatch(message: Message, isHandedOn = false): Wait {
    // Members may leave while a message is under way to its receivers.
    if (this.size === 0) return undefined;
    const had = message.mayBeHad && this.#hasPassed(message);
    if (had !== false) return had === true ? undefined : had;
    const chosen = this.#choose(message);
    return chosen.session.deliver(message, chosen, isHandedOn);
  }

  #hasPassed({ passage }: Message): boolean | Promise<void> {
    if (passage === undefined) return false;
    try {
      return this.#options.hasPassed?.(passage, this) ?? false;
    } catch (error) {
      // Who published it must not believe that somebody has it.
      return Promise.reject(error as Error);
    }
  }

  /**
   * From another worker, which has chosen this member. Where it is gone, or cannot take the message
   * any more, somebody else here does, and only without such a one somebody elsewhere.
   */
  deliverTo(clientId: string, message: Message, isHandedOn: boolean): Wait {
    const chosen = this.landing(clientId, message);
    return chosen?.session.deliver(message, chosen, isHandedOn);
  }

  /** Who gets what another worker has sent for this member. */
  landing(clientId: string, message: Message): Delivery | undefined {
    const member = this.#members.find((one) => nameOf(one) === clientId)?.delivery;
    const isHere = member !== undefined && !isRemote(member);
    if (isHere && this.#canTake(member, message)) return member;
    // To send it on would be to choose by what others may not know either.
    return this.#localFor(message) ?? (isHere ? member : this.#anyone());
  }

  #anyone(): Delivery | undefined {
    const connected = this.#members.find(({ delivery }) => delivery.session.isConnected);
    return (connected ?? this.#members[0])?.delivery;
  }

  /**
   * A message that a leaving member never finished goes to another one, if there is one; to one here
   * first, because then the store has both in one batch: that it came and that it went. It goes without
   * its passage: under that name the group has had it, and the packet id may be another publish's now.
   */
  redispatch(left: Message, from: Subscriber): void {
    if (!this.#members.some(({ delivery }) => delivery.session !== from)) return;
    this.delete(from);
    const message = left.passage === undefined ? left : left.with({});
    let chosen = this.#choose(message);
    if (isRemote(chosen)) chosen = this.#localFor(message) ?? chosen;
    unpromised(chosen.session.deliver(message, chosen, true));
  }

  #localFor(message: Message): Delivery | undefined {
    return this.#members.find(
      ({ delivery }) => !isRemote(delivery) && this.#canTake(delivery, message),
    )?.delivery;
  }

  #canTake({ session }: Delivery, message: Message): boolean {
    const mustBeReady = this.#options.needsReady && message.qos > 0;
    return mustBeReady ? session.isReady : session.isConnected;
  }

  #choose(message: Message): Delivery {
    const chosen = strategies[this.#options.strategy](this, message);
    const steps = this.#stepsFrom(chosen, message);
    if (steps === 0) return chosen;
    this.slot.skip(steps);
    return this.#behind(chosen, steps);
  }

  /**
   * How far behind the chosen one somebody stands who is better; 0: nobody. A connected member is
   * better than an absent one; an absent one is better than a loss.
   */
  #stepsFrom(chosen: Delivery, message: Message): number {
    if (this.#canTake(chosen, message)) return 0;
    for (let i = 1; i < this.#members.length; i++) {
      if (this.#canTake(this.#behind(chosen, i), message)) return i;
    }
    return 0;
  }

  #behind(chosen: Delivery, steps: number): Delivery {
    return this.memberAt(this.#members.findIndex(({ delivery }) => delivery === chosen) + steps);
  }

  get strategy(): SharedStrategy {
    return this.#options.strategy;
  }

  /** Who would be chosen now, without choosing: one, or several of whom chance takes one. */
  foresee(message: Message): readonly Delivery[] {
    const sure = this.#sureMember(message);
    if (sure !== undefined) return [this.#behind(sure, this.#stepsFrom(sure, message))];
    const all = this.#members.map(({ delivery }) => delivery);
    const able = all.filter((delivery) => this.#canTake(delivery, message));
    return able.length > 0 ? able : all;
  }

  #sureMember(message: Message): Delivery | undefined {
    const { strategy } = this.#options;
    if (this.size === 0) return undefined;
    if (strategy === 'round_robin') return this.memberAt(this.slot.turn);
    if (strategy === 'hash') return strategies.hash(this, message);
    const { stuck } = this.slot;
    if (strategy !== 'sticky') return undefined;
    return this.#members.find(({ joinNo }) => joinNo === stuck)?.delivery;
  }
}

function nameOf({ delivery }: Member): string {
  return delivery.session.clientId;
}

function isRemote({ session }: Delivery): boolean {
  return session instanceof RemoteMember;
}
