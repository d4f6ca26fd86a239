// All clients of a run and what they do in a round: who is there, who publishes how, who comes and goes
// and changes its mind. Every choice is drawn from the seed.

import type { Random } from '../fuzz/random.ts';
import type { Books } from './books.ts';
import {
  mourned,
  type PublisherRole,
  publishers,
  type Stream,
  type SubscriberRole,
  subscribers,
} from './cast.ts';
import { OutsidePair } from './outside-pair.ts';
import { SessionClient } from './session-client.ts';

type Manner = 'flood' | 'burst' | 'trickle' | 'silent';
const manners: readonly Manner[] = ['flood', 'burst', 'burst', 'trickle', 'trickle', 'silent'];

/** Most messages of one publisher in a round: what is queued must be drained again. */
const perRoundMax = 300;

interface Publisher {
  readonly role: PublisherRole;
  readonly client: SessionClient;
  manner: Manner;
  left: number;
}

interface Subscriber {
  readonly role: SubscriberRole;
  readonly client: SessionClient;
  /** Rounds for which it stays away. */
  awayRounds: number;
}

export class Company {
  readonly #random: Random;
  readonly #books: Books;
  readonly #publishers: readonly Publisher[];
  readonly #subscribers: readonly Subscriber[];
  readonly #mourned: readonly SessionClient[];
  readonly pair: OutsidePair;

  constructor(books: Books, random: Random) {
    this.#books = books;
    this.#random = random;
    this.#publishers = publishers.map((role) => ({
      role,
      client: new SessionClient(role.spec, books),
      manner: 'silent',
      left: 0,
    }));
    const groups = new Map<string, ReturnType<Books['openSession']>>();
    this.#subscribers = subscribers.map((role) => {
      const { spec, qos, group } = role;
      const book =
        group === undefined
          ? books.openSession(spec.name, qos)
          : groups.getOrInsertComputed(group, () => books.openSession(group, qos, false));
      const client = new SessionClient(spec, books, book);
      for (const filter of role.filters) client.subscribe(filter);
      return { role, client, awayRounds: 0 };
    });
    this.#mourned = mourned.map((spec) => new SessionClient(spec, books));
    this.pair = new OutsidePair(books);
  }

  /** Everybody but the outside pair. */
  get clients(): SessionClient[] {
    const players = [...this.#publishers, ...this.#subscribers];
    return [...players.map(({ client }) => client), ...this.#mourned];
  }

  get isIdle(): boolean {
    return this.clients.every((client) => client.isIdle) && this.pair.isIdle;
  }

  get isAnybodyOnline(): boolean {
    return this.clients.some((client) => client.isOnline);
  }

  get isOffline(): boolean {
    return this.clients.every((client) => client.isOffline);
  }

  /** What is not idle, in words. */
  get state(): string {
    const busy = this.clients.filter((client) => !client.isIdle).map((client) => client.state);
    return [...busy, ...(this.pair.isIdle ? [] : [this.pair.state])].join('; ');
  }

  /** A round begins: those who want to be there connect. */
  arrive(port: number): void {
    const random = this.#random;
    for (const publisher of this.#publishers) {
      publisher.manner = random.pick(manners);
      publisher.left = perRoundMax;
      if (publisher.client.isOffline) publisher.client.connect(port);
    }
    for (const subscriber of this.#subscribers) this.#arriveSubscriber(subscriber, port);
    for (const client of this.#mourned) {
      if (client.isOffline && this.#comesBack(client)) client.connect(port);
    }
  }

  #arriveSubscriber(subscriber: Subscriber, port: number): void {
    const random = this.#random;
    const { client, role } = subscriber;
    client.answerDelayMs = role.isSlow ? () => 20 + random.below(150) : undefined;
    if (role.presence === 'absent' && subscriber.awayRounds === 0 && random.chance(60)) {
      subscriber.awayRounds = 1 + random.below(4);
      if (random.chance(50)) client.leave();
      else client.cut();
    }
    if (subscriber.awayRounds > 0) {
      subscriber.awayRounds--;
      return;
    }
    const isLate = role.presence === 'restless' && random.chance(30);
    if (client.isOffline && !isLate) client.connect(port);
  }

  /** Some wait until their will has been published, others are back at once. */
  #comesBack({ spec }: SessionClient): boolean {
    const isAwaited = this.#books.wills.awaited.some((key) => key.startsWith(`${spec.name} `));
    return this.#random.chance(isAwaited ? 30 : 80);
  }

  /** What happens in a few milliseconds of a round. */
  act(port: number): void {
    const random = this.#random;
    for (const publisher of this.#publishers) this.#publishSome(publisher);
    for (const { role, client } of this.#subscribers) {
      if (role.presence === 'restless' && random.chance(2)) this.#toggle(client, port);
      if (role.fickle !== undefined && random.chance(4)) {
        const filter = random.pick(role.fickle);
        if (client.wishes.wanted.includes(filter)) client.unsubscribe(filter);
        else client.subscribe(filter);
      }
    }
    for (const client of this.#mourned) if (random.chance(1)) this.#toggle(client, port);
    for (let count = random.below(4); count > 0 && this.pair.hasRoom; count--) {
      this.pair.publish(random.chance(50) ? 1 : 2);
    }
  }

  #toggle(client: SessionClient, port: number): void {
    if (client.isOffline) client.connect(port);
    else if (this.#random.chance(50)) client.leave();
    else client.cut();
  }

  #publishSome(publisher: Publisher): void {
    const random = this.#random;
    const { client, manner } = publisher;
    let count = 0;
    if (manner === 'flood') count = 20;
    else if (manner === 'burst' && random.chance(5)) count = 10 + random.below(50);
    else if (manner === 'trickle' && random.chance(40)) count = 1;
    if (count === 0 || !client.hasRoom) return;
    client.together(() => {
      for (; count > 0 && publisher.left > 0 && client.hasRoom; count--) {
        publisher.left--;
        this.#publish(client, random.pick(publisher.role.streams));
      }
    });
  }

  #publish(client: SessionClient, stream: Stream): void {
    const random = this.#random;
    const size = random.below(100);
    const bytes = size === 0 ? 20_000 : size < 5 ? 2000 : size;
    const isClear = stream.retain === true && random.chance(20);
    client.publish({ ...stream, isClear, bytes });
  }

  /** Everybody comes, and nobody is slow any more. Call it again until all are there. */
  gather(port: number): void {
    for (const client of this.clients) {
      client.answerDelayMs = undefined;
      if (client.isOffline) client.connect(port);
    }
    this.pair.comeBack();
  }

  /** One last message on each stream. */
  mark(): void {
    for (const { role, client } of this.#publishers) {
      for (const stream of role.streams) client.publish(stream);
    }
    for (const qos of [1, 2] as const) this.pair.publish(qos);
  }

  async end(): Promise<void> {
    for (const client of this.clients) client.cut();
    await this.pair.end();
  }
}
