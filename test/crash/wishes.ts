// What a client wants to be subscribed to: a filter is asked for, or given up, until the broker has
// acknowledged it, over as many connections as that takes. One request for a filter at a time.

import type { Packet, SubackPacket } from '#wire/packet';
import type { SessionBook } from './books.ts';
import type { Violations } from './violations.ts';

interface Wish {
  isWanted: boolean;
  /** The broker has acknowledged it as it is wanted. */
  isSettled: boolean;
  /** Of the request under way; 0: none. */
  packetId: number;
  /** What that request asks for. */
  isAsked: boolean;
}

export class Wishes {
  readonly book: SessionBook;
  readonly #wishes = new Map<string, Wish>();
  readonly #violations: Violations;

  constructor(book: SessionBook, violations: Violations) {
    this.book = book;
    this.#violations = violations;
  }

  get isSettled(): boolean {
    return this.#wishes.values().every((wish) => wish.isSettled);
  }

  get state(): string {
    const open = [...this.#wishes].filter(([, wish]) => !wish.isSettled).map(([filter]) => filter);
    return open.length === 0 ? '' : `, waits for SUBACK of ${open.join(', ')}`;
  }

  /** Filters that it wants, granted or not. */
  get wanted(): string[] {
    return [...this.#wishes].filter(([, { isWanted }]) => isWanted).map(([filter]) => filter);
  }

  hasId(packetId: number): boolean {
    return this.#wishes.values().some((wish) => wish.packetId === packetId);
  }

  want(filter: string): void {
    this.#set(filter, true);
  }

  give(filter: string): void {
    this.#set(filter, false);
  }

  #set(filter: string, isWanted: boolean): void {
    const wish = this.#wishes.get(filter);
    if (wish?.isWanted === isWanted) return;
    if (wish === undefined) {
      this.#wishes.set(filter, { isWanted, isSettled: false, packetId: 0, isAsked: false });
    } else {
      wish.isWanted = isWanted;
      wish.isSettled = false;
    }
  }

  /** The requests to send now. */
  *packets(newId: () => number): Generator<Packet> {
    for (const [filter, wish] of this.#wishes) {
      if (wish.isSettled || wish.packetId !== 0) continue;
      const { qos } = this.book;
      wish.packetId = newId();
      wish.isAsked = wish.isWanted;
      if (wish.isWanted) {
        this.book.ask(filter);
        const options = { noLocal: false, retainAsPublished: false, retainHandling: 0 } as const;
        const filters = [{ filter, qos, ...options }];
        yield { type: 'subscribe', packetId: wish.packetId, filters, properties: {} };
      } else {
        this.book.leave(filter);
        const { packetId } = wish;
        yield { type: 'unsubscribe', packetId, filters: [filter], properties: {} };
      }
    }
  }

  /** SUBACK or UNSUBACK came; answers what is wrong with it. */
  answered({ type, packetId, reasonCodes }: SubackPacket): string | undefined {
    const found = [...this.#wishes].find(([, wish]) => wish.packetId === packetId);
    if (found === undefined) return `sent ${type} ${packetId}: nobody asked`;
    const [filter, wish] = found;
    if (type !== (wish.isAsked ? 'suback' : 'unsuback')) return `answered "${filter}" by ${type}`;
    wish.packetId = 0;
    wish.isSettled = wish.isAsked === wish.isWanted;
    if (!wish.isAsked) {
      this.book.left(filter);
      // MQTT 5 tells whether there was one. A request sent again may come to one that is done.
      return undefined;
    }
    if (reasonCodes[0] !== this.book.qos) return `granted "${filter}" with code ${reasonCodes[0]}`;
    this.book.granted(filter);
    return undefined;
  }

  /** Requests without an answer are asked again. */
  disconnected(): void {
    for (const wish of this.#wishes.values()) wish.packetId = 0;
  }

  /** The session is gone: everything has to be asked for again. */
  forgotten(): void {
    for (const [filter, wish] of this.#wishes) {
      if (wish.isWanted && wish.isSettled) {
        this.#violations.add('forgotten', `"${this.book.name}" is not subscribed to "${filter}"`);
      }
      wish.isSettled = false;
    }
  }
}
