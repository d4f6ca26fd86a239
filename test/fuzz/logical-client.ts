// A client as the model knows it: one name over many connections, with the state that MQTT wants a
// client to keep between them (what it has not been acknowledged, which QoS 2 ids it knows). It reads
// all the time, answers sooner or later but in order, and tells the model what it got.

import assert from 'node:assert/strict';
import type { TestBroker } from '#test/broker';
import type { PacketOf, RawClient } from '#test/raw-client';
import type { Packet, ProtocolVersion, PublishPacket, QoS } from '#wire/packet';
import { type DeliveryModel, type Sent, SessionRecord } from './delivery-model.ts';
import type { Random } from './random.ts';

interface Outgoing {
  readonly packet: PublishPacket;
  readonly sent: Sent;
  isReleased: boolean;
}

/** Longer than any run: a client only ever stops reading because its connection ended. */
const readDeadlineMs = 60_000;

export class LogicalClient {
  readonly name: string;
  readonly version: ProtocolVersion;
  readonly isDurable: boolean;
  readonly #broker: TestBroker;
  readonly #model: DeliveryModel;
  readonly #random: Random;
  session: SessionRecord | undefined;
  #connection: RawClient | undefined;
  #reading: Promise<void> = Promise.resolve();
  readonly #outgoing = new Map<number, Outgoing>();
  readonly #incoming = new Set<number>();
  #inboundAliases = new Map<number, string>();
  #outboundAliases = new Map<string, number>();
  #answers: Packet[] = [];
  #waiting = new Map<string, (packet: Packet) => void>();
  #lastId = 0;
  #sequence = 0;
  #will: Sent | undefined;
  #hasLeft = false;
  /** QoS 0 messages that the broker may not have read yet. */
  #unsure: Sent[] = [];
  /** What this client saw and should not have. */
  failure: unknown;
  /** Wills that the broker owes the world, and those it must not publish. */
  readonly wills: { due: Sent[]; takenBack: Sent[] } = { due: [], takenBack: [] };

  constructor(
    name: string,
    version: ProtocolVersion,
    isDurable: boolean,
    parts: { broker: TestBroker; model: DeliveryModel; random: Random },
  ) {
    this.name = name;
    this.version = version;
    this.isDurable = isDurable;
    this.#broker = parts.broker;
    this.#model = parts.model;
    this.#random = parts.random;
  }

  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  get hasUnacknowledged(): boolean {
    return this.#outgoing.size > 0;
  }

