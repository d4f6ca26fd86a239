// Will messages: kept in the store while their client is connected, so that a crash of ours does not
// silence them; after the end of the connection published at once, or when their delay has passed or
// the session ends, whichever is first [MQTT-3.1.2-8]; not at all when the client is back before that
// [MQTT-3.1.3-9].

import { CallbackTimer, type TimerWheel } from '#base/timers';
import { Message } from './message.ts';
import type { Wait } from './ports.ts';
import type { StoredWill, WillStore } from './store-port.ts';

/**
 * Publishes a will; never rejects, answers whether it is where it belongs. Calls `onAccepted` in the turn
 * in which everyone here who is to have it is told, so that the store has both or neither: the message
 * where it belongs, and the will gone.
 */
export type PublishWill = (will: Message, onAccepted: () => void) => Promise<boolean>;

export class Wills {
  readonly #pending = new Map<string, { timer: CallbackTimer; will: StoredWill }>();
  /** What the store has. */
  readonly #kept = new Map<string, StoredWill>();
  /** Those that hooks have a say in, until they are accepted. */
  readonly #sending = new Map<string, Promise<void>>();
  readonly #timers: TimerWheel;
  readonly #store: WillStore;
  readonly #publish: PublishWill;
  /** There are no other workers. */
  readonly #isAlone: boolean;

  constructor(timers: TimerWheel, store: WillStore, publish: PublishWill, isAlone = true) {
    this.#isAlone = isAlone;
    this.#timers = timers;
    this.#store = store;
    this.#publish = publish;
  }

  /** The client has connected with this will. Nobody waits for it to be on disk. */
  keep(clientId: string, will: StoredWill): void {
    this.#kept.set(clientId, will);
    this.#store.put(clientId, will);
  }

  /** The client took its will back. */
  forget(clientId: string): void {
    if (this.#kept.delete(clientId)) this.#store.delete(clientId);
  }

  /** The connection of `clientId` ended in a way that calls for its will. */
  due(clientId: string, will: StoredWill, delaySeconds: number): void {
    this.fire(clientId);
    if (delaySeconds === 0) {
      this.#send(clientId, will);
      return;
    }
    const delayMs = delaySeconds * 1000;
    if (this.#kept.get(clientId) === will) {
      const delayed = { ...will, dueAtMs: this.#timers.nowMs + delayMs };
      this.keep(clientId, delayed);
      this.#delay(clientId, delayed, delayMs);
    } else {
      this.#delay(clientId, will, delayMs);
    }
  }

  #delay(clientId: string, will: StoredWill, delayMs: number): void {
    const timer = new CallbackTimer(() => this.fire(clientId));
    this.#pending.set(clientId, { timer, will });
    this.#timers.schedule(timer, delayMs);
  }

  /** The session ended, or the delay is over. */
  fire(clientId: string): void {
    const will = this.#takePending(clientId);
    if (will !== undefined) this.#send(clientId, will);
  }

  /** The client is back. */
  cancel(clientId: string): void {
    if (this.#takePending(clientId) !== undefined) this.forget(clientId);
  }

  /** The wills that another process left: those it had delayed, and those of clients it lost. */
  restore(isWanted?: (clientId: string) => boolean): number {
    return this.read(isWanted)();
  }

  /** The same in two steps: what is answered lets their time run, and says how many there are. */
  read(isWanted?: (clientId: string) => boolean): () => number {
    const left = [...this.#store.all(isWanted)];
    return () => {
      this.#takeUp(left);
      return left.length;
    };
  }

  #takeUp(left: readonly (readonly [clientId: string, will: StoredWill])[]): void {
    const { nowMs } = this.#timers;
    for (const [clientId, will] of left) {
      this.#kept.set(clientId, will);
      // Due to a clock that was set back it may seem to be later than it ever could be.
      const fullMs = will.delaySeconds * 1000;
      const delayMs = Math.min(fullMs, (will.dueAtMs ?? Number.POSITIVE_INFINITY) - nowMs);
      if (delayMs <= 0) this.#send(clientId, will);
      else if (will.dueAtMs !== undefined) this.#delay(clientId, will, delayMs);
      // Its time runs from here on, through however many crashes.
      else this.due(clientId, will, will.delaySeconds);
    }
  }

  #takePending(clientId: string): StoredWill | undefined {
    const pending = this.#pending.get(clientId);
    if (pending === undefined) return undefined;
    this.#timers.cancel(pending.timer);
    this.#pending.delete(clientId);
    return pending.will;
  }

  /** Its age and expiry begin now. The store lets go of it when whoever is to have it has it. */
  #send(clientId: string, will: StoredWill): void {
    const { topic, payload, qos, retain, properties, from } = will;
    const message = new Message(topic, payload, qos, retain, properties, from, this.#timers.nowMs);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#sending.set(clientId, promise);
    const accepted = (): void => {
      resolve();
      if (this.#sending.get(clientId) === promise) this.#sending.delete(clientId);
    };
    const sent = (): void => {
      if (this.#kept.get(clientId) !== will) return;
      this.#kept.delete(clientId);
      this.#store.sent(clientId);
    };
    void this.#publish(message, () => {
      if (!this.#isAlone) return;
      sent();
      accepted();
    }).then((isSafe) => {
      // Other workers write for themselves: the will stays until they have.
      if (isSafe && !this.#isAlone) sent();
      accepted();
    });
  }

  /** Nothing more will be told to the store of a will that is being published. */
  settled(clientId: string): Wait {
    return this.#sending.get(clientId);
  }
}
