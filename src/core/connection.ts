// One network connection: bytes in, packets to their handlers, and the end of it. Awaiting CONNECT →
// open → closed. A new packet or feature is a new on-*.ts or a stage there, never a branch here.
// Laws: whatever a packet does, it ends this connection at most; while a handler waits nothing more
// is read, so packets are handled in the order they came.

import { describeError } from '#base/errors';
import { WheelTimer } from '#base/timers';
import { decodePacket } from '#wire/decode';
import { type FrameSink, Framer } from '#wire/framer';
import type {
  AuthPacket,
  ConnectPacket,
  DisconnectPacket,
  Packet,
  SubscribePacket,
  UnsubscribePacket,
} from '#wire/packet';
import { packetTypes } from '#wire/packet';
import { ProtocolError } from '#wire/protocol-error';
import { Reason } from '#wire/reason-codes';
import type { ZoneSettings } from '#config/settings';
import { Channel, type ChannelWatch, PauseCause } from './channel.ts';
import type { Core } from './context.ts';
import { leave } from './leave.ts';
import { Metric } from './metrics.ts';
import { onAcknowledgement } from './on-acks.ts';
import { onAuth } from './on-auth.ts';
import { onConnect } from './on-connect.ts';
import { onDisconnect } from './on-disconnect.ts';
import { onPublish } from './on-publish.ts';
import { onSubscribe } from './on-subscribe.ts';
import { onUnsubscribe } from './on-unsubscribe.ts';
import type { ListenerFace, Transport, TransportSink, Wait } from './ports.ts';
import type { Pausable } from './pressure.ts';
import { refuseFirst } from './refuse-first.ts';

/** How often a right to be connected is looked at that ends later than that. */
const expiryLookMs = 3_600_000;

type OnFrame = (channel: Channel, bytes: Buffer, start: number, body: number, end: number) => Wait;

/** Handlers by packet type. PUBLISH goes past the table; a type that only servers send has none. */
const handlers: readonly (OnFrame | undefined)[] = handlerTable({
  connect: () => {
    // [MQTT-3.1.0-2]
    throw new ProtocolError(Reason.protocolError, 'Cannot take a second CONNECT');
  },
  puback: onAcknowledgement,
  pubrec: onAcknowledgement,
  pubrel: onAcknowledgement,
  pubcomp: onAcknowledgement,
  subscribe: decoded<SubscribePacket>(Metric.subscribe, onSubscribe),
  unsubscribe: decoded<UnsubscribePacket>(Metric.unsubscribe, onUnsubscribe),
  pingreq: decoded(Metric.pingreq, (channel) => void channel.send({ type: 'pingresp' })), // [MQTT-3.12.4-1]
  disconnect: decoded<DisconnectPacket>(Metric.disconnectReceived, onDisconnect),
  auth: decoded<AuthPacket>(Metric.authReceived, onAuth),
});

/** The first packet of a connection, and no other. */
const firstHandler = decoded<ConnectPacket>(Metric.connect, onConnect);

