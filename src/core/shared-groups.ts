// Shared subscriptions: the members of one `$share/<group>/<filter>` (or `$queue/<filter>`) and who
// of them gets the next message. Strategy state lives in the group, so that round robin is round
// robin over all members whoever publishes. Somebody is chosen even when nobody is connected.

import type { SharedStrategy } from '#config/settings';
import type { Delivery, Regroup, Subscriber } from './delivery.ts';
import type { Message } from './message.ts';
import type { Wait } from './ports.ts';
import { unpromised } from './wait.ts';

type Pick = (group: SharedGroup, message: Message) => Delivery;

const strategies: Record<SharedStrategy, Pick> = {
  random: (group) => group.memberAt(Math.floor(Math.random() * group.size)),
  round_robin: (group) => group.memberAt(group.turn++),
  sticky: (group) => {
    if (group.stuck === undefined || !group.has(group.stuck)) {
      group.stuck = group.memberAt(Math.floor(Math.random() * group.size)).session;
    }
    return group.deliveryOf(group.stuck) as Delivery;
  },
  hash: (group, message) => group.memberAt(hashOf(message.from.clientId)),
};

export interface SharedOptions {
  readonly strategy: SharedStrategy;
  /** QoS 1 and 2 go to a member that is connected and has room, while there is one. */
  readonly needsReady: boolean;
}

export class SharedGroup implements Regroup {
  readonly name: string;
  readonly filter: string;
  readonly #options: SharedOptions;
  readonly #members: Delivery[] = [];
  turn = 0;
  stuck: Subscriber | undefined;

  constructor(name: string, filter: string, options: SharedOptions) {
    this.name = name;
    this.filter = filter;
    this.#options = options;
  }

  get size(): number {
    return this.#members.length;
  }

  memberAt(index: number): Delivery {
    return this.#members[index % this.#members.length] as Delivery;
  }

  deliveryOf(session: Subscriber): Delivery | undefined {
    return this.#members.find((member) => member.session === session);
  }

  has(session: Subscriber): boolean {
    return this.deliveryOf(session) !== undefined;
  }

  /** A member that subscribes again keeps its place. */
  set(delivery: Delivery): void {
    const at = this.#members.findIndex((member) => member.session === delivery.session);
    if (at >= 0) this.#members[at] = delivery;
    else this.#members.push(delivery);
  }

  delete(session: Subscriber): void {
    const at = this.#members.findIndex((member) => member.session === session);
    if (at < 0) return;
    this.#members.splice(at, 1);
    if (at < this.turn % (this.#members.length + 1)) this.turn--;
    if (this.stuck === session) this.stuck = undefined;
  }

  dispatch(message: Message, isHandedOn = false): Wait {
    // Members may leave while a message is under way to its receivers.
    if (this.size === 0) return undefined;
    const chosen = this.#choose(message);
    return chosen.session.deliver(message, chosen, isHandedOn);
  }

  /** A message that a leaving member never finished goes to another one, if there is one. */
  redispatch(message: Message, from: Subscriber): void {
    if (this.#members.some((member) => member.session !== from)) {
      this.delete(from);
      unpromised(this.dispatch(message, true));
    }
  }

  #choose(message: Message): Delivery {
    const chosen = strategies[this.#options.strategy](this, message);
    const mustBeReady = this.#options.needsReady && message.qos > 0;
    // A connected member is better than an absent one; an absent one is better than a loss.
    if (mustBeReady ? chosen.session.isReady : chosen.session.link !== null) return chosen;
    const from = this.#members.indexOf(chosen);
    for (let i = 1; i < this.#members.length; i++) {
      const other = this.memberAt(from + i);
      if (mustBeReady ? other.session.isReady : other.session.link !== null) {
        this.turn += i;
        return other;
      }
    }
    return chosen;
  }
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return hash >>> 0;
}
