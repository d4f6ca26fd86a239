// When a worker of a test that has died is there again: its successor and all others know of each
// other. Nobody may connect to it before, as nobody could in a process: it would not listen yet. It is
// seen by something that each worker wants and the successor has to hear of.

import type { Broker } from '#core/broker';
import { WaitingRoom } from '#core/held-messages';
import { deliveryOf } from '#core/subscriptions';

export class Recovery {
  readonly #brokers: () => readonly Broker[];
  readonly #dead = new WeakSet<Broker>();
  /** What a worker is recognised by that is coming back. */
  readonly #coming = new Map<number, Probe>();
  #probes = 0;

  constructor(brokers: () => readonly Broker[]) {
    this.#brokers = brokers;
  }

  died(index: number): void {
    const broker = this.#brokers()[index];
    if (broker !== undefined) this.#dead.add(broker);
    this.#coming.get(index)?.remove();
    this.#coming.set(index, new Probe(`probe/${this.#probes++}`));
  }

  isUp(index: number): boolean {
    const probe = this.#coming.get(index);
    const brokers = this.#brokers();
    const broker = brokers[index];
    if (probe === undefined || broker === undefined) return true;
    const living = brokers.filter((one) => !this.#dead.has(one));
    if (!living.includes(broker)) return false;
    for (const one of living) probe.plant(one);
    const knowsAll = ({ core }: Broker): boolean =>
      core.router.routeTo(probe.topic).peers.length === brokers.length - 1;
    if (living.length < brokers.length || !brokers.every(knowsAll)) return false;
    probe.remove();
    this.#coming.delete(index);
    return true;
  }

  get isOver(): boolean {
    return [...this.#coming.keys()].every((index) => this.isUp(index));
  }
}

/** A subscription of nobody, in every worker. */
class Probe {
  readonly topic: string;
  readonly #room = new WaitingRoom('probe', false);
  readonly #planted = new Set<Broker>();

  constructor(topic: string) {
    this.topic = topic;
  }

  plant(broker: Broker): void {
    if (this.#planted.has(broker)) return;
    this.#planted.add(broker);
    const { topic } = this;
    const options = {
      qos: 0,
      noLocal: false,
      retainAsPublished: false,
      retainHandling: 0,
    } as const;
    const names = { filter: topic, routed: topic, group: undefined, subscriptionId: undefined };
    void broker.core.filters.add(
      topic,
      undefined,
      deliveryOf(this.#room, { ...options, ...names }),
    );
  }

  remove(): void {
    for (const { core } of this.#planted) core.filters.remove(this.topic, undefined, this.#room);
  }
}
