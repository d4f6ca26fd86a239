// A client that comes for the retained messages and goes again: it asks what the books claim, then
// subscribes, and hands what it was sent to the books. When its connection is cut it has nothing to say.

import type { Packet } from '#wire/packet';
import type { Books } from './books.ts';
import { Link } from './link.ts';
import type { RetainedClaims } from './retained-book.ts';

const filter = 'r/#';

export class RetainedReader {
  readonly #books: Books;
  readonly #link: Link;
  readonly #found = new Map<string, Buffer>();
  readonly #over: PromiseWithResolvers<void> = Promise.withResolvers();
  #claims: RetainedClaims | undefined;
  #hasAnswer = false;

  constructor(books: Books, port: number) {
    this.#books = books;
    this.#link = new Link(port, 4, {
      onPacket: (packet) => this.#onPacket(packet),
      onClosed: () => this.#over.resolve(),
    });
    this.#link.send({
      type: 'connect',
      version: 4,
      isBridge: false,
      cleanStart: true,
      keepaliveSeconds: 0,
      clientId: 'retained-reader',
      properties: {},
    });
  }

  /** Resolves when it has judged or was cut; after the deadline it judges what it has got. */
  async done(deadlineMs: number): Promise<void> {
    const timer = setTimeout(() => {
      if (this.#claims !== undefined) this.#judge(this.#claims);
    }, deadlineMs);
    await this.#over.promise;
    clearTimeout(timer);
  }

  cut(): void {
    this.#link.cut();
  }

  #onPacket(packet: Packet): void {
    if (packet.type === 'connack') this.#subscribe();
    if (packet.type === 'suback') this.#link.send({ type: 'pingreq' });
    if (packet.type === 'pingresp') this.#hasAnswer = true;
    // Those that were published meanwhile are not what is asked for.
    if (packet.type === 'publish' && packet.retain && packet.payload.length > 0) {
      this.#found.set(packet.topic, packet.payload);
    }
    const claims = this.#claims;
    if (claims === undefined || !this.#hasAnswer) return;
    if (claims.required.every((topic) => this.#found.has(topic))) this.#judge(claims);
  }

  #subscribe(): void {
    this.#claims = this.#books.retained.claims();
    const options = {
      qos: 0,
      noLocal: false,
      retainAsPublished: false,
      retainHandling: 0,
    } as const;
    const filters = [{ filter, ...options }];
    this.#link.send({ type: 'subscribe', packetId: 1, filters, properties: {} });
  }

  #judge(claims: RetainedClaims): void {
    this.#books.retained.judge(claims, this.#found);
    this.#link.cut();
  }
}
