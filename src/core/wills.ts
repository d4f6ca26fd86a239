// Will messages after their connection has ended: published at once, or when their delay has passed
// or the session ends, whichever is first [MQTT-3.1.2-8]; not at all when the client is back before
// that [MQTT-3.1.3-9].

import { CallbackTimer, type TimerWheel } from '#base/timers';
import type { Message } from './message.ts';

/** Makes the message when it is published: its age and expiry begin then. */
export type MakeWill = (nowMs: number) => Message;

export class Wills {
  readonly #pending = new Map<string, { timer: CallbackTimer; will: MakeWill }>();
  readonly #timers: TimerWheel;
  readonly #publish: (will: Message) => void;

  constructor(timers: TimerWheel, publish: (will: Message) => void) {
    this.#timers = timers;
    this.#publish = publish;
  }

  /** The connection of `clientId` ended in a way that calls for its will. */
  due(clientId: string, will: MakeWill, delaySeconds: number): void {
    this.fire(clientId);
    if (delaySeconds === 0) {
      this.#publish(will(this.#timers.nowMs));
      return;
    }
    const timer = new CallbackTimer(() => this.fire(clientId));
    this.#pending.set(clientId, { timer, will });
    this.#timers.schedule(timer, delaySeconds * 1000);
  }

  /** The session ended, or the delay is over. */
  fire(clientId: string): void {
    const pending = this.#pending.get(clientId);
    if (pending === undefined) return;
    this.cancel(clientId);
    this.#publish(pending.will(this.#timers.nowMs));
  }

  /** The client is back. */
  cancel(clientId: string): void {
    const pending = this.#pending.get(clientId);
    if (pending === undefined) return;
    this.#timers.cancel(pending.timer);
    this.#pending.delete(clientId);
  }
}
