// A test's own MQTT client: a real socket, our codec, and no behaviour of its own. It answers
// nothing by itself, so that a test sees every packet of the server and decides what comes back.
// Absence is proved by a ping, never by waiting: what the server had to say stands before PINGRESP.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createConnection } from 'node:net';
import type { Duplex } from 'node:stream';
import { decodePacket } from '#wire/decode';
import { encodePacket } from '#wire/encode';
import type {
  AckPacket,
  ConnackPacket,
  ConnectPacket,
  Packet,
  PacketType,
  Properties,
  ProtocolVersion,
  PublishPacket,
  QoS,
  SubackPacket,
  SubscribeFilter,
} from '#wire/packet';
import { Watch } from './watch.ts';

type Having<P, T> = P extends { type: infer K } ? (T extends K ? P : never) : never;
export type PacketOf<T extends PacketType> = Having<Packet, T>;

export type ConnectOptions = Partial<Omit<ConnectPacket, 'type' | 'version' | 'will'>> & {
  will?: WillOptions | undefined;
};
export interface WillOptions {
  topic: string;
  payload?: string | Buffer;
  qos?: QoS;
  retain?: boolean;
  properties?: Properties;
}
export type FilterOptions = Partial<Omit<SubscribeFilter, 'filter'>> & { properties?: Properties };
export type PublishOptions = Partial<Omit<PublishPacket, 'type' | 'topic' | 'payload'>>;

interface Received {
  readonly packet: Packet;
  readonly bytes: Buffer;
}

const defaultDeadlineMs = 2000;

export class RawClient implements AsyncDisposable {
  readonly version: ProtocolVersion;
  readonly socket: Duplex;
  /** The answer to `connect`. */
  connack: ConnackPacket | undefined;
  #inbox: Received[] = [];
  #pending: Buffer = Buffer.alloc(0);
  #closed = false;
  #failure: Error | undefined;
  #lastPacketId = 0;
  readonly #watch = new Watch();

  static async open(port: number, version: ProtocolVersion = 5): Promise<RawClient> {
    const socket = createConnection({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return new RawClient(socket, version);
  }

  constructor(socket: Duplex, version: ProtocolVersion) {
    this.socket = socket;
    this.version = version;
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    // A reset is one way of closing: `close` follows.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#closed = true;
      this.#watch.wake();
    });
  }

  send(packet: Packet | Uint8Array): void {
    this.socket.write(packet instanceof Uint8Array ? packet : encodePacket(packet, this.version));
  }

  /** Sends CONNECT and gives the CONNACK, whatever it says. */
  async connect(options: ConnectOptions = {}): Promise<ConnackPacket> {
    const { will, ...rest } = options;
    this.send({
      type: 'connect',
      version: this.version,
      isBridge: false,
      cleanStart: true,
      keepaliveSeconds: 0,
      clientId: 'client',
      properties: {},
      ...rest,
      ...(will && {
        will: {
          qos: 0,
          retain: false,
          properties: {},
          ...will,
          payload: Buffer.from(will.payload ?? ''),
        },
      }),
    });
    this.connack = await this.next('connack');
    return this.connack;
  }

  /** The next packet, which must be of the given type when one is given. */
  async next<T extends PacketType = PacketType>(
    type?: T,
    deadlineMs?: number,
  ): Promise<PacketOf<T>> {
    const { packet } = await this.#take(() => true, type ?? 'any packet', deadlineMs);
    if (type !== undefined && packet.type !== type) {
      assert.fail(`Cannot receive ${type}: got ${describe(packet)}`);
    }
    return packet as PacketOf<T>;
  }

