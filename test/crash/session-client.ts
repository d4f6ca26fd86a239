// A client that keeps its side of the session over many connections, as the specification has it: what
// is not acknowledged goes out again under the same packet id, in order, with DUP; a QoS 2 id that came
// in is known until its PUBREL. It tells the books what it did and what it got.

import type {
  AckPacket,
  ConnackPacket,
  Packet,
  ProtocolVersion,
  PublishPacket,
  SubackPacket,
} from '#wire/packet';
import type { Books, Level, Sent, SessionBook } from './books.ts';
import { Link, type LinkOwner } from './link.ts';
import { tracePacket } from './trace.ts';
import { parsePayload, payloadOf } from './numbered-message.ts';
import { Wishes } from './wishes.ts';

export interface ClientSpec {
  readonly name: string;
  readonly version: Exclude<ProtocolVersion, 3>;
  /** Its session outlives its connections; otherwise each connection begins a new one. */
  readonly isPersistent: boolean;
  /** Takes the lowest packet id that is free, as small devices do, not the next one. */
  readonly reusesIds?: boolean;
  /** MQTT 5: what it lets the broker have in flight. */
  readonly receiveMaximum?: number;
  readonly will?: { readonly qos: Level; readonly delaySeconds: number };
}

export interface PublishOptions {
  readonly topic: string;
  readonly qos: Level;
  readonly retain?: boolean;
  /** Retained: takes the message of the topic away. */
  readonly isClear?: boolean;
  readonly bytes?: number;
}

interface Outgoing {
  readonly packet: PublishPacket;
  readonly sent: Sent;
  /** PUBREC came: only PUBREL is sent from here on. */
  isReleased: boolean;
}

/** Less than the QoS 2 messages that a broker takes unreleased, as shipped. */
export const windowMax = 60;
/** Implementation specific error: not stored. */
const refusedCode = 0x83;
/** Server busy, and what there was for it before MQTT 5. */
const busyCodes: readonly number[] = [0x89, 3];
const crossedWords: readonly string[] = ['CONNACK 137', 'CONNACK 3', 'DISCONNECT 142'];
const foreverSeconds = 0xffff_ffff;

export class SessionClient implements LinkOwner {
  readonly spec: ClientSpec;
  readonly books: Books;
  /** Of its subscriptions; members of one shared subscription have one together. */
  readonly wishes: Wishes;
  /** Answers are held back and sent in order, when this says how long. */
  answerDelayMs: (() => number) | undefined;
  /** The broker may say that it could not store a publish: then nobody is owed it. */
  mayRefuse = false;
  /** Told when anything has happened that somebody may wait for. */
  onChange: () => void = () => undefined;
  /** Told when a CONNACK has come. */
  onConnected: () => void = () => undefined;
  /** Told of every packet, in words. */
  trace: ((line: string) => void) | undefined;
  /** Told when a connection ended that the client did not end: what the broker said last. */
  onLost: (words: string, hasCrossed: boolean) => void = () => undefined;
  readonly #outgoing = new Map<number, Outgoing>();
  readonly #incoming = new Map<number, string>();
  #link: Link | undefined;
  #isOnline = false;
  #isLeaving = false;
  /**
   * A CONNECT was under way when its connection ended. Another worker may read it later than the next
   * one, and the old one then takes over from the new one: nobody can tell which came first.
   */
  #mayCross = false;
  /** Something was acknowledged that is no use without the session: it must be there next time. */
  #isProven = false;
  #isKnown = false;
  #lastId = 0;
  #answers: Packet[] = [];
  #answerTimer: NodeJS.Timeout | undefined;
  #pong: PromiseWithResolvers<boolean> | undefined;
  #lastWords = '';

  constructor(spec: ClientSpec, books: Books, book?: SessionBook) {
    this.spec = spec;
    this.books = books;
    this.wishes = new Wishes(book ?? books.openSession(spec.name, 1), books.violations);
  }

  /** CONNACK has come and the connection stands. */
  get isOnline(): boolean {
    return this.#isOnline;
  }

  get isOffline(): boolean {
    return this.#link === undefined;
  }

  get hasRoom(): boolean {
    return this.#isOnline && !this.#isLeaving && this.#outgoing.size < windowMax;
  }

  /** Nothing that it sent or asked for waits for an acknowledgement. */
  get isIdle(): boolean {
    return this.#isOnline && this.#outgoing.size === 0 && this.wishes.isSettled;
  }

  /** What it waits for, in words. */
  get state(): string {
    const place = this.#isOnline ? 'online' : this.isOffline ? 'offline' : 'connecting';
    return `"${this.spec.name}" is ${place}, ${this.#outgoing.size} unacknowledged${this.wishes.state}`;
  }

