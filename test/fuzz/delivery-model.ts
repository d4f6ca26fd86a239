// What must reach whom: every message a fuzz sends, every session's subscriptions over time, and what
// each session has received. Time is counted in rounds; subscriptions change only between publishes,
// so that who matches is certain. Laws checked: at least once, exactly once, order, no strangers.

import assert from 'node:assert/strict';
import { matches } from '#topics/match';
import type { PublishPacket, QoS } from '#wire/packet';

export interface Sent {
  readonly key: string;
  readonly publisher: string;
  readonly sequence: number;
  readonly topic: string;
  readonly qos: QoS;
  readonly round: number;
  /** The publisher was told that the broker has it. */
  isAcked: boolean;
  /** It may have reached the broker twice or not at all. */
  isDisturbed: boolean;
}

interface Held {
  readonly filter: string;
  readonly qos: QoS;
  readonly from: number;
  to: number;
}

/** One session from its beginning to its end; a client that starts anew gets another one. */
export class SessionRecord {
  readonly clientId: string;
  readonly held: Held[] = [];
  readonly counts: Map<string, number> = new Map();
  readonly owed: { readonly sent: Sent; readonly qos: QoS }[] = [];
  readonly replays: Sent[] = [];
  readonly #last = new Map<string, number>();
  isOver = false;
  /** The last round in which it lost a connection, or was without one. */
  disturbedRound = -1;

  constructor(clientId: string) {
    this.clientId = clientId;
  }

  get filters(): string[] {
    return this.#current.map(({ filter }) => filter);
  }

  get #current(): Held[] {
    return this.held.filter(({ to }) => to === Number.POSITIVE_INFINITY);
  }

  subscribe(filter: string, qos: QoS, round: number): void {
    this.unsubscribe(filter, round);
    this.held.push({ filter, qos, from: round, to: Number.POSITIVE_INFINITY });
  }

  unsubscribe(filter: string, round: number): void {
    for (const held of this.#current) if (held.filter === filter) held.to = round;
  }

  /** The QoS it may expect for a topic now; undefined: it is not subscribed to it. */
  granted(topic: string): QoS | undefined {
    const hits = this.#current.filter(({ filter }) => !isShared(filter) && matches(filter, topic));
    return hits.length === 0 ? undefined : (Math.max(...hits.map(({ qos }) => qos)) as QoS);
  }

  receive(sent: Sent, packet: PublishPacket): void {
    const { key, topic, round } = sent;
    // Retained messages are older than the subscription; so may be what another member left.
    const mayBeOlder = packet.retain || topic.startsWith('s/');
    const isWanted = this.held.some(
      ({ filter, from, to }) =>
        matches(plain(filter), topic) && (mayBeOlder || from <= round) && round <= to,
    );
    assert.ok(isWanted, `"${this.clientId}" got "${key}" on "${topic}": not subscribed to it`);
    if (packet.retain) {
      this.replays.push(sent);
      return;
    }
    const count = (this.counts.get(key) ?? 0) + 1;
    this.counts.set(key, count);
    // Of a message that its publisher sent twice, a QoS 0 receiver may have lost the first copy.
    const isSecondCopy = packet.qos === 0 && sent.isDisturbed;
    if (count === 1 && !topic.startsWith('s/') && !isSecondCopy) this.#checkOrder(sent);
  }

  /** [MQTT-4.6.0-5], by the first arrival of each message. */
  #checkOrder({ publisher, topic, qos, sequence, key }: Sent): void {
    const stream = `${publisher} ${topic} ${qos}`;
    const last = this.#last.get(stream) ?? -1;
    assert.ok(
      sequence > last,
      `"${this.clientId}" got "${key}" after number ${last}: out of order`,
    );
    this.#last.set(stream, sequence);
  }
}

export const isShared = (filter: string): boolean => filter.startsWith('$share/');
const plain = (filter: string): string =>
  isShared(filter) ? filter.split('/').slice(2).join('/') : filter;

export class DeliveryModel {
  readonly #sent = new Map<string, Sent>();
  readonly #mayDropQos0: boolean;
  readonly sessions: SessionRecord[] = [];
  round = 0;

  /** `mayDropQos0`: outboxes are so narrow that QoS 0 messages need not arrive. */
  constructor(mayDropQos0: boolean) {
    this.#mayDropQos0 = mayDropQos0;
  }

  /** A message is about to be sent: everyone subscribed now is owed it. */
  send(publisher: string, sequence: number, topic: string, qos: QoS): Sent {
    const sent = this.#enter(publisher, sequence, topic, qos, this.round);
    for (const session of this.sessions) {
      const granted = session.isOver ? undefined : session.granted(topic);
      if (granted === undefined) continue;
      session.owed.push({ sent, qos: Math.min(qos, granted) as QoS });
    }
    return sent;
  }

  /** A will: whether and when it is sent is the broker's to decide. */
  entrust(publisher: string, sequence: number, topic: string, qos: QoS): Sent {
    return this.#enter(publisher, sequence, topic, qos, Number.POSITIVE_INFINITY);
  }

  #enter(publisher: string, sequence: number, topic: string, qos: QoS, round: number): Sent {
    const key = `${publisher}:${sequence}`;
    const flags = { isAcked: false, isDisturbed: false };
    const sent: Sent = { key, publisher, sequence, topic, qos, round, ...flags };
    this.#sent.set(key, sent);
    return sent;
  }

  received(session: SessionRecord, packet: PublishPacket): void {
    const key = packet.payload.toString('latin1').split(' ')[0] as string;
    const sent = this.#sent.get(key);
    assert.ok(sent !== undefined, `"${session.clientId}" got "${key}": nobody sent it`);
    assert.equal(packet.topic, sent.topic);
    session.receive(sent, packet);
  }

  /** Everything has come to rest: what sessions that are connected are owed must be there. */
  settle(isConnected: (session: SessionRecord) => boolean): void {
    for (const session of this.sessions) {
      if (session.isOver) session.owed.length = 0;
      if (!isConnected(session)) continue;
      for (const { sent, qos } of session.owed.splice(0)) this.#check(session, sent, qos);
    }
  }

  #check(session: SessionRecord, sent: Sent, qos: QoS): void {
    const count = session.counts.get(sent.key) ?? 0;
    const isQuiet = !sent.isDisturbed && session.disturbedRound < sent.round;
    const told = `"${session.clientId}" got "${sent.key}" on "${sent.topic}" (QoS ${qos}) ${count} times`;
    const isDroppable = qos === 0 && this.#mayDropQos0;
    if (isQuiet && !isDroppable) assert.equal(count, 1, `${told}: undisturbed`);
    if (sent.isAcked && qos === 1) assert.ok(count >= 1, `${told}: acknowledged`);
    if (sent.isAcked && qos === 2) assert.equal(count, 1, `${told}: acknowledged`);
    if (sent.qos !== 1 && qos !== 1) assert.ok(count <= 1, `${told}: at most once`);
  }

  /** What was acknowledged on topics of a shared subscription came to some member of its group. */
  settleShared(): void {
    for (const sent of this.#sent.values()) {
      if (!sent.topic.startsWith('s/') || !sent.isAcked) continue;
      const count = this.sessions.reduce((sum, { counts }) => sum + (counts.get(sent.key) ?? 0), 0);
      assert.ok(count >= 1, `"${sent.key}" on "${sent.topic}" came to no member of the group`);
    }
  }
}
