// The wills of clients, one for each connection, and what became of them. The broker keeps a will when
// it has answered CONNECT, but nobody waits for that to be on disk: it is certain once something that
// was sent later is acknowledged, and so is everything else that a client does to its will.
//
//   asked ─CONNACK→ standing ─kill, if certain→ due ─client back in time, if certain→ withdrawn
//                       └─DISCONNECT→ leaving ─if certain→ withdrawn: it must not come
//
// What is not certain when the process is killed may come or not. A will that is due does not come
// before its delay is over.

import type { PublishPacket } from '#wire/packet';
import type { Violations } from './violations.ts';

type Fate = 'asked' | 'standing' | 'due' | 'leaving' | 'withdrawn' | 'either';

interface Entry {
  readonly client: string;
  readonly number: number;
  readonly qos: 1 | 2;
  readonly delayMs: number;
  fate: Fate;
  /** When its connection was lost, by the machine's clock and by the books'. */
  lostAtMs: number;
  lostAt: number;
  /** When the broker had told us that it stands, or had seen its end, by the books' clock. */
  toldAt: number;
  /** The same by the machine's clock. */
  toldAtMs: number;
  count: number;
}

/** The broker's timers are exact to a second. */
const earlyMsMax = 1000;
/** What nobody waits for is on disk after this time, however slow the machine. */
const flushMsMax = 2000;
const never = Number.POSITIVE_INFINITY;

export class WillBook {
  readonly #entries = new Map<string, Entry>();
  readonly #lastNumber = new Map<string, number>();
  readonly #violations: Violations;
  /**
   * Several workers write for themselves: one that a crash finds half handed over is published again,
   * because it has no packet id to be known by (ADR 12). And what one has on disk says nothing of what
   * another has.
   */
  mayRepeat = false;

  constructor(violations: Violations) {
    this.#violations = violations;
  }

  /** A CONNECT with a will goes out; answers its payload. */
  ask(client: string, qos: 1 | 2, delayMs: number): string {
    const number = (this.#lastNumber.get(client) ?? 0) + 1;
    this.#lastNumber.set(client, number);
    const times = { lostAtMs: 0, lostAt: 0, toldAt: never, toldAtMs: never };
    const state = { fate: 'asked' as Fate, ...times, count: 0 };
    this.#entries.set(`${client} ${number}`, { client, number, qos, delayMs, ...state });
    return `${client} ${number}`;
  }

  /** CONNACK came: the new will stands, and the client is back. */
  stand(client: string, at: number): void {
    const last = this.#lastNumber.get(client);
    for (const entry of this.#of(client)) {
      if (entry.number === last) become(entry, 'standing', at);
      else if (entry.fate === 'due' && entry.delayMs > 0 && entry.count === 0) {
        const isInTime = Date.now() < entry.lostAtMs + entry.delayMs - earlyMsMax;
        become(entry, isInTime ? 'leaving' : 'either', at);
      }
    }
  }

  /** It may be taken over at any time, which is as good a reason to publish its will as any. */
  doubt(client: string): void {
    for (const entry of this.#of(client)) if (entry.fate === 'standing') entry.fate = 'either';
  }

  /** DISCONNECT went out. */
  leave(client: string): void {
    for (const entry of this.#of(client)) {
      if (entry.fate === 'standing') become(entry, 'leaving', never);
    }
  }

  /** The broker closed the connection after DISCONNECT: what it is told from now on comes later. */
  left(client: string, at: number): void {
    for (const entry of this.#of(client)) {
      if (entry.fate === 'leaving' && entry.toldAt === never) become(entry, 'leaving', at);
    }
  }

  /** The connection is lost by our own doing, and the broker is there to see it. */
  lose(client: string, at: number): void {
    for (const entry of this.#of(client)) {
      if (entry.fate === 'standing') becomeDue(entry, at);
      // Nobody knows whether its DISCONNECT was read.
      if (entry.fate === 'leaving' && entry.toldAt === never) entry.fate = 'either';
    }
  }

  /** The process is killed now. What was told before `provenAt` is on disk. */
  kill(provenAt: number): void {
    for (const entry of this.#entries.values()) {
      const isOld = Date.now() - entry.toldAtMs > flushMsMax;
      const isCertain = entry.toldAt < provenAt && (isOld || !this.mayRepeat);
      if (entry.fate === 'asked') entry.fate = 'either';
      else if (entry.fate === 'leaving') entry.fate = isCertain ? 'withdrawn' : 'either';
      else if (entry.fate === 'standing' && isCertain) becomeDue(entry, 0);
      else if (entry.fate === 'standing') entry.fate = 'either';
      // Cut off moments ago: it may never have been kept.
      else if (entry.fate === 'due' && !isCertain && entry.count === 0) entry.fate = 'either';
    }
  }

  /** The process is asked to stop: what it does with the wills of those who are there is its affair. */
  stop(provenAt: number): void {
    for (const entry of this.#entries.values()) {
      // It may not have seen yet that the connection is gone.
      const isSeen = entry.fate === 'due' && (entry.lostAt < provenAt || entry.count > 0);
      if (!isSeen && entry.fate !== 'withdrawn') entry.fate = 'either';
    }
  }

  received({ payload }: PublishPacket): void {
    const key = payload.toString('latin1');
    const entry = this.#entries.get(key);
    if (entry === undefined)
      return this.#violations.add('will', `"${key}": nobody has such a will`);
    entry.count++;
    const waitedMs = Date.now() - entry.lostAtMs;
    if (entry.fate === 'standing' || entry.fate === 'withdrawn' || entry.fate === 'leaving') {
      this.#violations.add('will', `"${key}" was published, but it is ${entry.fate}`);
    } else if (entry.fate === 'due' && waitedMs < entry.delayMs - earlyMsMax) {
      const early = `after ${waitedMs} ms, its delay is ${entry.delayMs} ms`;
      this.#violations.add('will', `"${key}" was published ${early}`);
    }
    if (entry.qos === 2 && entry.count > 1 && !this.mayRepeat) {
      this.#violations.add('will', `"${key}" (QoS 2) was published ${entry.count} times`);
    }
  }

  /** Wills that must still come. */
  get awaited(): string[] {
    return [...this.#entries]
      .filter(([, { fate, count }]) => fate === 'due' && count === 0)
      .map(([key]) => key);
  }

  /** What is awaited now will not come any more. */
  settle(): void {
    for (const key of this.awaited) {
      this.#violations.add('will', `"${key}" is due and was never published`);
      const entry = this.#entries.get(key);
      if (entry !== undefined) entry.fate = 'either';
    }
  }

  #of(client: string): Entry[] {
    return [...this.#entries.values()].filter((entry) => entry.client === client);
  }
}

function become(entry: Entry, fate: Fate, at: number): void {
  entry.fate = fate;
  entry.toldAt = at;
  entry.toldAtMs = at === never ? never : Date.now();
}

/** As certain as it was that it stood. */
function becomeDue(entry: Entry, at: number): void {
  entry.fate = 'due';
  entry.lostAt = at;
  entry.lostAtMs = Date.now();
}
