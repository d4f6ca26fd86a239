// A client that keeps its side of a session while the broker's store fails: it takes a refusal for what
// it is, comes again when it is closed, and repeats what was never answered, under the same packet id
// [MQTT-4.4.0-1]. What it was answered and what it got is open to whoever compares.

import type {
  AckPacket,
  ConnackPacket,
  Packet,
  ProtocolVersion,
  PublishPacket,
  QoS,
} from '#wire/packet';
import type { Watch } from '#test/watch';
import { Link, type LinkOwner } from './link.ts';

export interface StubbornSpec {
  readonly name: string;
  readonly version: Exclude<ProtocolVersion, 3>;
  /** MQTT 5; before it the zone decides. */
  readonly expirySeconds: number;
  readonly will?: { readonly topic: string; readonly payload: string };
}

export interface Sent {
  readonly topic: string;
  readonly payload: string;
  readonly qos: QoS;
  readonly retain: boolean;
  /** What the broker said last; undefined: nothing. */
  answer: 'accepted' | 'refused' | undefined;
  /** It was sent on more than one connection. */
  isRepeated: boolean;
}

interface Outgoing {
  readonly packet: PublishPacket;
  readonly sent: Sent;
  isReleased: boolean;
}

/** Real time; the broker's own moves many times as fast. */
const deadlineMs = 4000;
/** So often it comes back for one thing that it wants. */
const triesMax = 3;

export class StubbornClient implements LinkOwner {
  readonly spec: StubbornSpec;
  /** Payloads in the order they came, a QoS 2 message once for each packet id. */
  readonly received: string[] = [];
  /** Filters that the broker has granted and not taken back. */
  readonly granted: Map<string, QoS> = new Map();
  /** Shared subscriptions that it ever asked for: what it gets may be theirs. */
  readonly groups: Set<string> = new Set();
  /** The broker has acknowledged something that its session has to remember. */
  isKnown = false;
  /** What the broker did that no broker may do. */
  readonly faults: string[] = [];
  readonly #watch: Watch;
  readonly #outgoing = new Map<number, Outgoing>();
  readonly #incoming = new Map<number, string>();
  #port = 0;
  #link: Link | undefined;
  #connack: ConnackPacket | undefined;
  #answers = new Map<number, readonly number[]>();
  #pongs = 0;
  #lastId = 0;

  /** `watch` is told of everything that happens to it. */
  constructor(spec: StubbornSpec, watch: Watch) {
    this.spec = spec;
    this.#watch = watch;
  }

  get isOnline(): boolean {
    return this.#connack !== undefined;
  }

