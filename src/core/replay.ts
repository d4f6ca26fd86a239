// Retained messages on their way to a new subscriber: taken a slice at a time and only while the
// client's outbox has room, so that `#` over a million topics neither stops the loop nor floods the
// client.

import type { Delivery } from './delivery.ts';
import type { Message } from './message.ts';
import type { Retained } from './retained.ts';

/** Names looked at per slice: well under a millisecond of loop time. */
const sliceNames = 512;

/** A session, as far as replays use it. */
export interface ReplayTarget {
  /** Whether one more message would be sent rather than queued or dropped. */
  canReplay(delivery: Delivery): boolean;
  replay(message: Message, delivery: Delivery): void;
}

export class Replay {
  /** As the client wrote it: UNSUBSCRIBE ends the replay [MQTT-3.10.4-2]. */
  readonly subscribed: string;
  readonly #retained: Retained;
  readonly #filter: string;
  readonly #delivery: Delivery;
  readonly #isWanted: ((message: Message) => boolean) | undefined;
  #from: string | undefined = '';

  /** `isWanted`: those that the client is given; absent: all. */
  constructor(
    retained: Retained,
    subscribed: string,
    filter: string,
    delivery: Delivery,
    isWanted?: (message: Message) => boolean,
  ) {
    this.#isWanted = isWanted;
    this.subscribed = subscribed;
    this.#retained = retained;
    this.#filter = filter;
    this.#delivery = { ...delivery, isReplay: true, noLocal: false, mixed: undefined };
  }

  canGoOn(target: ReplayTarget): boolean {
    return target.canReplay(this.#delivery);
  }

  /** Delivers one slice, or less when the client cannot take it. True: there is more. */
  step(target: ReplayTarget): boolean {
    if (this.#from === undefined) return false;
    if (!this.canGoOn(target)) return true;
    this.#from = this.#retained.slice(this.#filter, this.#from, sliceNames, (message) => {
      if (this.#isWanted?.(message) === false) return true;
      target.replay(message, this.#delivery);
      return this.canGoOn(target);
    });
    return this.#from !== undefined;
  }
}
