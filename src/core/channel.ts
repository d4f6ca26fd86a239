// One client on one connection: what was agreed at CONNECT, and the verbs by which the broker speaks
// to it. The packets it sends are handled in on-*.ts, each of which is given a Channel; bytes come
// in through connection.ts. Law: after `close` nothing more is sent and nothing more is heard.

import { describeError } from '#base/errors';
import type { TokenBucket } from '#base/token-bucket';
import { encodePacket } from '#wire/encode';
import type { AckPacket, Packet, PacketType, Properties, ProtocolVersion, QoS } from '#wire/packet';
import { Reason, reasonWord } from '#wire/reason-codes';
import type { ZoneSettings } from '#config/settings';
import type { ClientInfo } from '#hooks/table';
import { AckOrder, type AckType } from './ack-order.ts';
import type { InboundAliases, OutboundAliases } from './aliases.ts';
import type { AuthExchange } from './auth-exchange.ts';
import { askDeliver } from './ask-deliver.ts';
import type { Core } from './context.ts';
import type { Delivery, FrameRun, Link, Sent } from './delivery.ts';
import type { ExpressSender } from './express-lane.ts';
import type { Message } from './message.ts';
import { Metric } from './metrics.ts';
import { Outbox, type OutboxOwner, sharedPieceBytesMin } from './outbox.ts';
import type { ListenerFace, Transport, Wait } from './ports.ts';
import { mayPublishAt } from './publish-right.ts';
import { type Receiver, writePublish } from './publish-writer.ts';
import { shortened } from './reason-text.ts';
import type { Replay } from './replay.ts';
import { Replays } from './replays.ts';
import type { RightsMemory } from './rights.ts';
import type { Route } from './router.ts';
import type { Session } from './session.ts';
import type { StoredWill } from './store-port.ts';

/** No packet can be longer: five bytes of header and the largest remaining length. */
export const anyPacketBytes: number = 268_435_460;

/** How many bytes each acknowledgement takes without reason and properties. */
const ackBytes = 4;
/** First byte and counter of each. */
const acks = {
  puback: [0x40, Metric.pubackSent],
  pubrec: [0x50, Metric.pubrecSent],
  pubrel: [0x62, Metric.pubrelSent],
  pubcomp: [0x70, Metric.pubcompSent],
} as const;
const sentMetrics: { readonly [T in SentPacketType]: number } = {
  puback: acks.puback[1],
  pubrec: acks.pubrec[1],
  pubrel: acks.pubrel[1],
  pubcomp: acks.pubcomp[1],
  connack: Metric.connack,
  suback: Metric.suback,
  unsuback: Metric.unsuback,
  pingresp: Metric.pingresp,
  disconnect: Metric.disconnectSent,
  auth: Metric.authSent,
};
/** What we send besides PUBLISH. */
export type SentPacketType = Exclude<
  PacketType,
  'connect' | 'publish' | 'subscribe' | 'unsubscribe' | 'pingreq'
>;

/**
 * Why a connection is not read: a handler waits for somebody; the client does not read us; the node
 * is overloaded and the client publishes; too many of its publishes wait for the store.
 */
export const PauseCause = { handler: 1, outbox: 2, overload: 4, store: 8 } as const;
export type PauseCause = (typeof PauseCause)[keyof typeof PauseCause];

/** The connection around a channel. */
export interface ChannelWatch {
  onOpen(): void;
  /** Reading goes on after a pause. */
  onReading(): void;
  onEnd(reason: string): void;
}

/** Publishes of one client that wait for the store; over it the client is not read. */
const unacknowledgedMax = 4096;

export class Channel implements OutboxOwner, Link, Receiver, ExpressSender {
  readonly core: Core;
  readonly transport: Transport;
  readonly listener: ListenerFace;
  /** As its client was told of it at CONNECT; see `Retained.offeredBy`. */
  zone: ZoneSettings;
  readonly outbox: Outbox;
  /** connecting: CONNECT has not been answered; open; closed: the last word has been said. */
  state: 'connecting' | 'open' | 'closed' = 'connecting';
  version: ProtocolVersion = 4;
  /** Asked for on every packet, hence beside `version`. */
  isV5 = false;
  isBridge = false;
  /** Undefined until CONNECT says who it is. */
  client: ClientInfo | undefined;
  session: Session | undefined;
  will: StoredWill | undefined;
  keepaliveSeconds = 0;
  packetBytesMax: number = anyPacketBytes;
  rawVersion: 0 | 4 | 5 = 0;
  mountpoint = '';
  isExpress = false;
  /** Nothing but rights of this client's QoS 1 publishes has to be checked; see `isOrdinary` in on-publish. */
  isUnchecked = false;
  isControlled = true;
  /** What it was allowed and refused lately; null: nothing was asked yet. */
  rights: RightsMemory | null = null;
  /** Reason strings and user properties are wanted [MQTT-3.1.2-29]. */
  wantsProblemInfo = true;
  aliases: OutboundAliases | null = null;
  inboundAliases: InboundAliases | null = null;
  lastRoute: Route | null = null;
  /** `publish_limit`, when the zone has one. */
  pace: TokenBucket | undefined;
  auth: AuthExchange | undefined;
  authMethod: string | undefined;
  #acks: AckOrder | undefined;
  #replays: Replays | undefined;
  receivedMessages = 0;
  receivedPackets = 0;
  sentMessages = 0;
  sentPackets = 0;
  /** Why nothing is read at the moment. */
  #pauses = 0;
  readonly #watch: ChannelWatch;

