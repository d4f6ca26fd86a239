// Acknowledgements leave in the order of the publishes they answer [MQTT-4.6.0-2], although one may
// have to wait for a store while the next is ready at once. Neighbours that wait for the same flush
// wait together: one promise for as many as it covers.

import { Deque } from '#base/deque';
import type { Wait } from './ports.ts';

export type AckType = 'puback' | 'pubrec';

export interface Ack {
  readonly type: AckType;
  readonly packetId: number;
  readonly reasonCode: number;
  readonly text: string | undefined;
}

interface Group {
  readonly wait: Wait;
  readonly acks: Ack[];
  isReady: boolean;
  /** Why they must not be acknowledged after all. */
  failure?: unknown;
}

export class AckOrder {
  readonly #groups = new Deque<Group>();
  readonly #send: (ack: Ack) => void;
  readonly #failed: (error: unknown, ack: Ack) => void;
  #last: Group | undefined;
  /** Publishes accepted and not yet acknowledged. */
  size = 0;
  /** PUBACKs among them. */
  pubacks = 0;

  constructor(send: (ack: Ack) => void, failed: (error: unknown, ack: Ack) => void) {
    this.#send = send;
    this.#failed = failed;
  }

  push(ack: Ack, wait: Wait): void {
    this.size++;
    if (ack.type === 'puback') this.pubacks++;
    if (this.#last !== undefined && this.#last.wait === wait) {
      this.#last.acks.push(ack);
      return;
    }
    const group: Group = { wait, acks: [ack], isReady: wait === undefined };
    this.#groups.push(group);
    this.#last = group;
    wait?.then(
      () => this.#settle(group),
      (error: unknown) => {
        group.failure = error ?? 'unknown';
        this.#settle(group);
      },
    );
  }

  #settle(group: Group): void {
    group.isReady = true;
    while (this.#groups.peek()?.isReady === true) this.#release(this.#groups.shift() as Group);
  }

  #release(group: Group): void {
    if (this.#last === group) this.#last = undefined;
    for (const ack of group.acks) {
      this.size--;
      if (ack.type === 'puback') this.pubacks--;
      if (group.failure === undefined) this.#send(ack);
      else this.#failed(group.failure, ack);
    }
  }
}
