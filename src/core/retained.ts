// The last retained message of each topic, found by filter. Limits: number of topics, payload size,
// age. An expired message is as good as gone: nobody is sent it, and a sweep removes it before long.

import { CallbackTimer, type TimerWheel } from '#base/timers';
import { NameTrie } from '#topics/name-trie';
import type { RetainerSettings } from '#config/settings';
import type { Message } from './message.ts';
import { Metric, type Metrics } from './metrics.ts';
import type { Store, Wait } from './ports.ts';
import type { Stats } from './stats.ts';
import { unpromised } from './wait.ts';

interface Kept {
  readonly message: Message;
  readonly expiresAtMs: number;
}

const sweepSeconds = 60;
const sweepNames = 1000;

export class Retained {
  readonly #names = new NameTrie<Kept>();
  readonly #settings: RetainerSettings;
  readonly #timers: TimerWheel;
  readonly #metrics: Metrics;
  readonly #stats: Stats;
  readonly #store: Store;
  readonly #onRefused: (topic: string, why: string) => void;
  readonly #sweep: CallbackTimer;
  #expiring = 0;
  #sweeping: Iterator<[string, Kept]> | undefined;

  constructor(
    settings: RetainerSettings,
    parts: { timers: TimerWheel; metrics: Metrics; stats: Stats; store: Store },
    onRefused: (topic: string, why: string) => void,
  ) {
    this.#settings = settings;
    this.#timers = parts.timers;
    this.#metrics = parts.metrics;
    this.#stats = parts.stats;
    this.#store = parts.store;
    this.#onRefused = onRefused;
    this.#sweep = new CallbackTimer(() => this.#sweepExpired());
  }

  get size(): number {
    return this.#names.size;
  }

  /** Takes a message with the retain flag; one without payload removes [MQTT-3.3.1-6]. */
  put(message: Message): Wait {
    const { topic } = message;
    if (message.payloadBytes === 0) return this.delete(topic);
    const { maxPayloadBytes, maxRetainedMessages } = this.#settings;
    if (message.payloadBytes > maxPayloadBytes) {
      this.#onRefused(topic, `${message.payloadBytes} bytes: the limit is ${maxPayloadBytes}`);
      return undefined;
    }
    const before = this.#names.get(topic);
    if (before === undefined && maxRetainedMessages > 0 && this.size >= maxRetainedMessages) {
      this.#onRefused(topic, `${this.size} topics are retained: the limit is reached`);
      return undefined;
    }
    const expiresAtMs = this.#expiryOf(message);
    this.#names.set(topic, { message: message.compact(), expiresAtMs });
    this.#countExpiring(before, expiresAtMs);
    this.#count();
    return this.#store.retain(message);
  }

  delete(topic: string): Wait {
    const before = this.#names.get(topic);
    if (before === undefined) return undefined;
    this.#names.delete(topic);
    this.#countExpiring(before, Number.POSITIVE_INFINITY);
    this.#count();
    return this.#store.forgetRetained(topic);
  }

  /**
   * Messages that match a filter now, a slice at a time: begin at `''`, go on from the answer, done
   * when it is undefined. A visit that answers false ends the slice behind its message.
   */
  slice(
    filter: string,
    from: string,
    namesMax: number,
    visit: (message: Message) => boolean,
  ): string | undefined {
    const { nowMs } = this.#timers;
    return this.#names.matchSlice(filter, from, namesMax, (_, kept) =>
      kept.expiresAtMs > nowMs ? visit(kept.message) : true,
    );
  }

  #expiryOf(message: Message): number {
    if (message.expiresAtMs !== Number.POSITIVE_INFINITY) return message.expiresAtMs;
    const { expirySeconds } = this.#settings;
    return expirySeconds > 0 && !message.topic.startsWith('$SYS/')
      ? message.timestampMs + expirySeconds * 1000
      : Number.POSITIVE_INFINITY;
  }

  #countExpiring(before: Kept | undefined, expiresAtMs: number): void {
    if (before !== undefined && before.expiresAtMs !== Number.POSITIVE_INFINITY) this.#expiring--;
    if (expiresAtMs === Number.POSITIVE_INFINITY) return;
    this.#expiring++;
    if (!this.#sweep.isScheduled) this.#timers.schedule(this.#sweep, sweepSeconds * 1000);
  }

  #count(): void {
    this.#stats.set('retained', this.size);
    this.#metrics.counts[Metric.messagesRetained] = this.size;
  }

  /** A slice per tick, so that a million topics do not hold up the loop. */
  #sweepExpired(): void {
    const { nowMs } = this.#timers;
    this.#sweeping ??= this.#names[Symbol.iterator]();
    for (let left = sweepNames; left > 0; left--) {
      const next = this.#sweeping.next();
      if (next.done === true) {
        this.#sweeping = undefined;
        if (this.#expiring > 0) this.#timers.schedule(this.#sweep, sweepSeconds * 1000);
        return;
      }
      const [topic, kept] = next.value;
      if (kept.expiresAtMs <= nowMs) this.#forget(topic);
    }
    this.#timers.schedule(this.#sweep, 0);
  }

  /** What nobody waits for: a failure of the store leaves an expired record, which expires again. */
  #forget(topic: string): void {
    unpromised(this.delete(topic));
  }
}