  /** The next packet as it stood on the wire. */
  async nextBytes(deadlineMs?: number): Promise<Buffer> {
    return (await this.#take(() => true, 'any packet', deadlineMs)).bytes;
  }

  /** The first packet of the type that passes, leaving others that came before it in their order. */
  async find<T extends PacketType>(
    type: T,
    passes: (packet: PacketOf<T>) => boolean = () => true,
  ): Promise<PacketOf<T>> {
    const wanted = (packet: Packet): boolean =>
      packet.type === type && passes(packet as PacketOf<T>);
    return (await this.#take(wanted, type)).packet as PacketOf<T>;
  }

  /**
   * Passes when the server has nothing to say: its answer to a ping is the next packet. More than one
   * ping, for what is on its way from another worker.
   */
  async expectNothing(): Promise<void> {
    for (let i = 0; i < 3; i++) {
      this.send({ type: 'pingreq' });
      await this.next('pingresp');
    }
  }

  /** Waits until the server has closed; gives the packets that came before. */
  async expectClosed(deadlineMs?: number): Promise<Packet[]> {
    await this.#until(() => this.#closed || undefined, 'the end of the connection', deadlineMs);
    if (this.#failure !== undefined) throw this.#failure;
    return this.#inbox.splice(0).map((received) => received.packet);
  }

  /** The server ends the connection: a 5.0 client is told one of the codes first, and nothing else. */
  async expectDisconnected(...codes: readonly number[]): Promise<void> {
    const told = await this.expectClosed();
    if (this.version < 5) return assert.deepEqual(told, []);
    assert.deepEqual(
      told.map((packet) => packet.type),
      ['disconnect'],
      `Cannot accept the end of the connection: got ${told.map(describe).join(', ') || 'nothing'}`,
    );
    const code = (told[0] as PacketOf<'disconnect'>).reasonCode;
    assert.ok(
      codes.includes(code),
      `Cannot accept DISCONNECT ${hex(code)}: wanted ${codes.map(hex)}`,
    );
  }

  /** The server refuses a CONNECT: at most a CONNACK with one of the codes, then the end. */
  async expectRefused(...codes: readonly number[]): Promise<void> {
    const told = await this.expectClosed();
    for (const packet of told) {
      assert.equal(packet.type, 'connack');
      const { reasonCode, sessionPresent } = packet as ConnackPacket;
      assert.ok(
        codes.includes(reasonCode),
        `Cannot accept CONNACK ${hex(reasonCode)}: wanted ${codes.map(hex)}`,
      );
      assert.equal(sessionPresent, false);
    }
    assert.ok(told.length <= 1, `Cannot accept ${told.length} packets: wanted one CONNACK at most`);
  }

  /** Subscribes to one filter or several with the same options. */
  async subscribe(
    filters: string | readonly string[],
    options: FilterOptions = {},
  ): Promise<SubackPacket> {
    const { properties = {}, ...rest } = options;
    const packetId = this.newPacketId();
    const defaults = {
      qos: 0,
      noLocal: false,
      retainAsPublished: false,
      retainHandling: 0,
    } as const;
    this.send({
      type: 'subscribe',
      packetId,
      filters: [filters].flat().map((filter) => ({ filter, ...defaults, ...rest })),
      properties,
    });
    return this.find('suback', (suback) => suback.packetId === packetId);
  }

  async unsubscribe(...filters: readonly string[]): Promise<SubackPacket> {
    const packetId = this.newPacketId();
    this.send({ type: 'unsubscribe', packetId, filters: [...filters], properties: {} });
    return this.find('unsuback', (unsuback) => unsuback.packetId === packetId);
  }

  /** Sends a PUBLISH and waits for nothing. Gives what was sent. */
  sendPublish(
    topic: string,
    payload: string | Buffer = '',
    options: PublishOptions = {},
  ): PublishPacket {
    const qos = options.qos ?? 0;
    const publish: PublishPacket = {
      type: 'publish',
      topic,
      payload: Buffer.from(payload),
      qos,
      dup: false,
      retain: false,
      packetId: qos === 0 ? 0 : this.newPacketId(),
      properties: {},
      ...options,
    };
    this.send(publish);
    return publish;
  }

  /**
   * Publishes and waits until the server has taken the message over (QoS 0: until it answers a
   * ping). Gives PUBACK for QoS 1, PUBREC for QoS 2; the handshake is finished either way.
   */
  async publish(
    topic: string,
    payload?: string | Buffer,
    options?: PublishOptions,
  ): Promise<AckPacket | undefined> {
    const { qos, packetId } = this.sendPublish(topic, payload, options);
    const ours = (ack: { packetId: number }): boolean => ack.packetId === packetId;
    if (qos === 0) {
      this.send({ type: 'pingreq' });
      await this.find('pingresp');
      return undefined;
    }
    if (qos === 1) return this.find('puback', ours);
    const pubrec = await this.find('pubrec', ours);
    if (pubrec.reasonCode < 0x80) {
      this.ack('pubrel', packetId);
      await this.find('pubcomp', ours);
    }
    return pubrec;
  }

  ack(type: AckPacket['type'], packetId: number, reasonCode = 0): void {
    this.send({ type, packetId, reasonCode, properties: {} });
  }

  /** The next packet, which must be a PUBLISH; its handshake is finished before it is given. */
  async receive(): Promise<PublishPacket> {
    const publish = await this.next('publish');
    if (publish.qos === 1) this.ack('puback', publish.packetId);
    if (publish.qos === 2) {
      this.ack('pubrec', publish.packetId);
      await this.find('pubrel', (pubrel) => pubrel.packetId === publish.packetId);
      this.ack('pubcomp', publish.packetId);
    }
    return publish;
  }

  /** The payloads of the next `count` messages, as text. */
  async receivePayloads(count: number): Promise<string[]> {
    const payloads: string[] = [];
    for (let i = 0; i < count; i++) payloads.push((await this.receive()).payload.toString());
    return payloads;
  }

  /** Sends DISCONNECT and waits for the server to close. */
  async disconnect(reasonCode = 0, properties: Properties = {}): Promise<void> {
    this.send({ type: 'disconnect', reasonCode, properties });
    await this.expectClosed();
  }

  /** Ends the connection without a word, as a lost network does. */
  destroy(): void {
    this.socket.destroy();
  }

  newPacketId(): number {
    this.#lastPacketId += 1;
    return this.#lastPacketId;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.destroy();
    if (!this.#closed) await once(this.socket, 'close');
  }

  #onData(chunk: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, chunk]);
    try {
      for (let end = frameEnd(this.#pending); end !== undefined; end = frameEnd(this.#pending)) {
        const bytes = this.#pending.subarray(0, end.at);
        this.#pending = this.#pending.subarray(end.at);
        const packet = decodePacket(bytes[0] ?? 0, bytes, end.bodyAt, end.at, this.version);
        this.#inbox.push({ packet, bytes });
      }
    } catch (cause) {
      this.#failure ??= new Error('Cannot decode what the server sent', { cause });
    }
    this.#watch.wake();
  }

  async #take(
    wanted: (packet: Packet) => boolean,
    label: string,
    deadlineMs?: number,
  ): Promise<Received> {
    const found = await this.#until(
      () => this.#inbox.find((received) => wanted(received.packet)),
      label,
      deadlineMs,
    );
    this.#inbox.splice(this.#inbox.indexOf(found), 1);
    return found;
  }

  async #until<T>(
    look: () => T | undefined,
    label: string,
    deadlineMs = defaultDeadlineMs,
  ): Promise<T> {
    const inVain = (why: string): Error => {
      const got = this.#inbox.map((received) => describe(received.packet)).join(', ');
      return new Error(`Cannot receive ${label}: ${why}, received ${got || 'nothing'}`);
    };
    const attempt = (): T | undefined => {
      const found = look();
      if (found !== undefined) return found;
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#closed) throw inVain('the server closed the connection');
      return undefined;
    };
    return this.#watch.until(attempt, deadlineMs, () => inVain(`${deadlineMs} ms are over`));
  }
}

/** Where the first packet's body begins and where the packet ends, when all of it is there. */
function frameEnd(bytes: Buffer): { bodyAt: number; at: number } | undefined {
  let length = 0;
  for (let i = 1; i <= 4; i++) {
    const digit = bytes[i];
    if (digit === undefined) return undefined;
    length += (digit & 0x7f) * 128 ** (i - 1);
    if (digit >= 0x80) continue;
    const at = i + 1 + length;
    return at <= bytes.length ? { bodyAt: i + 1, at } : undefined;
  }
  throw new RangeError('Cannot read remaining length: more than four bytes');
}

function describe(packet: Packet): string {
  if (packet.type === 'publish')
    return `publish "${packet.topic}" (QoS ${packet.qos}, id ${packet.packetId})`;
  if ('reasonCode' in packet) return `${packet.type} ${hex(packet.reasonCode)}`;
  return packet.type;
}

function hex(code: number): string {
  return `0x${code.toString(16).padStart(2, '0')}`;
}
