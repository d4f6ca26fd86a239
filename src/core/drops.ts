// Messages that a session cannot be given: counted, told to hooks, and, when a client loses them for
// want of room, told in the log once a minute.

import type { Logger } from '#base/log';
import type { TimerWheel } from '#base/timers';
import type { Hooks } from '#hooks/runner';
import type { DropReason } from '#hooks/table';
import type { Message } from './message.ts';
import { Metric, type Metrics } from './metrics.ts';

const warnMs = 60_000;

export class Drops {
  readonly #metrics: Metrics;
  readonly #hooks: Hooks;
  readonly #timers: TimerWheel;
  readonly #log: Logger;
  /** Clients warned about since `#sinceMs`. */
  readonly #warned = new Set<string>();
  #sinceMs = 0;

  constructor(parts: { metrics: Metrics; hooks: Hooks; timers: TimerWheel; log: Logger }) {
    this.#metrics = parts.metrics;
    this.#hooks = parts.hooks;
    this.#timers = parts.timers;
    this.#log = parts.log;
  }

  count(clientId: string, message: Message, reason: DropReason): void {
    if (reason !== 'no_local') this.#metrics.add(Metric.messagesDropped);
    if (reason === 'expired') this.#metrics.add(Metric.messagesExpired);
    if (reason === 'queue_full' || reason === 'outbox_full') this.#warn(clientId, reason);
    if (this.#hooks.lists['message.dropped'] !== null) {
      this.#hooks.tell('message.dropped', message.own(), reason, clientId);
    }
  }

  /** Messages that only the store still had; nobody reads them again to tell about them. */
  unseen(count: number): void {
    if (count > 0) this.#metrics.add(Metric.messagesDropped, count);
  }

  #warn(clientId: string, reason: DropReason): void {
    const { nowMs } = this.#timers;
    if (nowMs >= this.#sinceMs + warnMs) {
      this.#sinceMs = nowMs;
      this.#warned.clear();
    }
    if (this.#warned.has(clientId)) return;
    this.#warned.add(clientId);
    this.#log.warn('messages.dropped', { clientId, reason });
  }
}
