// The last retained message of each topic, found by filter. They live in the store; those under
// `$SYS/`, which the broker makes anew after each start, in memory. Limits: number of topics, payload
// size, age. An expired message is as good as gone: nobody is sent it, and a sweep removes it.

import { CallbackTimer, type TimerWheel } from '#base/timers';
import { NameTrie } from '#topics/name-trie';
import type { RetainerSettings, ZoneSettings } from '#config/settings';
import type { Message } from './message.ts';
import type { Peers } from './peers-port.ts';
import type { Wait } from './ports.ts';
import type { Stats } from './stats.ts';
import type { Store } from './store-port.ts';
import { isSystemTopic } from './system-topics.ts';
import { unpromised } from './wait.ts';

const sweepSeconds = 60;
const sweepNames = 300;

/** `expiresAtMs`: Infinity where it is kept for ever. False ends the slice. */
export type RetainedVisit = (message: Message, expiresAtMs: number) => boolean;

export class Retained {
  /** False: nothing of clients is kept or handed out; what there is stays. */
  isOn = true;
  readonly #system = new NameTrie<Message>();
  readonly #zonesWithout = new WeakMap<ZoneSettings, ZoneSettings>();
  readonly #settings: RetainerSettings;
  readonly #timers: TimerWheel;
  readonly #stats: Stats;
  readonly #store: Store;
  readonly #onRefused: (topic: string, why: string) => void;
  readonly #peers: Pick<Peers, 'isAlone' | 'retainedTold'>;
  /** One of several workers looks for what has expired. */
  readonly #isSweeping: boolean;
  readonly #sweep: CallbackTimer;
  /** Where the sweep goes on; undefined: it is between two rounds. */
  #sweepFrom: string | undefined;
  /** Something that expires was seen in this round, or put since. */
  #isExpiring = false;

  constructor(
    settings: RetainerSettings,
    parts: { timers: TimerWheel; stats: Stats; store: Store },
    onRefused: (topic: string, why: string) => void,
    peers: Pick<Peers, 'isAlone' | 'retainedTold'>,
    isSweeping = true,
  ) {
    this.#peers = peers;
    this.#isSweeping = isSweeping;
    this.#settings = settings;
    this.#timers = parts.timers;
    this.#stats = parts.stats;
    this.#store = parts.store;
    this.#onRefused = onRefused;
    this.#sweep = new CallbackTimer(() => this.#sweepExpired());
    this.#count();
    // What another process left may be due.
    if (this.size > 0 || !peers.isAlone) this.#watchExpiry();
  }

  /** Topics of clients. What the broker tells of itself is in every worker, and after a restart again. */
  get size(): number {
    return this.#store.retained.size;
  }

  /** What a client that comes now is told of its zone: without Retain Available while nothing is kept. */
  offeredBy(zone: ZoneSettings): ZoneSettings {
    if (this.isOn || !zone.retainAvailable) return zone;
    const without = this.#zonesWithout.get(zone) ?? { ...zone, retainAvailable: false };
    this.#zonesWithout.set(zone, without);
    return without;
  }

  /** Takes a message with the retain flag; one without payload removes [MQTT-3.3.1-6]. */
  put(message: Message): Wait {
    const { topic } = message;
    if (message.payloadBytes === 0) {
      return this.isOn ? this.delete(topic, message.qos > 0) : undefined;
    }
    if (isSystemTopic(topic)) {
      this.#system.set(topic, message.compact());
      return undefined;
    }
    if (!this.isOn) return undefined;
    const refusal = this.refusal(topic, message.payloadBytes);
    if (refusal !== undefined) {
      this.#onRefused(topic, refusal);
      return undefined;
    }
    const expiresAtMs = this.#expiryOf(message);
    this.#store.retained.put(message, expiresAtMs);
    this.#peers.retainedTold();
    if (expiresAtMs !== Number.POSITIVE_INFINITY) this.#watchExpiry();
    this.#count();
    return message.qos > 0 ? this.#store.flushed() : undefined;
  }

