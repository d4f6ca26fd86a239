// A publisher and a subscriber that we did not write: MQTT.js with stores in its own memory and
// sessions that outlive the connection. What it says was acknowledged and what it hands on as received
// go into the same books.

import { createConnection } from 'node:net';
import mqtt, { type IClientOptions, type MqttClient, Store } from 'mqtt';
import type { Books, Level, SessionBook } from './books.ts';
import { payloadOf } from './numbered-message.ts';

const publisherName = 'mqttjs-pub';
const subscriberName = 'mqttjs-sub';
const filter = 'x/#';
/** MQTT.js keeps what it may not send yet; a bound, so that a run can come to rest. */
const windowMax = 60;

export class OutsidePair {
  readonly #books: Books;
  readonly #book: SessionBook;
  readonly #publisher: OutsideClient;
  readonly #subscriber: OutsideClient;
  #unacknowledged = 0;
  #hasSubscribed = false;
  onChange: () => void = () => undefined;

  constructor(books: Books) {
    this.#books = books;
    this.#book = books.openSession(subscriberName, 2);
    const forget = (name: string): void =>
      books.violations.add('forgotten', `the session of "${name}"`);
    this.#publisher = new OutsideClient(publisherName, 4, forget);
    this.#subscriber = new OutsideClient(subscriberName, 5, forget);
    // Each time: its last connection may have been lost before the SUBACK.
    this.#subscriber.mqtt.on('connect', () => {
      if (!this.#hasSubscribed) this.#subscribe();
    });
    this.#subscriber.mqtt.on('message', (_topic, _payload, packet) => {
      const { topic, qos, dup, retain } = packet;
      const payload = Buffer.from(packet.payload);
      const packetId = packet.messageId ?? 0;
      this.#book.receive({
        type: 'publish',
        topic,
        qos,
        dup,
        retain,
        payload,
        packetId,
        properties: {},
      });
      this.onChange();
    });
  }

  get isIdle(): boolean {
    return this.#unacknowledged === 0 && this.#hasSubscribed;
  }

  get state(): string {
    return `"${publisherName}" has ${this.#unacknowledged} unacknowledged`;
  }

  get hasRoom(): boolean {
    return this.#publisher.isReady && this.#hasSubscribed && this.#unacknowledged < windowMax;
  }

  connect(port: number): void {
    this.#publisher.connect(port);
    this.#subscriber.connect(port);
  }

  /** Those that have lost their connection come again. */
  comeBack(): void {
    this.#publisher.comeBack();
    this.#subscriber.comeBack();
  }

  /** Both connections are over when it resolves. */
  async disconnected(): Promise<void> {
    await Promise.all([this.#publisher.closed(), this.#subscriber.closed()]);
  }

  publish(qos: Level): void {
    const topic = `x/${qos}`;
    const message = { publisher: publisherName, topic, qos, retain: false, isClear: false };
    const sent = this.#books.send(message);
    this.#unacknowledged++;
    this.#publisher.mqtt.publish(topic, payloadOf(sent, 0), { qos }, (error) => {
      this.#unacknowledged--;
      // An error: MQTT.js gave it up, and nobody knows what became of it.
      if (!error) {
        this.#books.acknowledge(sent);
        this.#publisher.isProven = true;
      }
      this.onChange();
    });
  }

  async end(): Promise<void> {
    await Promise.all([this.#publisher.end(), this.#subscriber.end()]);
  }

  #subscribe(): void {
    this.#book.ask(filter);
    this.#subscriber.mqtt.subscribe(filter, { qos: 2 }, (error) => {
      if (error) return;
      this.#book.granted(filter);
      this.#subscriber.isProven = true;
      this.#hasSubscribed = true;
      this.onChange();
    });
  }
}

/** MQTT.js that connects when it is told to, to where it is told. */
class OutsideClient {
  readonly mqtt: MqttClient;
  readonly #stores = {
    incomingStore: new Store({ clean: false }),
    outgoingStore: new Store({ clean: false }),
  };
  #port = 0;
  #isOpen = false;
  isReady = false;
  /** Something was acknowledged to its session: it must be there next time. */
  isProven = false;

  constructor(name: string, version: 4 | 5, onForgotten: (name: string) => void) {
    const options: IClientOptions = {
      clientId: name,
      protocolVersion: version,
      clean: false,
      reconnectPeriod: 0,
      keepalive: 0,
      resubscribe: false,
      manualConnect: true,
      ...(version === 5 && { properties: { sessionExpiryInterval: 0xffff_ffff } }),
      ...this.#stores,
    };
    this.mqtt = new mqtt.MqttClient(
      () => createConnection({ port: this.#port, host: '127.0.0.1', noDelay: true }),
      options,
    );
    // A reset is one way of closing: `close` follows.
    this.mqtt.on('error', () => undefined);
    this.mqtt.on('connect', ({ sessionPresent }) => {
      this.isReady = true;
      if (this.isProven && !sessionPresent) onForgotten(name);
    });
    this.mqtt.on('close', () => {
      this.isReady = false;
      this.#isOpen = false;
    });
  }

  connect(port: number): void {
    this.#port = port;
    this.#isOpen = true;
    this.mqtt.reconnect(this.#stores);
  }

  comeBack(): void {
    if (!this.#isOpen && this.#port !== 0) this.connect(this.#port);
  }

  async end(): Promise<void> {
    // MQTT.js cannot end what never began.
    if (this.#port !== 0) await this.mqtt.endAsync(true);
  }

  async closed(): Promise<void> {
    if (!this.#isOpen) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.mqtt.once('close', resolve);
    await promise;
  }
}