  /** Connects, or takes the session over from the connection there is. */
  async connect(options: { cleanStart?: boolean; hasWill?: boolean } = {}): Promise<void> {
    const cleanStart = options.cleanStart === true || !this.isDurable;
    const isResumed = this.session !== undefined && !this.session.isOver && !cleanStart;
    const before = this.#connection === undefined ? undefined : this.#reading;
    this.#lose();
    const next = await this.#broker.open(this.version);
    const will = options.hasWill === true ? this.#newWill() : undefined;
    const connack = await next.connect({
      clientId: this.name,
      cleanStart,
      ...(will && { will: { topic: will.topic, payload: will.key, qos: will.qos } }),
      properties: this.version === 5 ? this.#connectProperties() : {},
    });
    assert.equal(connack.reasonCode, 0);
    if (this.version > 3) assert.equal(connack.sessionPresent, isResumed, `"${this.name}"`);
    await before; // what came on the old connection came first
    if (!isResumed) this.#beginSession();
    this.#will = will;
    this.#inboundAliases = new Map();
    this.#outboundAliases = new Map();
    this.#answers = [];
    this.#hasLeft = false;
    this.#connection = next;
    if (this.session !== undefined) this.session.disturbedRound = this.#model.round;
    this.#reading = this.#read(next).catch((error: unknown) => {
      this.failure ??= error;
    });
    for (const { packet, isReleased } of this.#outgoing.values()) {
      // [MQTT-4.4.0-1]
      if (isReleased) next.ack('pubrel', packet.packetId);
      else next.send({ ...packet, dup: true });
    }
  }

  #connectProperties(): object {
    return {
      sessionExpirySeconds: this.isDurable ? 10_000 : 0,
      ...(this.#random.chance(50) && { receiveMaximum: 1 + this.#random.below(8) }),
      ...(this.#random.chance(50) && { topicAliasMaximum: 1 + this.#random.below(4) }),
    };
  }

  #newWill(): Sent {
    return this.#model.entrust(this.name, this.#sequence++, `w/${this.name}`, 1);
  }

  #beginSession(): void {
    if (this.session !== undefined) this.session.isOver = true;
    this.session = new SessionRecord(this.name);
    this.#model.sessions.push(this.session);
    this.#forgetState();
  }

  #forgetState(): void {
    for (const { sent } of this.#outgoing.values()) sent.isDisturbed = true;
    this.#outgoing.clear();
    this.#incoming.clear();
  }

  /** The connection is, or is about to be, gone without a DISCONNECT. */
  #lose(): void {
    if (this.#connection === undefined) return;
    this.#connection = undefined;
    if (this.#will !== undefined) this.wills.due.push(this.#will);
    this.#will = undefined;
    this.#endConnection();
  }

  #endConnection(): void {
    this.#hasLeft = true;
    for (const { sent } of this.#outgoing.values()) sent.isDisturbed = true;
    for (const sent of this.#unsure.splice(0)) sent.isDisturbed = true;
    const { session } = this;
    if (session === undefined) return;
    session.disturbedRound = this.#model.round;
    if (this.isDurable) return;
    session.isOver = true;
    this.#forgetState();
  }

  async drop(): Promise<void> {
    const connection = this.#connection;
    this.#lose();
    connection?.destroy();
    await this.#reading;
  }

  async leave(): Promise<void> {
    const connection = this.#connection;
    if (connection === undefined) return;
    this.flush();
    if (this.#will !== undefined) this.wills.takenBack.push(this.#will);
    this.#will = undefined;
    this.#hasLeft = true;
    connection.send({ type: 'disconnect', reasonCode: 0, properties: {} });
    await this.#reading;
    this.#connection = undefined;
    this.#endConnection();
  }

  async subscribe(filter: string, qos: QoS): Promise<void> {
    const packetId = this.#newId();
    const options = { noLocal: false, retainAsPublished: false, retainHandling: 0 } as const;
    this.session?.subscribe(filter, qos, this.#model.round);
    const filters = [{ filter, qos, ...options }];
    const suback = await this.#ask(
      { type: 'subscribe', packetId, filters, properties: {} },
      'suback',
    );
    assert.deepEqual((suback as PacketOf<'suback'>).reasonCodes, [qos]);
  }

  async unsubscribe(filter: string): Promise<void> {
    const packetId = this.#newId();
    await this.#ask(
      { type: 'unsubscribe', packetId, filters: [filter], properties: {} },
      'unsuback',
    );
    this.session?.unsubscribe(filter, this.#model.round);
  }

  publish(topic: string, qos: QoS, retain: boolean, bytes: number): Sent {
    const sent = this.#model.send(this.name, this.#sequence++, topic, qos);
    const packetId = qos === 0 ? 0 : this.#newId();
    const payload = Buffer.from(`${sent.key} `.padEnd(bytes, '.'));
    const flags = { qos, dup: false, retain, packetId };
    const packet: PublishPacket = { type: 'publish', topic, payload, properties: {}, ...flags };
    if (qos > 0) this.#outgoing.set(packetId, { packet, sent, isReleased: false });
    else this.#unsure.push(sent);
    this.#connection?.send(this.#aliased(packet));
    return sent;
  }

  /** MQTT 5 clients name topics by alias now and then. */
  #aliased(packet: PublishPacket): PublishPacket {
    const { topicAliasMaximum: max = 0 } = this.#connection?.connack?.properties ?? {};
    if (max === 0 || this.#random.chance(50)) return packet;
    const known = this.#outboundAliases.get(packet.topic);
    if (known !== undefined) return { ...packet, topic: '', properties: { topicAlias: known } };
    const topicAlias = 1 + this.#random.below(Math.min(max, 3));
    for (const [topic, alias] of this.#outboundAliases) {
      if (alias === topicAlias) this.#outboundAliases.delete(topic);
    }
    this.#outboundAliases.set(packet.topic, topicAlias);
    return { ...packet, properties: { topicAlias } };
  }

  /** Sends every answer that is owed, and hears the answer to a ping. */
  async ping(): Promise<void> {
    this.flush();
    await this.#ask({ type: 'pingreq' }, 'pingresp');
    this.#unsure.length = 0;
  }

  flush(): void {
    for (const answer of this.#answers.splice(0)) this.#connection?.send(answer);
  }

  async #ask(packet: Packet, answer: Packet['type']): Promise<Packet> {
    const { promise, resolve } = Promise.withResolvers<Packet>();
    this.#waiting.set(answer, resolve);
    this.#connection?.send(packet);
    const lost = this.#reading.then(() => {
      throw this.failure ?? new Error(`"${this.name}" waits for ${answer}: disconnected`);
    });
    return Promise.race([promise, lost]);
  }

  #newId(): number {
    do this.#lastId = (this.#lastId % 0xffff) + 1;
    while (this.#outgoing.has(this.#lastId));
    return this.#lastId;
  }

  async #read(connection: RawClient): Promise<void> {
    for (;;) {
      let packet: Packet;
      try {
        packet = await connection.next(undefined, readDeadlineMs);
      } catch (error) {
        const isOurs = this.#hasLeft || this.#connection !== connection;
        assert.ok(isOurs, `"${this.name}" was disconnected: ${String(error)}`);
        return;
      }
      this.#take(packet, connection);
    }
  }

  #take(packet: Packet, connection: RawClient): void {
    if (packet.type === 'publish') this.#takePublish(packet);
    else if (packet.type === 'puback' || packet.type === 'pubrec')
      this.#takeAck(packet, connection);
    else if (packet.type === 'pubcomp') this.#outgoing.delete(packet.packetId);
    else if (packet.type === 'pubrel') {
      this.#incoming.delete(packet.packetId);
      this.#answer({ type: 'pubcomp', packetId: packet.packetId, reasonCode: 0, properties: {} });
    } else if (packet.type === 'disconnect') {
      const isTakenOver = this.#connection !== connection && packet.reasonCode === 0x8e;
      assert.ok(isTakenOver, `"${this.name}" was told DISCONNECT ${packet.reasonCode}`);
    } else this.#waiting.get(packet.type)?.(packet);
  }

  #takePublish(packet: PublishPacket): void {
    const { topicAlias } = packet.properties;
    const topic = packet.topic || (this.#inboundAliases.get(topicAlias ?? 0) ?? '');
    if (topicAlias !== undefined) this.#inboundAliases.set(topicAlias, topic);
    const { packetId, qos } = packet;
    const isKnown = qos === 2 && this.#incoming.has(packetId);
    if (qos === 2) this.#incoming.add(packetId);
    if (!isKnown && this.session !== undefined) {
      this.#model.received(this.session, { ...packet, topic });
    }
    if (qos === 0) return;
    const type = qos === 1 ? 'puback' : 'pubrec';
    this.#answer({ type, packetId, reasonCode: 0, properties: {} });
  }

  #takeAck({ type, packetId, reasonCode }: PacketOf<'puback'>, connection: RawClient): void {
    const outgoing = this.#outgoing.get(packetId);
    // The last words of a connection whose session has ended meanwhile.
    if (outgoing === undefined && this.#connection !== connection) return;
    assert.ok(outgoing !== undefined, `"${this.name}" got ${type} ${packetId}: not in flight`);
    assert.equal(type, outgoing.packet.qos === 1 ? 'puback' : 'pubrec');
    assert.ok(reasonCode < 0x80);
    outgoing.sent.isAcked = true;
    if (type === 'puback') this.#outgoing.delete(packetId);
    else outgoing.isReleased = true;
    if (type === 'pubrec') connection.ack('pubrel', packetId);
  }

  /** In order, but not always at once. */
  #answer(packet: Packet): void {
    this.#answers.push(packet);
    if (this.#random.chance(70)) this.flush();
  }
}
