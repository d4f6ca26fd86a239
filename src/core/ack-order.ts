// Acknowledgements leave in the order of the publishes they answer [MQTT-4.6.0-2], although one may
// have to wait for a store while the next is ready at once.

import type { Wait } from './ports.ts';

export type AckType = 'puback' | 'pubrec';

interface PendingAck {
  readonly type: AckType;
  readonly packetId: number;
  readonly reasonCode: number;
  isReady: boolean;
}

export class AckOrder {
  readonly #pending: PendingAck[] = [];
  readonly #send: (type: AckType, packetId: number, reasonCode: number) => void;
  readonly #failed: (error: unknown, type: AckType, packetId: number) => void;

  constructor(
    send: (type: AckType, packetId: number, reasonCode: number) => void,
    failed: (error: unknown, type: AckType, packetId: number) => void,
  ) {
    this.#send = send;
    this.#failed = failed;
  }

  /** Publishes accepted and not yet acknowledged. */
  get size(): number {
    return this.#pending.length;
  }

  push(type: AckType, packetId: number, reasonCode: number, wait: Wait): void {
    const ack: PendingAck = { type, packetId, reasonCode, isReady: wait === undefined };
    this.#pending.push(ack);
    wait?.then(
      () => {
        ack.isReady = true;
        this.#release();
      },
      (error: unknown) => {
        this.#pending.splice(this.#pending.indexOf(ack), 1);
        this.#failed(error, type, packetId);
        this.#release();
      },
    );
  }

  #release(): void {
    while (this.#pending[0]?.isReady === true) {
      const { type, packetId, reasonCode } = this.#pending.shift() as PendingAck;
      this.#send(type, packetId, reasonCode);
    }
  }
}