  connect(port: number): void {
    const { name, version, isPersistent, receiveMaximum, will } = this.spec;
    this.cut();
    this.#link = new Link(port, version, this);
    this.#send({
      type: 'connect',
      version,
      isBridge: false,
      cleanStart: !isPersistent,
      keepaliveSeconds: 0,
      clientId: name,
      properties:
        version < 5
          ? {}
          : { sessionExpirySeconds: isPersistent ? foreverSeconds : 0, receiveMaximum },
      ...(will && {
        will: {
          topic: `w/${name}`,
          payload: Buffer.from(this.books.wills.ask(name, will.qos, will.delaySeconds * 1000)),
          qos: will.qos,
          retain: false,
          properties: version < 5 ? {} : { willDelaySeconds: will.delaySeconds },
        },
      }),
    });
  }

  /** Says DISCONNECT; the broker closes. */
  leave(): void {
    if (!this.#isOnline) return;
    this.#flush();
    this.#isLeaving = true;
    this.books.wills.leave(this.spec.name);
    this.#send({ type: 'disconnect', reasonCode: 0, properties: {} });
  }

  /** The network is lost. */
  cut(): void {
    if (this.#isOnline) this.books.wills.lose(this.spec.name, this.books.tick());
    this.#isLeaving = true;
    this.#link?.cut();
    this.#isLeaving = false;
  }

  publish(options: PublishOptions): void {
    const { topic, qos, retain = false, isClear = false, bytes = 0 } = options;
    const publisher = this.spec.name;
    const sent = this.books.send({ publisher, topic, qos, retain, isClear });
    const packetId = this.#newId();
    const payload = isClear ? Buffer.alloc(0) : payloadOf(sent, bytes);
    const flags = { qos, dup: false, retain, packetId };
    const packet: PublishPacket = { type: 'publish', topic, payload, properties: {}, ...flags };
    this.#outgoing.set(packetId, { packet, sent, isReleased: false });
    this.#send(packet);
  }

  /** Many publishes in one write. */
  together(body: () => void): void {
    if (this.#link === undefined) body();
    else this.#link.together(body);
  }

  subscribe(filter: string): void {
    this.wishes.want(filter);
    this.#sendWishes();
  }

  unsubscribe(filter: string): void {
    this.wishes.give(filter);
    this.#sendWishes();
  }

  /** True when the answer to a ping has come; what the broker had to say before came before. */
  ping(): Promise<boolean> {
    if (!this.#isOnline) return Promise.resolve(false);
    this.#flush();
    this.#pong ??= Promise.withResolvers();
    this.#send({ type: 'pingreq' });
    return this.#pong.promise;
  }

  onPacket(packet: Packet): void {
    this.trace?.(tracePacket(this.spec.name, '←', packet));
    if (packet.type === 'publish') this.#onPublish(packet);
    else if (packet.type === 'connack') this.#onConnack(packet);
    else if (packet.type === 'puback' || packet.type === 'pubrec') this.#onAck(packet);
    else if (packet.type === 'pubrel') this.#onPubrel(packet);
    else if (packet.type === 'pubcomp') this.#onPubcomp(packet);
    else if (packet.type === 'suback' || packet.type === 'unsuback') this.#onSuback(packet);
    else if (packet.type === 'pingresp') this.#onPong(true);
    else if (packet.type === 'disconnect') this.#lastWords = `DISCONNECT ${packet.reasonCode}`;
    else this.#object(`sent ${packet.type} to a client`);
    this.onChange();
  }

  onClosed(fault: Error | undefined): void {
    if (fault !== undefined) this.#object(`sent what is not MQTT: ${fault.message}`);
    if (this.#isLeaving) this.books.wills.left(this.spec.name, this.books.tick());
    else this.onLost(this.#lastWords, this.#hasCrossed(this.#lastWords));
    if (!this.#isOnline && this.#lastWords === '') this.#mayCross = true;
    this.#lastWords = '';
    this.trace?.(`${this.spec.name} closed`);
    this.#link = undefined;
    this.#isOnline = false;
    this.#isLeaving = false;
    this.#answers = [];
    clearTimeout(this.#answerTimer);
    this.#answerTimer = undefined;
    this.wishes.disconnected();
    if (!this.spec.isPersistent) this.#forget();
    this.#onPong(false);
    this.onChange();
  }

  #hasCrossed(words: string): boolean {
    const isTold = crossedWords.includes(words) || (words === '' && this.spec.version < 5);
    if (!this.#mayCross || !isTold) return false;
    this.#mayCross = false;
    return true;
  }

  #onConnack({ reasonCode, sessionPresent }: ConnackPacket): void {
    const { name, isPersistent } = this.spec;
    if (reasonCode !== 0) {
      this.#lastWords = `CONNACK ${reasonCode}`;
      if (this.#mayCross && busyCodes.includes(reasonCode)) return;
      return this.#object(`refused the connection with ${reasonCode}`);
    }
    this.#isOnline = true;
    this.books.wills.stand(name, this.books.tick());
    if (this.#mayCross) this.books.wills.doubt(name);
    if (sessionPresent && !isPersistent) this.#object('has a session after a clean start');
    if (!sessionPresent && this.#isKnown) {
      if (this.#isProven) this.books.violations.add('forgotten', `the session of "${name}"`);
      else this.books.figures.unproven++;
    }
    if (!sessionPresent) {
      this.#forget();
      this.wishes.forgotten();
    }
    this.#isKnown = isPersistent;
    this.#resend();
    this.#sendWishes();
    this.onConnected();
  }

  /** [MQTT-4.4.0-1], in the order in which they were sent first [MQTT-4.6.0-1]. */
  #resend(): void {
    this.together(() => {
      for (const { packet, isReleased } of this.#outgoing.values()) {
        if (isReleased) this.#ack('pubrel', packet.packetId);
        else this.#send({ ...packet, dup: true });
      }
    });
  }

  /** A session that is over takes its handshakes with it: nobody knows what became of them. */
  #forget(): void {
    this.#outgoing.clear();
    this.#incoming.clear();
    this.#isProven = false;
    this.#isKnown = false;
  }

  #sendWishes(): void {
    if (!this.#isOnline || this.#isLeaving) return;
    for (const packet of this.wishes.packets(() => this.#newId())) this.#send(packet);
  }

  #onSuback(packet: SubackPacket): void {
    this.#isProven = this.spec.isPersistent;
    const objection = this.wishes.answered(packet);
    if (objection !== undefined) this.#object(objection);
    this.#sendWishes();
  }

  #onAck({ type, packetId, reasonCode }: AckPacket): void {
    const outgoing = this.#outgoing.get(packetId);
    if (outgoing === undefined) return this.#object(`sent ${type} ${packetId}: not in flight`);
    const { sent } = outgoing;
    if (this.mayRefuse && reasonCode === refusedCode) {
      this.#outgoing.delete(packetId);
      this.books.figures.refused++;
      return;
    }
    if (type !== (sent.qos === 1 ? 'puback' : 'pubrec') || reasonCode >= 0x80) {
      return this.#object(`answered QoS ${sent.qos} by ${type} with code ${reasonCode}`);
    }
    // A PUBACK need not wait for the disk when nobody is to have the message.
    if (sent.isOwed || type === 'pubrec') this.#isProven = this.spec.isPersistent;
    if (sent.ackedAt === undefined) this.books.acknowledge(sent);
    if (type === 'puback') {
      this.#outgoing.delete(packetId);
      return;
    }
    outgoing.isReleased = true;
    this.#ack('pubrel', packetId);
  }

  #onPubcomp({ packetId }: AckPacket): void {
    const outgoing = this.#outgoing.get(packetId);
    if (outgoing?.isReleased) this.#outgoing.delete(packetId);
    else this.#object(`sent PUBCOMP ${packetId}: not released`);
  }

  #onPublish(packet: PublishPacket): void {
    const { packetId, qos, payload } = packet;
    if (qos === 0) return this.#object(`sent "${packet.topic}" with QoS 0`);
    const { publisher, number } = parsePayload(payload);
    const name = `${publisher} ${number}`;
    const known = qos === 2 ? this.#incoming.get(packetId) : undefined;
    if (known === undefined) {
      if (qos === 2) this.#incoming.set(packetId, name);
      this.wishes.book.receive(packet, this.spec.name);
    } else if (known !== name) {
      // [MQTT-2.2.1-5]: it will take the second for a repetition of the first, and lose it.
      this.#object(`sent "${name}" with id ${packetId} before "${known}" of that id was released`);
    }
    this.#answer(qos === 1 ? 'puback' : 'pubrec', packetId);
  }

  #onPubrel({ packetId }: AckPacket): void {
    this.#incoming.delete(packetId);
    this.#answer('pubcomp', packetId);
  }

  #onPong(hasCome: boolean): void {
    this.#pong?.resolve(hasCome);
    this.#pong = undefined;
  }

  /** In order, and not always at once. */
  #answer(type: AckPacket['type'], packetId: number): void {
    if (this.answerDelayMs === undefined && this.#answers.length === 0) {
      return this.#ack(type, packetId);
    }
    this.#answers.push({ type, packetId, reasonCode: 0, properties: {} });
    this.#answerTimer ??= setTimeout(() => this.#flush(), this.answerDelayMs?.() ?? 0);
  }

  #flush(): void {
    clearTimeout(this.#answerTimer);
    this.#answerTimer = undefined;
    for (const answer of this.#answers.splice(0)) this.#send(answer);
  }

  #ack(type: AckPacket['type'], packetId: number): void {
    this.#send({ type, packetId, reasonCode: 0, properties: {} });
  }

  #send(packet: Packet): void {
    this.trace?.(tracePacket(this.spec.name, '→', packet));
    this.#link?.send(packet);
  }

  #newId(): number {
    const from = this.spec.reusesIds ? 0 : this.#lastId;
    let id = from;
    do id = (id % 0xffff) + 1;
    while (this.#outgoing.has(id) || this.wishes.hasId(id));
    this.#lastId = id;
    return id;
  }

  #object(what: string): void {
    this.books.violations.add('protocol', `the broker ${what}, client "${this.spec.name}"`);
  }
}