  /** Why a message with a payload of this size is not kept; undefined: it is. */
  refusal(topic: string, payloadBytes: number): string | undefined {
    if (isSystemTopic(topic)) return undefined;
    if (!this.isOn) return 'the plugin broker_retainer does not run';
    const { maxPayloadBytes, maxRetainedMessages } = this.#settings;
    if (payloadBytes > maxPayloadBytes) {
      return `${payloadBytes} bytes: the limit is ${maxPayloadBytes}`;
    }
    const isFull = maxRetainedMessages > 0 && this.size >= maxRetainedMessages;
    if (!isFull || this.#store.retained.has(topic)) return undefined;
    return `${this.size} topics are retained: the limit is reached`;
  }

  delete(topic: string, isAwaited = true): Wait {
    if (isSystemTopic(topic)) {
      this.#system.delete(topic);
      return undefined;
    }
    // Also one that seems to be gone: its removal may not be on disk yet.
    this.#store.retained.delete(topic);
    this.#peers.retainedTold();
    this.#count();
    return isAwaited ? this.#store.flushed() : undefined;
  }

  /**
   * Messages that match a filter now, a slice at a time: begin at `''`, go on from the answer, done
   * when it is undefined. A visit that answers false ends the slice behind its message.
   */
  slice(filter: string, from: string, namesMax: number, visit: RetainedVisit): string | undefined {
    // A filter that begins with a wildcard matches nothing that begins with `$` [MQTT-4.7.2-1].
    if (isSystemTopic(filter)) {
      return this.#system.matchSlice(filter, from, namesMax, (_, message) =>
        visit(message, Number.POSITIVE_INFINITY),
      );
    }
    if (!this.isOn) return undefined;
    return this.#store.retained.slice(filter, from, namesMax, this.#unexpired(visit));
  }

  /** The same for all topics of clients, those included that no wildcard matches. */
  sliceAll(from: string, namesMax: number, visit: RetainedVisit): string | undefined {
    if (!this.isOn) return undefined;
    return this.#store.retained.sliceAll(from, namesMax, this.#unexpired(visit));
  }

  #unexpired(visit: RetainedVisit): RetainedVisit {
    const { nowMs } = this.#timers;
    return (message, expiresAtMs) => (expiresAtMs > nowMs ? visit(message, expiresAtMs) : true);
  }

  #expiryOf(message: Message): number {
    if (message.expiresAtMs !== Number.POSITIVE_INFINITY) return message.expiresAtMs;
    const { expirySeconds } = this.#settings;
    return expirySeconds > 0
      ? message.timestampMs + expirySeconds * 1000
      : Number.POSITIVE_INFINITY;
  }

  #watchExpiry(): void {
    this.#isExpiring = true;
    if (this.#isSweeping && !this.#sweep.isScheduled)
      this.#timers.schedule(this.#sweep, sweepSeconds * 1000);
  }

  #count(): void {
    // Of several workers each sees what all have retained: the node counts.
    if (this.#peers.isAlone) this.#stats.set('retained', this.size);
  }

  /** A slice per tick, so that a million topics do not hold up the loop. */
  #sweepExpired(): void {
    const { nowMs } = this.#timers;
    // First of all: reading may throw, and the sweep goes on.
    this.#timers.schedule(this.#sweep, sweepSeconds * 1000);
    if (this.#sweepFrom === undefined) this.#isExpiring = false;
    const expired: string[] = [];
    const visit = (message: Message, expiresAtMs: number): boolean => {
      if (expiresAtMs <= nowMs) expired.push(message.topic);
      else if (expiresAtMs !== Number.POSITIVE_INFINITY) this.#isExpiring = true;
      return true;
    };
    const from = this.#sweepFrom ?? '';
    this.#sweepFrom = this.#store.retained.sliceAll(from, sweepNames, visit);
    for (const topic of expired) unpromised(this.delete(topic, false));
    if (this.#sweepFrom !== undefined) this.#timers.schedule(this.#sweep, 0);
    else if (!this.#isExpiring && this.#peers.isAlone) this.#timers.cancel(this.#sweep);
  }
}