  /** False: the broker did not let it in. */
  async connect(port: number = this.#port, isClean?: boolean): Promise<boolean> {
    const { name, version, expirySeconds, will } = this.spec;
    this.cut();
    this.#port = port;
    this.#link = new Link(port, version, this);
    this.#link.send({
      type: 'connect',
      version,
      isBridge: false,
      cleanStart: isClean ?? expirySeconds === 0,
      keepaliveSeconds: 0,
      clientId: name,
      properties: version < 5 ? {} : { sessionExpirySeconds: expirySeconds },
      ...(will && {
        will: {
          topic: will.topic,
          payload: Buffer.from(will.payload),
          qos: 1,
          retain: false,
          properties: {},
        },
      }),
    });
    return this.#soon('CONNACK', () => this.isOnline);
  }

  publish(topic: string, payload: string, qos: QoS, retain = false): Sent {
    const sent: Sent = { topic, payload, qos, retain, answer: undefined, isRepeated: false };
    const packetId = this.#newId();
    const packet: PublishPacket = {
      type: 'publish',
      topic,
      payload: Buffer.from(payload),
      qos,
      dup: false,
      retain,
      packetId,
      properties: {},
    };
    this.#outgoing.set(packetId, { packet, sent, isReleased: false });
    this.#link?.send(packet);
    return sent;
  }

  /** Until everything it sent is answered, or it has come back in vain too often. */
  async settle(): Promise<void> {
    const isAnswered = (): boolean => this.#outgoing.values().every((one) => one.isReleased);
    for (let tries = 0; tries < triesMax; tries++) {
      if (!this.isOnline && !(await this.connect())) continue;
      if (await this.#soon('acknowledgements', isAnswered)) return;
    }
  }

  /** The same, and PUBCOMP has come for each that wants it. */
  async finish(): Promise<void> {
    await this.settle();
    await this.#soon('PUBCOMP', () => this.#outgoing.size === 0);
  }

  async subscribe(filter: string, qos: QoS): Promise<void> {
    const group = /^\$share\/([^/]+)\//.exec(filter)?.[1];
    if (group !== undefined) this.groups.add(group);
    const options = { noLocal: false, retainAsPublished: false, retainHandling: 0 } as const;
    const codes = await this.#ask((packetId) => ({
      type: 'subscribe',
      packetId,
      filters: [{ filter, qos, ...options }],
      properties: {},
    }));
    const code = codes?.[0];
    if (code === undefined || code >= 0x80) return;
    this.granted.set(filter, code as QoS);
    this.isKnown = this.spec.expirySeconds > 0;
  }

  /** Answers whether the broker said yes. */
  async unsubscribe(filter: string): Promise<boolean> {
    const qos = this.granted.get(filter);
    this.granted.delete(filter);
    const codes = await this.#ask((packetId) => ({
      type: 'unsubscribe',
      packetId,
      filters: [filter],
      properties: {},
    }));
    // Before MQTT 5 an UNSUBACK has no codes: it says yes.
    if (codes !== undefined && (codes[0] ?? 0) < 0x80) return true;
    if (codes !== undefined && qos !== undefined) this.granted.set(filter, qos);
    return false;
  }

  /** Says DISCONNECT and sees the end. */
  async leave(): Promise<void> {
    if (!this.isOnline) return;
    this.#link?.send({ type: 'disconnect', reasonCode: 0, properties: {} });
    await this.#soon('the end', () => !this.isOnline);
  }

  /** Its session is over, and it knows that. */
  forget(): void {
    this.isKnown = false;
    this.granted.clear();
  }

  /** The network is lost. */
  cut(): void {
    this.#link?.cut();
  }

  /** True: whatever the broker had to say has come. */
  async ping(): Promise<boolean> {
    const pongs = this.#pongs;
    this.#link?.send({ type: 'pingreq' });
    return this.#soon('PINGRESP', () => this.#pongs > pongs);
  }

  /** False: not in time, or the connection has ended. */
  async until(look: () => boolean): Promise<boolean> {
    return this.#soon(undefined, look);
  }

  onPacket(packet: Packet): void {
    if (packet.type === 'connack') this.#onConnack(packet);
    else if (packet.type === 'publish') this.#onPublish(packet);
    else if (packet.type === 'puback' || packet.type === 'pubrec') this.#onAck(packet);
    else if (packet.type === 'pubrel') this.#onPubrel(packet);
    else if (packet.type === 'pubcomp') this.#outgoing.delete(packet.packetId);
    else if (packet.type === 'pingresp') this.#pongs++;
    else if (packet.type === 'suback' || packet.type === 'unsuback') {
      this.#answers.set(packet.packetId, packet.reasonCodes);
    }
    this.#watch.wake();
  }

  onClosed(fault: Error | undefined): void {
    if (fault !== undefined) this.faults.push(`sent what is not MQTT: ${fault.message}`);
    this.#link = undefined;
    this.#connack = undefined;
    this.#answers.clear();
    this.#watch.wake();
  }

  #onConnack(connack: ConnackPacket): void {
    if (connack.reasonCode !== 0) return;
    this.#connack = connack;
    if (!connack.sessionPresent) {
      if (this.isKnown) this.faults.push('forgot the session');
      this.isKnown = false;
      this.#outgoing.clear();
      this.#incoming.clear();
      this.granted.clear();
    }
    for (const { packet, sent, isReleased } of this.#outgoing.values()) {
      sent.isRepeated = true;
      if (isReleased) this.#ack('pubrel', packet.packetId);
      else this.#link?.send({ ...packet, dup: true });
    }
  }

  #onAck({ type, packetId, reasonCode }: AckPacket): void {
    const outgoing = this.#outgoing.get(packetId);
    if (outgoing === undefined) {
      this.faults.push(`sent ${type} ${packetId}: it is not in flight`);
      return;
    }
    outgoing.sent.answer = reasonCode < 0x80 ? 'accepted' : 'refused';
    // A QoS 1 message that no session has to remember does not wait for the sender's either.
    if (reasonCode < 0x80 && type === 'pubrec') this.isKnown = this.spec.expirySeconds > 0;
    if (type === 'puback' || reasonCode >= 0x80) {
      this.#outgoing.delete(packetId);
      return;
    }
    outgoing.isReleased = true;
    this.#ack('pubrel', packetId);
  }

  #onPublish({ payload, qos, packetId }: PublishPacket): void {
    const name = payload.toString();
    const known = qos === 2 ? this.#incoming.get(packetId) : undefined;
    if (known === undefined) this.received.push(name);
    else if (known !== name) {
      this.faults.push(`sent "${name}" with id ${packetId}, which "${known}" still has`);
    }
    if (qos === 2) this.#incoming.set(packetId, name);
    if (qos > 0) this.#ack(qos === 1 ? 'puback' : 'pubrec', packetId);
  }

  #onPubrel({ packetId }: AckPacket): void {
    this.#incoming.delete(packetId);
    this.#ack('pubcomp', packetId);
  }

  async #ask(
    request: (packetId: number) => Packet & { type: 'subscribe' | 'unsubscribe' },
  ): Promise<readonly number[] | undefined> {
    for (let tries = 0; tries < triesMax; tries++) {
      if (!this.isOnline && !(await this.connect())) continue;
      const packetId = this.#newId();
      this.#link?.send(request(packetId));
      if (await this.#soon('an answer', () => this.#answers.has(packetId))) {
        return this.#answers.get(packetId);
      }
    }
    return undefined;
  }

  /** False when the connection ends before. What does not come at all (`what`) is a fault. */
  async #soon(what: string | undefined, holds: () => boolean): Promise<boolean> {
    const look = (): boolean | undefined =>
      holds() ? true : this.#link === undefined ? false : undefined;
    try {
      return await this.#watch.until(look, deadlineMs, () => new Error());
    } catch {
      if (what !== undefined) this.faults.push(`let it wait for ${what}`);
      return false;
    }
  }

  #ack(type: AckPacket['type'], packetId: number): void {
    this.#link?.send({ type, packetId, reasonCode: 0, properties: {} });
  }

  #newId(): number {
    do this.#lastId = (this.#lastId % 0xffff) + 1;
    while (this.#outgoing.has(this.#lastId));
    return this.#lastId;
  }
}
