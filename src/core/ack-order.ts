// Acknowledgements leave in the order of the publishes they answer [MQTT-4.6.0-2], although one may
// have to wait for a store while the next is ready at once.

import type { Wait } from './ports.ts';

export type AckType = 'puback' | 'pubrec';

export interface Ack {
  readonly type: AckType;
  readonly packetId: number;
  readonly reasonCode: number;
  readonly text: string | undefined;
}

interface PendingAck {
  readonly ack: Ack;
  isReady: boolean;
  /** Why it must not be acknowledged after all. */
  failure?: unknown;
}

export class AckOrder {
  readonly #pending: PendingAck[] = [];
  readonly #send: (ack: Ack) => void;
  readonly #failed: (error: unknown, ack: Ack) => void;
  /** PUBACKs among those that wait. */
  pubacks = 0;

  constructor(send: (ack: Ack) => void, failed: (error: unknown, ack: Ack) => void) {
    this.#send = send;
    this.#failed = failed;
  }

  /** Publishes accepted and not yet acknowledged. */
  get size(): number {
    return this.#pending.length;
  }

  push(ack: Ack, wait: Wait): void {
    const pending: PendingAck = { ack, isReady: wait === undefined };
    this.#pending.push(pending);
    if (ack.type === 'puback') this.pubacks++;
    wait?.then(
      () => this.#settle(pending),
      (error: unknown) => {
        pending.failure = error ?? 'unknown';
        this.#settle(pending);
      },
    );
  }

  #settle(pending: PendingAck): void {
    pending.isReady = true;
    this.#release();
  }

  #release(): void {
    while (this.#pending[0]?.isReady === true) {
      const { ack, failure } = this.#pending.shift() as PendingAck;
      if (ack.type === 'puback') this.pubacks--;
      if (failure === undefined) this.#send(ack);
      else this.#failed(failure, ack);
    }
  }
}
