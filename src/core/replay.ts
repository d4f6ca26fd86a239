// Retained messages on their way to a new subscriber: taken a slice at a time and only while the
// client's outbox has room, so that `#` over a million topics neither stops the loop nor floods the
// client.

import type { Delivery, Subscriber } from './delivery.ts';
import type { Retained } from './retained.ts';

/** Names looked at per slice: well under a millisecond of loop time. */
const sliceNames = 512;

export class Replay {
  readonly #retained: Retained;
  readonly #filter: string;
  readonly #delivery: Delivery;
  #from: string | undefined = '';

  constructor(retained: Retained, filter: string, delivery: Delivery) {
    this.#retained = retained;
    this.#filter = filter;
    this.#delivery = { ...delivery, isReplay: true, noLocal: false, mixed: undefined };
  }

  /** Delivers one slice. True: there is more, come again when the outbox has drained. */
  step(session: Subscriber): boolean {
    const { link } = session;
    if (link === null || this.#from === undefined) return false;
    if (!link.hasRoom(0)) return true;
    this.#from = this.#retained.slice(this.#filter, this.#from, sliceNames, (message) => {
      void session.deliver(message, this.#delivery);
      return link.hasRoom(0);
    });
    return this.#from !== undefined;
  }
}