  constructor(
    core: Core,
    transport: Transport,
    listener: ListenerFace,
    zone: ZoneSettings,
    watch: ChannelWatch,
  ) {
    this.core = core;
    this.transport = transport;
    this.listener = listener;
    this.zone = zone;
    this.#watch = watch;
    this.outbox = new Outbox(transport, core.flusher, zone.maxOutboxBytes, core.metrics, this);
  }

  /** CONNECT was accepted. */
  open(): void {
    this.state = 'open';
    this.#watch.onOpen();
  }

  /** Stops reading, for one reason among several; reading goes on when all are over. */
  pause(cause: PauseCause): void {
    if (this.#pauses === 0) this.transport.pause();
    this.#pauses |= cause;
  }

  unpause(cause: PauseCause): void {
    if ((this.#pauses & cause) === 0) return;
    this.#pauses &= ~cause;
    if (this.#pauses !== 0 || this.isClosed) return;
    this.#watch.onReading();
    this.transport.resume();
  }

  get isClosed(): boolean {
    return this.state === 'closed';
  }

  mayPublish(route: Route): boolean {
    return mayPublishAt(this, route);
  }

  /** The client once it is known: who publishes, subscribes, and is told to hooks. */
  get publisher(): ClientInfo {
    return this.client as ClientInfo;
  }

  /** False: the client accepts no packet of that size, or nothing at all any more. */
  send(packet: Packet & { type: SentPacketType }): boolean {
    if (this.state === 'closed') return false;
    const bytes = this.#fit(packet);
    if (bytes === undefined) return false;
    this.outbox.copy(bytes, 0, bytes.length);
    this.#countSent(packet.type);
    return true;
  }

  /** Within the client's limit, at the cost of the words about it [MQTT-3.2.2-19] and its like. */
  #fit(packet: Packet): Buffer | undefined {
    const bytes = encodePacket(packet, this.version);
    if (bytes.length <= this.packetBytesMax) return bytes;
    if (!('properties' in packet)) return undefined;
    const { reasonString: _, userProperties: __, ...bare } = packet.properties;
    const shorter = encodePacket({ ...packet, properties: bare }, this.version);
    return shorter.length <= this.packetBytesMax ? shorter : undefined;
  }

  /** Text for people, when the client has not asked to be spared it. It may quote the client. */
  problem(text: string | undefined): Properties {
    if (!this.isV5 || !this.wantsProblemInfo || text === undefined) return {};
    return { reasonString: shortened(text) };
  }

  #countSent(type: SentPacketType): void {
    const { metrics } = this.core;
    this.sentPackets++;
    metrics.add(sentMetrics[type]);
  }

  /** The common acknowledgement is four bytes; a reason or a text makes it a packet of its own. */
  sendAck(type: AckPacket['type'], packetId: number, reasonCode: number, text?: string): void {
    if (this.state === 'closed') return;
    if (this.isV5 && reasonCode !== 0) {
      this.send({ type, packetId, reasonCode, properties: this.problem(text) });
      return;
    }
    // The commonest by far, and a name written out costs no lookup.
    const [header, metric] = type === 'puback' ? acks.puback : acks[type];
    const at = this.outbox.reserve(ackBytes);
    const slab = this.outbox.slab as Buffer;
    slab[at] = header;
    slab[at + 1] = 2;
    slab[at + 2] = packetId >> 8;
    slab[at + 3] = packetId & 0xff;
    this.sentPackets++;
    this.core.metrics.add(metric);
  }

  sendPubrel(packetId: number): void {
    this.sendAck('pubrel', packetId, Reason.success);
  }

  /** Acknowledges a publish once `wait` is over, never before an earlier one. */
  acknowledge(type: AckType, packetId: number, code: number, wait: Wait, text?: string): void {
    if (wait === undefined && (this.#acks === undefined || this.#acks.size === 0)) {
      this.sendAck(type, packetId, code, text);
    } else this.#acknowledgeLater(type, packetId, code, wait, text);
  }

  #acknowledgeLater(
    type: AckType,
    packetId: number,
    code: number,
    wait: Wait,
    text: string | undefined,
  ): void {
    this.#acks ??= new AckOrder(
      (ack) => {
        this.sendAck(ack.type, ack.packetId, ack.reasonCode, ack.text);
        this.#onAcknowledged();
      },
      (error, ack) => {
        this.#refuseUnstored(error, ack.type, ack.packetId);
        this.#onAcknowledged();
      },
    );
    this.#acks.push({ type, packetId, reasonCode: code, text }, wait);
    if (this.#acks.size >= unacknowledgedMax) this.pause(PauseCause.store);
  }

  #onAcknowledged(): void {
    if ((this.#acks?.size ?? 0) <= unacknowledgedMax / 2) this.unpause(PauseCause.store);
  }

  /** QoS 1 publishes that wait for their acknowledgement; QoS 2 ones are counted by the session. */
  get unacknowledgedQos1(): number {
    return this.#acks?.pubacks ?? 0;
  }

  /** The store failed: the publisher must not believe that the message is safe. */
  #refuseUnstored(error: unknown, type: AckType, packetId: number): void {
    // The store has raised an alarm; a line for each of its victims would say nothing more.
    const clientId = this.client?.clientId;
    this.core.log.debug('store.failed', { clientId, error: describeError(error) });
    if (!this.isV5) this.close('store_failed');
    if (this.isClosed) return;
    const text = 'Cannot store the message: the store failed';
    this.sendAck(type, packetId, Reason.implementationSpecificError, text);
    if (type === 'pubrec') this.session?.refused(packetId);
  }

  hasRoom(bytes: number): boolean {
    return this.outbox.hasRoom(bytes);
  }

  get isFlowing(): boolean {
    return this.outbox.isFlowing;
  }

  sendRun(run: FrameRun): boolean {
    const length = run.end - run.start;
    if (this.session?.out.isClearForQos0 !== true || !this.outbox.hasRoom(length)) return false;
    if (length < sharedPieceBytesMin) {
      this.outbox.copy(run.bytes, run.start, run.end);
    } else {
      run.piece ??= Buffer.from(run.bytes.subarray(run.start, run.end));
      this.outbox.share(run.piece);
    }
    const { count } = run;
    this.session.out.delivered += count;
    this.sentMessages += count;
    this.sentPackets += count;
    this.core.metrics.add(Metric.qos0Sent, count);
    return true;
  }

  sendPublish(
    message: Message,
    delivery: Delivery,
    qos: QoS,
    packetId: number,
    isDuplicate: boolean,
  ): Sent {
    const { hooks, metrics, timers } = this.core;
    let seen = message;
    if (hooks.lists['message.deliver'] !== null) {
      const asked = askDeliver(hooks, this.publisher, message.own());
      if (asked === undefined) return 'dropped';
      // Whoever was asked may have ended this very connection.
      if (this.isClosed) return 'gone';
      seen = asked;
    }
    const sent = writePublish(this, seen, delivery, qos, packetId, isDuplicate, timers.nowMs);
    if (sent !== 'sent') return sent;
    this.sentMessages++;
    this.sentPackets++;
    metrics.add(Metric.qos0Sent + qos);
    if (hooks.lists['message.sent'] !== null) {
      hooks.tell('message.sent', this.publisher, seen.own(), qos, isDuplicate);
    }
    return 'sent';
  }

  /** Retained messages for a new subscription; they leave as fast as the client reads. */
  replay(replay: Replay): void {
    if (this.session === undefined) return;
    this.#replays ??= new Replays(this.session.out, (error) => this.onFault(error));
    this.#replays.add(replay);
  }

  stopReplay(filter: string): void {
    this.#replays?.stop(filter);
  }

  get isReplaying(): boolean {
    return this.#replays?.isActive === true;
  }

  goOnReplaying(): void {
    this.#replays?.goOn();
  }

  /** The transport has sent what it held back. */
  drained(): void {
    this.outbox.drained();
  }

  /** Our own fault: it ends this client and nobody else. */
  onFault(error: unknown): void {
    const clientId = this.client?.clientId;
    this.core.log.error('connection.failed', { clientId, error: describeError(error) });
    this.close('internal_error', Reason.unspecifiedError);
  }

  /** The outbox is below its bound again. */
  onRoom(): void {
    if (this.isClosed) return;
    this.unpause(PauseCause.outbox);
    if (this.state === 'open') this.session?.out.pump();
  }

  evict(reason: 'conflict' | 'discard' | 'kicked'): void {
    const code = reason === 'kicked' ? Reason.administrativeAction : Reason.sessionTakenOver; // [MQTT-3.1.4-3]
    this.close(reason, code);
  }

  /**
   * Ends the connection. An MQTT 5 client that is connected is told the code [MQTT-4.13.1-1], with
   * what goes with it. `reason` is the word that statistics and hooks see.
   */
  close(reason: string, code?: number, properties: Properties = {}): void {
    if (this.state === 'closed') return;
    if (code !== undefined && this.isV5 && this.state === 'open') {
      this.send({ type: 'disconnect', reasonCode: code, properties });
    }
    this.state = 'closed';
    this.#watch.onEnd(reason);
    this.outbox.end();
  }

  /** Ends the connection because of what the client did. */
  closeFor(code: number, text: string): void {
    this.core.log.info('client.refused', {
      clientId: this.client?.clientId,
      peer: this.transport.peer.address,
      reason: reasonWord(code),
      text: shortened(text),
    });
    this.close(reasonWord(code), code, this.problem(text));
  }
}
