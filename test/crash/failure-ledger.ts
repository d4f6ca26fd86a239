// Who is owed what while the store fails. Laws: what was accepted arrives at everyone to whom the filter
// was granted when it was sent, with QoS 2 once; what was refused may arrive or not, with QoS 2 at most
// once; a shared subscription is one receiver; what one publisher sent on one topic keeps its order.

import { matches } from '#topics/match';
import type { QoS } from '#wire/packet';
import type { Sent, StubbornClient } from './stubborn-client.ts';

interface Debt {
  readonly sent: Sent;
  readonly publisher: string;
  /** Names of groups and of clients that are not in one, with the QoS of the delivery. */
  readonly to: ReadonlyMap<string, QoS>;
}

const shared = /^\$share\/([^/]+)\/(.+)$/;

export class FailureLedger {
  readonly #debts: Debt[] = [];
  readonly #receivers: readonly StubbornClient[];
  #number = 0;

  constructor(receivers: readonly StubbornClient[]) {
    this.#receivers = receivers;
  }

  /** Publishes, and writes down who has to get it. */
  publish(publisher: StubbornClient, topic: string, qos: QoS, retain = false): Sent {
    this.#number++;
    const to = new Map<string, QoS>();
    for (const receiver of this.#receivers) {
      for (const [filter, granted] of receiver.granted) {
        const [, group, inner] = shared.exec(filter) ?? [];
        if (!matches(inner ?? filter, topic)) continue;
        const name = group ?? receiver.spec.name;
        to.set(name, Math.max(to.get(name) ?? 0, Math.min(qos, granted)) as QoS);
      }
    }
    const payload = `${publisher.spec.name} ${this.#number} ${topic}`;
    const sent = publisher.publish(topic, payload, qos, retain);
    this.#debts.push({ sent, publisher: publisher.spec.name, to });
    return sent;
  }

  /** From here on nobody is owed what is sent to a receiver that gave up its session. */
  forgive(name: string): void {
    for (const { to } of this.#debts) (to as Map<string, QoS>).delete(name);
  }

  get accepted(): number {
    return this.#debts.filter(({ sent }) => sent.answer === 'accepted').length;
  }

  get refused(): number {
    return this.#debts.filter(({ sent }) => sent.answer !== 'accepted').length;
  }

  /** Accepted, and not arrived everywhere. */
  missing(): string[] {
    return this.#debts
      .filter(({ sent }) => sent.answer === 'accepted')
      .flatMap(({ sent, to }) =>
        [...to.keys()]
          .filter((name) => this.#countAt(name, sent.payload) === 0)
          .map((name) => `lost: "${sent.payload}" (QoS ${sent.qos}) for ${name}`),
      );
  }

  doubled(): string[] {
    return this.#debts.flatMap(({ sent, to }) =>
      [...to]
        .filter(([name, qos]) => qos === 2 && this.#countAt(name, sent.payload) > 1)
        .map(([name]) => `doubled: "${sent.payload}" for ${name}`),
    );
  }

  /** What was sent again may come behind what was sent later. */
  disordered(): string[] {
    const inOrder = this.#debts.filter(({ sent }) => !sent.isRepeated);
    return this.#receivers.flatMap((receiver) => {
      const first = new Map<string, number>();
      for (const [at, payload] of receiver.received.entries()) {
        if (!first.has(payload)) first.set(payload, at);
      }
      const last = new Map<string, number>();
      const faults: string[] = [];
      for (const { sent, publisher, to } of inOrder) {
        const at = first.get(sent.payload);
        if (at === undefined || !to.has(receiver.spec.name)) continue;
        const stream = `${publisher} ${sent.topic} ${sent.qos}`;
        if (at < (last.get(stream) ?? -1)) {
          faults.push(`disordered: "${sent.payload}" for ${receiver.spec.name}`);
        }
        last.set(stream, at);
      }
      return faults;
    });
  }

  #countAt(name: string, payload: string): number {
    const inGroup = this.#receivers.filter(
      ({ spec, groups }) => spec.name === name || groups.has(name),
    );
    return inGroup.reduce(
      (count, { received }) => count + received.filter((one) => one === payload).length,
      0,
    );
  }
}
