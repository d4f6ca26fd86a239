// One life of a broker whose store fails somewhere in it, and the next broker on what is left. Sessions
// of both protocol families, QoS 1 and 2, a shared group, retained messages, a will, an expiry, clients
// that leave, are lost, and come back. The play is the same every time; only the failure moves.

import type { VirtualClock } from '#base/clock';
import type { QoS } from '#wire/packet';
import type { TestBroker } from '#test/broker';
import type { RawClient } from '#test/raw-client';
import { Watch } from '#test/watch';
import { FailureLedger } from './failure-ledger.ts';
import { type Sent, StubbornClient } from './stubborn-client.ts';

const forever = 100_000_000;
/** The session `short` lives so long without a connection. */
const shortSeconds = 900;

export class FailurePlay {
  readonly faults: string[] = [];
  readonly ledger: FailureLedger;
  readonly #clock: VirtualClock;
  readonly #watch = new Watch();
  readonly #five = this.#client('five', 5);
  readonly #three = this.#client('three', 4);
  readonly #one = this.#client('one', 5);
  readonly #other = this.#client('other', 4);
  readonly #short = this.#client('short', 5, shortSeconds);
  readonly #writer = this.#client('writer', 5);
  readonly #older = this.#client('older', 4);
  readonly #retained: Sent[] = [];
  #isUnsubscribed = false;
  #clean: RawClient | undefined;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
    this.ledger = new FailureLedger([this.#five, this.#three, this.#one, this.#other, this.#short]);
  }

  #client(name: string, version: 4 | 5, expirySeconds = forever): StubbornClient {
    return new StubbornClient({ name, version, expirySeconds }, this.#watch);
  }

  get #group(): StubbornClient[] {
    return [this.#one, this.#other];
  }

  get #writers(): StubbornClient[] {
    return [this.#writer, this.#older];
  }

  get #all(): StubbornClient[] {
    return [this.#five, this.#three, this.#short, ...this.#group, ...this.#writers];
  }

  /** A life without a failure: what it leaves is what the next one has to read. */
  async before(broker: TestBroker): Promise<void> {
    for (const client of this.#all) await client.connect(broker.port);
    for (const client of [this.#five, this.#three]) {
      await client.subscribe('a/#', 1);
      await client.subscribe('b/#', 2);
    }
    await this.#five.subscribe('u', 1);
    for (const client of this.#group) await client.subscribe('$share/g/s/#', 2);
    await this.#short.subscribe('b/#', 2);
    await this.#round();
    this.#five.cut();
    await this.#three.leave();
    for (const client of this.#group) client.cut();
    await this.#round();
    // Half of a handshake.
    for (const writer of this.#writers) this.ledger.publish(writer, 'b/x', 2);
    await this.#writer.ping();
    await broker.flushed();
  }

  /** `heal` is called before the last round, in which everything has to work again. */
  async first(broker: TestBroker, heal: () => void): Promise<void> {
    this.#clean = await broker.connect({ clientId: 'clean' });
    // Retained messages are read from the store, and this client needs nothing of it.
    await this.#clean.subscribe('clean', { qos: 2, retainHandling: 2 });
    for (const writer of this.#writers) await writer.connect(broker.port);
    await this.#round();
    await this.#serve();
    for (const client of this.#all) await client.connect(broker.port);
    await this.#retain();
    await this.#loseWill(broker);
    await this.#five.subscribe('new', 1);
    this.#isUnsubscribed = await this.#five.unsubscribe('u');
    await this.#serve();
    await this.#expire();
    await this.#handOn();
    await this.#repeat();
    await this.#serve();
    heal();
    await this.#recover(broker);
  }

  /** What a message was accepted as may be told before another one is asked about. */
  async #round(): Promise<void> {
    for (const writer of this.#writers) {
      this.ledger.publish(writer, 'a/x', 1);
      this.ledger.publish(writer, 'a/x', 2);
      this.ledger.publish(writer, 'b/x', 2);
      await writer.settle();
      this.ledger.publish(writer, 'b/x', 2);
      this.ledger.publish(writer, 's/x', 1);
      this.ledger.publish(writer, 's/x', 2);
      await writer.settle();
    }
  }

  async #retain(): Promise<void> {
    for (const [topic, payload] of [
      ['r/kept', 'kept'],
      ['r/gone', 'gone'],
      ['r/gone', ''],
    ] as const) {
      this.#retained.push(this.#writer.publish(topic, payload, 1, true));
      await this.#writer.settle();
    }
  }

  async #loseWill(broker: TestBroker): Promise<void> {
    const will = { topic: 'a/will', payload: 'will' };
    const spec = { name: 'mortal', version: 5, expirySeconds: 0, will } as const;
    const mortal = new StubbornClient(spec, this.#watch);
    await mortal.connect(broker.port);
    mortal.cut();
  }

  /** A session ends while its messages wait, and others hold the same messages. */
  async #expire(): Promise<void> {
    this.#short.cut();
    this.#three.cut();
    await this.#round();
    this.#clock.advance(2 * shortSeconds * 1000);
    this.#short.forget();
    this.ledger.forgive('short');
    await this.#three.connect();
  }

  /** A member of the group ends its session: what it has not finished is the other's. */
  async #handOn(): Promise<void> {
    for (const client of this.#group) client.cut();
    await this.#round();
    // With a clean start: nothing of it has been sent.
    this.#one.forget();
    await this.#one.connect(undefined, true);
    // There is no other: what is the group's goes with its last member.
    if (this.#other.granted.size === 0) this.ledger.forgive('g');
    await this.#other.connect();
  }

  /** The network goes in the middle of every handshake of a publisher. */
  async #repeat(): Promise<void> {
    for (const writer of this.#writers) {
      for (const qos of [1, 2] as const) {
        this.ledger.publish(writer, 'b/y', qos);
        writer.cut();
        await writer.connect();
        await writer.settle();
      }
    }
  }

  /** The store works again: nothing is refused. */
  async #recover(broker: TestBroker): Promise<void> {
    // The try that finds it out may still have to come.
    await broker.flushed().catch(() => undefined);
    for (const client of this.#all) if (!client.isOnline) await client.connect();
    await this.#five.subscribe('again', 1);
    if (!this.#five.granted.has('again')) this.faults.push('a SUBSCRIBE is refused after all');
    const before = this.ledger.refused;
    await this.#round();
    if (this.ledger.refused > before) this.faults.push('publishes are refused after all');
    await this.#serve();
  }

  /** A client that needs no disk is served whatever the store does. */
  async #serve(): Promise<void> {
    const client = this.#clean as RawClient;
    for (const qos of [0, 1, 2] as const) await client.publish('clean', `${qos}`, { qos });
    const got = await client.receivePayloads(3);
    if (got.join() !== '0,1,2') this.faults.push(`a clean client got ${got.join()}`);
  }

  crash(): void {
    for (const client of this.#all) client.cut();
    this.#clean?.destroy();
  }

  /** Everybody comes and gets what is theirs; then it is compared. */
  async second(broker: TestBroker): Promise<void> {
    for (const client of this.#all) {
      if (!(await client.connect(broker.port))) this.faults.push(`${client.spec.name} is shut out`);
      await client.finish();
    }
    await this.#five.until(() => this.ledger.missing().length === 0);
    await this.#probe(broker);
    await this.#readRetained(broker);
    for (const client of this.#all) {
      await client.ping();
      const { name } = client.spec;
      this.faults.push(...client.faults.map((fault) => `the broker ${fault} (${name})`));
    }
    const { ledger } = this;
    this.faults.push(...ledger.missing(), ...ledger.doubled(), ...ledger.disordered());
    this.crash();
  }

  /** The subscriptions are what was acknowledged: a fresh message finds its way, or does not. */
  async #probe(broker: TestBroker): Promise<void> {
    const prober = await broker.connect({ clientId: 'prober' });
    for (const topic of ['a/probe', 'u']) await prober.publish(topic, `probe ${topic}`, { qos: 1 });
    for (const client of [this.#five, this.#three]) {
      if (!client.granted.has('a/#')) continue;
      if (!(await client.until(() => client.received.includes('probe a/probe')))) {
        this.faults.push(`forgotten: a/# of ${client.spec.name}`);
      }
    }
    await this.#five.ping();
    const hasProbe = this.#five.received.includes('probe u');
    if (this.#isUnsubscribed && hasProbe) this.faults.push('u is subscribed to after all');
    await prober.disconnect();
  }

  async #readRetained(broker: TestBroker): Promise<void> {
    const reader = await broker.connect({ clientId: 'reader' });
    await reader.subscribe('r/#', { qos: 0 as QoS });
    await reader.publish('r/end', 'end', { qos: 0 });
    const seen = new Set<string>();
    for (let last = ''; last !== 'end'; ) {
      last = (await reader.receive()).payload.toString();
      seen.add(last);
    }
    const [kept, gone, cleared] = this.#retained;
    if (kept?.answer === 'accepted' && !seen.has('kept')) this.faults.push('retained: r/kept lost');
    const mayBeGone = cleared?.answer !== undefined || gone?.answer !== 'accepted';
    if (cleared?.answer === 'accepted' && seen.has('gone')) this.faults.push('retained: r/gone');
    if (!mayBeGone && !seen.has('gone')) this.faults.push('retained: r/gone lost');
    await reader.disconnect();
  }
}
