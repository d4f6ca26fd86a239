// The messages that wait, on disk and nowhere else. Laws: what is told to be kept is on disk; the limit
// counts what is on its way there, too; a number is never given twice, restarts included.
//
//   heads    <due>-<number> → what lists show, in the order in which they are published
//   bodies   <number>       → the key of the head, payload, properties
//   numbers  next           → from where the next process counts

import type { Properties, QoS, RecordStore } from '#sdk';

/** As it goes from thread to thread. */
export interface DelayedMessage {
  readonly topic: string;
  readonly dueAtMs: number;
  readonly qos: QoS;
  readonly retain: boolean;
  readonly payload: Uint8Array;
  readonly properties: Properties | undefined;
  readonly clientId: string;
  readonly username: string | undefined;
  /** How many rules it has gone through: rules that answer each other end also by way of here. */
  readonly hops: number;
}

export interface DelayedHead {
  readonly id: number;
  readonly topic: string;
  readonly dueAtMs: number;
  readonly qos: QoS;
  readonly retain: boolean;
  readonly payloadBytes: number;
  readonly clientId: string;
  readonly username: string | undefined;
  readonly acceptedAtMs: number;
  readonly hops: number;
}

/** As it is written; records of former versions have no hops. */
type StoredHead = Omit<DelayedHead, 'hops'> & Partial<Pick<DelayedHead, 'hops'>>;

export interface DelayedBody {
  readonly payload: Buffer;
  readonly properties: Properties | undefined;
}

interface StoredBody {
  readonly head: string;
  readonly payload: string;
  readonly properties?: Omit<Properties, 'correlationData'>;
  readonly correlationData?: string;
}

export interface DelayedParts {
  readonly records: (kind: string) => RecordStore;
  readonly flushed: () => Promise<void>;
  readonly messagesMax: number;
}

/** Numbers that are given out before the next ones are written down. */
const numbersAtOnce = 1000;
const nextKey = 'next';

export class DelayedMessages {
  readonly #heads: RecordStore;
  readonly #bodies: RecordStore;
  readonly #numbers: RecordStore;
  readonly #flushed: () => Promise<void>;
  readonly #messagesMax: number;
  #next: number;
  #reserved: number;
  #count = 0;

  constructor({ records, flushed, messagesMax }: DelayedParts) {
    this.#heads = records('heads');
    this.#bodies = records('bodies');
    this.#numbers = records('numbers');
    this.#flushed = flushed;
    this.#messagesMax = messagesMax;
    this.#next = Number(this.#numbers.get(nextKey) ?? 1);
    this.#reserved = this.#next;
    this.recount();
  }

  get count(): number {
    return this.#count;
  }

  /** Looks how many there are: another reading of the plugin may have written, too. */
  recount(): void {
    this.#count = 0;
    for (const _ of this.#heads.entries()) this.#count++;
  }

  /** Resolves when it is on disk. False: there are too many. */
  async add(message: DelayedMessage, nowMs: number): Promise<boolean> {
    if (this.#messagesMax > 0 && this.#count >= this.#messagesMax) return false;
    const { topic, dueAtMs, qos, retain, payload, clientId, username, hops } = message;
    const id = this.#number();
    const payloadBytes = payload.length;
    const head = { id, topic, dueAtMs, qos, retain, payloadBytes, clientId, username, hops };
    const key = headKey(dueAtMs, id);
    this.#heads.put(key, { ...head, acceptedAtMs: nowMs } satisfies DelayedHead);
    this.#bodies.put(String(id), storedBody(key, message));
    this.#count++;
    try {
      await this.#flushed();
    } catch (error) {
      // The store has taken it back, and the numbers with it.
      this.#count--;
      this.#reserved = this.#next;
      throw error;
    }
    return true;
  }

  #number(): number {
    if (this.#next >= this.#reserved) {
      this.#reserved = this.#next + numbersAtOnce;
      this.#numbers.put(nextKey, this.#reserved);
    }
    return this.#next++;
  }

  /** In the order in which they are due. */
  *heads(): Generator<DelayedHead> {
    for (const [, head] of this.#heads.entries()) yield headOf(head as StoredHead);
  }

  /** The first of those that are due. */
  due(nowMs: number, countMax: number): DelayedHead[] {
    const due: DelayedHead[] = [];
    for (const head of this.heads()) {
      if (head.dueAtMs > nowMs || due.length === countMax) break;
      due.push(head);
    }
    return due;
  }

  page(offset: number, limit: number): DelayedHead[] {
    return [...this.heads().drop(offset).take(limit)];
  }

  bodyOf({ id }: DelayedHead): DelayedBody | undefined {
    const stored = this.#bodies.get(String(id)) as StoredBody | undefined;
    if (stored === undefined) return undefined;
    const { payload, properties, correlationData } = stored;
    if (correlationData === undefined)
      return { payload: Buffer.from(payload, 'base64'), properties };
    return {
      payload: Buffer.from(payload, 'base64'),
      properties: { ...properties, correlationData: Buffer.from(correlationData, 'base64') },
    };
  }

  /** Resolves when none of them will come back. */
  async remove(heads: readonly DelayedHead[]): Promise<void> {
    for (const { id, dueAtMs } of heads) {
      this.#heads.delete(headKey(dueAtMs, id));
      this.#bodies.delete(String(id));
    }
    await this.#flushed();
    this.#count = Math.max(0, this.#count - heads.length);
  }

  find(id: number): DelayedHead | undefined {
    const stored = this.#bodies.get(String(id)) as StoredBody | undefined;
    const head = stored && (this.#heads.get(stored.head) as StoredHead | undefined);
    return head && headOf(head);
  }
}

function headOf(stored: StoredHead): DelayedHead {
  return { ...stored, hops: stored.hops ?? 0 };
}

/** Sorts as numbers do. */
function headKey(dueAtMs: number, id: number): string {
  return `${String(dueAtMs).padStart(16, '0')}-${String(id).padStart(16, '0')}`;
}

function storedBody(head: string, { payload, properties }: DelayedMessage): StoredBody {
  const { correlationData, ...others } = properties ?? {};
  return {
    head,
    payload: Buffer.from(payload).toString('base64'),
    ...(properties === undefined ? {} : { properties: others }),
    ...(correlationData === undefined
      ? {}
      : { correlationData: Buffer.from(correlationData).toString('base64') }),
  };
}