export class Connection
  extends WheelTimer
  implements TransportSink, FrameSink, ChannelWatch, Pausable
{
  readonly channel: Channel;
  readonly #framer: Framer;
  #lastHeardMs: number;
  #hasConnected = false;
  #isWaiting = false;
  readonly #onGone: (connection: Connection) => void;

  constructor(
    core: Core,
    transport: Transport,
    listener: ListenerFace,
    zone: ZoneSettings,
    onGone: (connection: Connection) => void,
  ) {
    super();
    this.channel = new Channel(core, transport, listener, zone, this);
    this.#framer = new Framer(zone.maxPacketBytes);
    this.#lastHeardMs = core.timers.nowMs;
    this.#onGone = onGone;
    core.timers.schedule(this, zone.idleTimeoutMs);
  }

  receive(bytes: Buffer, start: number, end: number): void {
    const { channel } = this;
    const { core } = channel;
    if (channel.state === 'closed') return;
    this.#lastHeardMs = core.timers.nowMs;
    core.metrics.add(Metric.bytesReceived, end - start);
    const { receivedMessages } = channel;
    const { flusher } = core;
    const isSampled = --flusher.probe.left === 0;
    const isWhole = isSampled && this.#framer.isClear;
    if (isSampled) flusher.probe.begin();
    try {
      this.#framer.push(this, bytes, start, end);
      core.express.flush();
    } catch (error) {
      this.#fail(error);
    }
    if (isSampled) {
      const isTimed = flusher.isScheduled && channel.receivedMessages !== receivedMessages;
      flusher.probe.handled(bytes, start, end, isTimed, isWhole);
    }
    // Whoever does not read our answers gets no further questions in.
    if (!channel.outbox.hasRoom(0)) channel.pause(PauseCause.outbox);
    const { pressure } = flusher;
    pressure.look();
    if (!pressure.isPausing || channel.receivedMessages === receivedMessages) return;
    if (channel.state === 'open') pressure.pause(this);
  }

  frame(bytes: Buffer, start: number, body: number, end: number): boolean {
    const { channel } = this;
    const type = (bytes[start] as number) >> 4;
    channel.receivedPackets++;
    let wait: Wait;
    if (type === packetTypes.publish && channel.state === 'open') {
      wait = onPublish(channel, bytes, start, body, end);
    } else {
      channel.core.express.flush();
      wait = this.#handle(type, bytes, start, body, end);
    }
    if (wait === undefined) return !channel.isClosed;
    this.#waitFor(wait);
    return false;
  }

  #handle(type: number, bytes: Buffer, start: number, body: number, end: number): Wait {
    const { channel } = this;
    if (!this.#hasConnected) {
      if (type !== packetTypes.connect) {
        const { address } = channel.transport.peer;
        channel.core.log.info('connect.missing', { peer: address, packetType: type });
        channel.close('proto_not_connected'); // [MQTT-3.1.0-1]
        return undefined;
      }
      this.#hasConnected = true;
      try {
        const wait = firstHandler(channel, bytes, start, body, end);
        this.#framer.isMinimal = channel.isV5;
        return wait;
      } catch (error) {
        if (error instanceof ProtocolError) refuseFirst(channel, error, bytes, body, end);
        throw error;
      }
    }
    if (channel.state === 'connecting' && !authPackets.has(type)) {
      // [MQTT-3.1.2-30]
      throw new ProtocolError(Reason.protocolError, 'Cannot take this packet before CONNACK');
    }
    const handler = handlers[type];
    if (handler === undefined) {
      throw new ProtocolError(
        Reason.protocolError,
        `Cannot take packet type ${type} from a client`,
      );
    }
    return handler(channel, bytes, start, body, end);
  }

  #waitFor(wait: Promise<void>): void {
    const { channel } = this;
    this.#isWaiting = true;
    channel.pause(PauseCause.handler);
    wait
      .then(() => this.#goOn())
      .catch((error: unknown) => {
        this.#isWaiting = false;
        this.#fail(error);
      })
      .catch((error: unknown) => {
        channel.core.log.error('connection.failed', { error: describeError(error) });
        channel.transport.destroy();
      });
  }

  #goOn(): void {
    this.#isWaiting = false;
    const { channel } = this;
    if (channel.isClosed) return;
    this.#framer.resume(this);
    channel.core.express.flush();
    if (!this.#isWaiting) channel.unpause(PauseCause.handler);
  }

  /** A ProtocolError is the client's doing; anything else is ours, and still ends only this client. */
  #fail(error: unknown): void {
    const { channel } = this;
    // What was gathered before still lies in the read buffer, and was sent in good order.
    channel.core.express.flush();
    if (error instanceof ProtocolError) {
      channel.closeFor(error.reasonCode, error.message);
      return;
    }
    channel.onFault(error);
  }

  drained(): void {
    this.channel.drained();
  }

  closed(reason: string): void {
    const { channel } = this;
    channel.outbox.close();
    if (!channel.isClosed) {
      channel.state = 'closed';
      this.onEnd(reason);
    }
    this.#onGone(this);
  }

  /** From now on the timer watches the keepalive, and the client's right to be here. */
  onOpen(): void {
    this.#watchFor(this.#keepaliveMs);
  }

  /** `silenceMs`: how long nothing needs to be heard; 0: for ever. */
  #watchFor(silenceMs: number): void {
    const { timers } = this.channel.core;
    const { expiresAtMs } = this.channel.publisher;
    let waitMs = silenceMs === 0 ? Number.POSITIVE_INFINITY : silenceMs;
    // Looked at now and then: it is a time of the wall clock, which somebody may set.
    if (expiresAtMs !== undefined) {
      waitMs = Math.min(waitMs, expiresAtMs - timers.nowMs, expiryLookMs);
    }
    if (waitMs === Number.POSITIVE_INFINITY) timers.cancel(this);
    else timers.schedule(this, waitMs);
  }

  /** What was not read meanwhile may be there: the client is given its time again. */
  onReading(): void {
    this.#lastHeardMs = this.channel.core.timers.nowMs;
  }

  holdBack(): void {
    this.channel.core.metrics.add(Metric.overloadPaused);
    this.channel.pause(PauseCause.overload);
  }

  letOn(): void {
    this.channel.unpause(PauseCause.overload);
  }

  get owesAcknowledgements(): boolean {
    return (this.channel.session?.out.window.inflight.size ?? 0) > 0;
  }

  /** The client has nothing more to say, and neither have we. */
  onEnd(reason: string): void {
    const { core } = this.channel;
    core.timers.cancel(this);
    core.flusher.pressure.forget(this);
    leave(this.channel, reason);
  }

  /** One and a half times what was agreed, as shipped; 0: never [MQTT-3.1.2-22]. */
  get #keepaliveMs(): number {
    return this.channel.keepaliveSeconds * this.channel.zone.keepaliveBackoff * 2000;
  }

  /** The connection's own timer: first all of the time until CONNACK, then the keepalive. */
  override fire(): void {
    const { channel } = this;
    const { timers } = channel.core;
    if (channel.state === 'connecting') {
      if (this.#isWaiting) timers.schedule(this, channel.zone.idleTimeoutMs);
      else channel.close('idle_timeout');
      return;
    }
    if ((channel.publisher.expiresAtMs ?? Number.POSITIVE_INFINITY) <= timers.nowMs) {
      channel.close('maximum_connect_time', Reason.maximumConnectTime);
      return;
    }
    // What we do not read we cannot have missed.
    const isDeaf = this.#isWaiting || channel.transport.isPaused;
    const limitMs = this.#keepaliveMs;
    const leftMs = limitMs - (timers.nowMs - this.#lastHeardMs);
    if (isDeaf || limitMs === 0) this.#watchFor(limitMs);
    else if (leftMs > 0) this.#watchFor(leftMs);
    else channel.close('keepalive_timeout', Reason.keepaliveTimeout);
  }
}

const authPackets: ReadonlySet<number> = new Set([packetTypes.auth, packetTypes.disconnect]);

/** A handler that wants the packet as a value. */
function decoded<P extends Packet>(
  metric: number,
  on: (channel: Channel, packet: P) => Wait | void,
): OnFrame {
  return (channel, bytes, start, body, end) => {
    const { metrics } = channel.core;
    metrics.add(metric);
    const header = bytes[start] as number;
    return on(channel, decodePacket(header, bytes, body, end, channel.version) as P) as Wait;
  };
}

function handlerTable(
  table: Partial<Record<keyof typeof packetTypes, OnFrame>>,
): readonly (OnFrame | undefined)[] {
  const byNumber: (OnFrame | undefined)[] = new Array<undefined>(16).fill(undefined);
  for (const [name, handler] of Object.entries(table)) {
    byNumber[packetTypes[name as keyof typeof packetTypes]] = handler;
  }
  return byNumber;
}
