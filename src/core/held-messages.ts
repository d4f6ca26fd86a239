// Messages for a session that is on its way from one worker to another. Each worker publishes at first
// to where the session was, then to where it will be, and says on both ways when it changes: what it
// sends before that belongs to the one, what it sends after that to the other. Both sides hold what
// the other may still need, and nothing that is held is acknowledged.

import type { Delivery, Subscriber } from './delivery.ts';
import { type Message, publishedHere } from './message.ts';
import type { Wait } from './ports.ts';

interface Held {
  readonly message: Message;
  readonly delivery: Delivery;
  readonly isHandedOn: boolean;
  readonly resolve: (wait: Wait) => void;
  readonly reject: (error: Error) => void;
}

export class HeldMessages {
  /** Workers that have changed over; `publishedHere` stands for this one. */
  readonly #switched = new Set<number>();
  #held: Held[] = [];

  switchOver(worker: number = publishedHere): void {
    this.#switched.add(worker);
  }

  get switchedCount(): number {
    return this.#switched.size;
  }

  /**
   * It was sent after the change. What comes through a shared subscription was sent to one place
   * alone, and is for whoever gets it.
   */
  isFor({ via }: Message, { group }: Delivery): boolean {
    return group === undefined && this.#switched.has(via);
  }

  hold(message: Message, delivery: Delivery, isHandedOn: boolean): Wait {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#held.push({ message: message.own(), delivery, isHandedOn, resolve, reject });
    return promise;
  }

  /** They are this session's after all, in the order they came. */
  deliverTo(session: Subscriber): void {
    this.release((message, delivery, isHandedOn) =>
      session.deliver(message, { ...delivery, session }, isHandedOn),
    );
  }

  /** The other side has them, or will be sent them again. */
  forget(): void {
    this.release(() => undefined);
  }

  /** The publisher of these repeats them, elsewhere or to who comes after: nobody waits for them here. */
  disown(isDisowned: (message: Message) => boolean): void {
    const [disowned, kept] = [[], []] as [Held[], Held[]];
    for (const one of this.#held) (isDisowned(one.message) ? disowned : kept).push(one);
    this.#held = kept;
    for (const { resolve } of disowned) resolve(undefined);
  }

  /** Each is somebody's now, whose wait is the wait of those who published it. */
  release(to: (message: Message, delivery: Delivery, isHandedOn: boolean) => Wait): void {
    const held = this.#held;
    this.#held = [];
    for (const { message, delivery, isHandedOn, resolve, reject } of held) {
      try {
        resolve(to(message, delivery, isHandedOn));
      } catch (error) {
        reject(error as Error);
      }
    }
  }
}

/** Where a session will be: it stands in the router in its place until it is there. */
export class WaitingRoom implements Subscriber {
  readonly clientId: string;
  readonly isStored: boolean;
  readonly link = null;
  readonly isConnected = false;
  readonly isReady = false;
  readonly held: HeldMessages = new HeldMessages();

  constructor(clientId: string, isStored: boolean) {
    this.clientId = clientId;
    this.isStored = isStored;
  }

  deliver(message: Message, delivery: Delivery, isHandedOn = false): Wait {
    const isOurs = delivery.group !== undefined || this.held.isFor(message, delivery);
    return isOurs ? this.held.hold(message, delivery, isHandedOn) : undefined;
  }
}
