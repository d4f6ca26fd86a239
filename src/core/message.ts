// The broker's message, not a packet: what was published, by whom, when. A message that came from a
// client is *borrowed* at first: its bytes lie in the read buffer and are gone when the read is
// handled. Whoever keeps it longer calls `own()` before that. The frame it came in is kept with it,
// because most receivers can be sent those very bytes.

import { encodePublish } from '#wire/encode-publish';
import type { Properties, QoS } from '#wire/packet';
import type { MessageChange, MessageView } from '#hooks/table';
import { MessageIds } from '#base/ids';
import { FrameArena } from './frame-arena.ts';

/** Who published. One object per connection, shared by all its messages. */
export interface Publisher {
  readonly clientId: string;
  readonly username: string | undefined;
  readonly address: string;
  readonly port: number;
  /** Of a client that is connected to this worker; of others where their rights are asked about later. */
  readonly mountpoint?: string;
  /** Of a client: its rights can be asked about, long after. */
  readonly zone?: string;
  readonly isSuperuser?: boolean;
  /** What a retained message was published to, where a hook has changed that; with mountpoint. */
  readonly askedTopic?: string;
  /** How many rules it has gone through: each publishes anew what another one published. */
  readonly hops?: number;
}

/** Where a store keeps the bytes of a message that several sessions hold. */
export interface StoredBody {
  readonly id: number;
  /** The batch that writes it; 0: another process wrote it. */
  readonly serial: number;
}

/**
 * The name of a QoS 2 publish on its way to other workers: the publisher's session in the store and
 * the packet id. Who stores the message there marks it with that name, so that a publish that is
 * repeated after a crash is not stored twice.
 */
export interface Passage {
  readonly sessionNo: number;
  readonly packetId: number;
}

/** In place of a worker's index. */
export const publishedHere = -1;

const ids = new MessageIds(Date.now);
const arena = new FrameArena();
const noBytes: Buffer = Buffer.alloc(0);

/** A layout is a protocol family and the presence of a packet id; all receivers of one share bytes. */
const layoutOf = (isV5: boolean, hasPacketId: boolean): number =>
  (isV5 ? 2 : 0) + (hasPacketId ? 1 : 0);

export class Message implements MessageView {
  readonly topic: string;
  readonly qos: QoS;
  readonly retain: boolean;
  readonly properties: Properties | undefined;
  readonly from: Publisher;
  readonly timestampMs: number;
  /** Wall clock; Infinity: never. */
  readonly expiresAtMs: number;
  /** More than one session may hold it: a store then keeps its bytes once. */
  isShared = false;
  /** The ledger's own, see held-bytes.ts. */
  keepers = 0;
  /** The store's note; undefined while no store has it by reference. */
  body: StoredBody | undefined;
  /** The index of the worker that it came from. */
  via: number = publishedHere;
  passage: Passage | undefined;
  /** Under its `passage` it may have been stored before. */
  mayBeHad = false;
  #id: string | undefined;

  #bytes: Buffer = noBytes;
  #payloadStart = 0;
  #payloadEnd = 0;
  #isBorrowed = false;
  #isCompact = false;
  /** Where what is kept begins: the frame it came in, or the payload alone. */
  #frameStart = 0;
  /** The layout of that frame, which receivers of the same layout are sent; -1: no frame. */
  #frameLayout = -1;
  #frameIdAt = 0;
  #encoded: (Buffer | undefined)[] | undefined;

  constructor(
    topic: string,
    payload: Buffer,
    qos: QoS,
    retain: boolean,
    properties: Properties | undefined,
    from: Publisher,
    timestampMs: number,
  ) {
    this.topic = topic;
    this.qos = qos;
    this.retain = retain;
    this.properties = properties;
    this.from = from;
    this.timestampMs = timestampMs;
    const expiry = properties === undefined ? undefined : properties.messageExpirySeconds;
    this.expiresAtMs =
      expiry === undefined ? Number.POSITIVE_INFINITY : timestampMs + expiry * 1000;
    if (payload !== noBytes) {
      this.#bytes = payload;
      this.#payloadEnd = payload.length;
    }
  }

  /**
   * A message whose frame is `bytes[frameStart..frameEnd)`. `frameIdAt` is where its packet id
   * stands (0: none). `isReusable` is false when the frame says something for the receiving broker
   * alone (a topic alias, a topic that gets a mountpoint).
   */
  static borrowed(
    topic: string,
    header: number,
    properties: Properties | undefined,
    from: Publisher,
    timestampMs: number,
    bytes: Buffer,
    frameStart: number,
    frameIdAt: number,
    payloadStart: number,
    frameEnd: number,
    isV5: boolean,
    isReusable: boolean,
  ): Message {
    const qos = ((header >> 1) & 3) as QoS;
    const retain = (header & 1) === 1;
    const message = new Message(topic, noBytes, qos, retain, properties, from, timestampMs);
    message.#bytes = bytes;
    message.#payloadStart = payloadStart;
    message.#payloadEnd = frameEnd;
    message.#isBorrowed = true;
    if (isReusable) {
      message.#frameStart = frameStart;
      message.#frameLayout = layoutOf(isV5, qos > 0);
      message.#frameIdAt = frameIdAt;
    } else {
      message.#frameStart = payloadStart;
    }
    return message;
  }

  /** A message from the store. `bytes` are its own: nobody else writes there. */
  static loaded(
    topic: string,
    header: number,
    properties: Properties | undefined,
    from: Publisher,
    timestampMs: number,
    id: string | undefined,
    bytes: Buffer,
    frameStart: number,
    frameIdAt: number,
    payloadStart: number,
    isV5: boolean,
  ): Message {
    const message = Message.borrowed(
      topic,
      header,
      properties,
      from,
      timestampMs,
      bytes,
      frameStart,
      frameIdAt,
      payloadStart,
      bytes.length,
      isV5,
      true,
    );
    message.#isBorrowed = false;
    message.#id = id;
    return message;
  }

  /** Undefined as long as nobody has asked for it. */
  get givenId(): string | undefined {
    return this.#id;
  }

  get id(): string {
    return (this.#id ??= ids.next());
  }

  /** The id that another worker has given it. */
  name(id: string): void {
    this.#id = id;
  }

  get clientId(): string {
    return this.from.clientId;
  }

  get username(): string | undefined {
    return this.from.username;
  }

  get address(): string {
    return this.from.address;
  }

  get port(): number {
    return this.from.port;
  }

  get hops(): number {
    return this.from.hops ?? 0;
  }

  get payload(): Buffer {
    return this.#bytes.subarray(this.#payloadStart, this.#payloadEnd);
  }

  get payloadBytes(): number {
    return this.#payloadEnd - this.#payloadStart;
  }

  /** About what it takes in an outbox. */
  get roughBytes(): number {
    return this.payloadBytes + this.topic.length;
  }

  isExpired(nowMs: number): boolean {
    return this.expiresAtMs <= nowMs;
  }

  /** Makes the message independent of the read buffer. Cheap when it is already. */
  own(): this {
    if (this.#isBorrowed) {
      arena.hold(this.#bytes, this.#frameStart, this.#payloadEnd);
      this.#moveTo(arena.block, arena.at);
      this.#isBorrowed = false;
    }
    return this;
  }

  /**
   * Memory in which it may be kept long: of exactly its size, or among its neighbours in the queue of
   * a client. A block of the common arena would live as long as any message in it.
   */
  compact(neighbours?: FrameArena): this {
    this.#encoded = undefined;
    if (this.#isCompact) return this;
    this.#isCompact = true;
    const length = this.#payloadEnd - this.#frameStart;
    if (neighbours !== undefined) {
      neighbours.hold(this.#bytes, this.#frameStart, this.#payloadEnd);
      this.#moveTo(neighbours.block, neighbours.at);
    } else if (this.#isBorrowed || this.#bytes.buffer.byteLength > 2 * length + 64) {
      const own = Buffer.allocUnsafeSlow(length);
      this.#bytes.copy(own, 0, this.#frameStart, this.#payloadEnd);
      this.#moveTo(own, 0);
    }
    this.#isBorrowed = false;
    return this;
  }

  #moveTo(bytes: Buffer, at: number): void {
    const by = at - this.#frameStart;
    this.#bytes = bytes;
    this.#payloadStart += by;
    this.#payloadEnd += by;
    this.#frameStart += by;
    this.#frameIdAt += by;
  }

  get mountpoint(): string {
    return this.from.mountpoint ?? '';
  }

  /** The same message with what a hook changed. It has no frame: its bytes would be the old ones. */
  with(change: MessageChange): Message {
    const { topic = this.topic, retain = this.retain } = change;
    const changed = new Message(
      topic,
      change.payload ?? Buffer.from(this.payload),
      change.qos ?? this.qos,
      retain,
      change.properties ?? this.properties,
      retain && topic !== this.topic ? askedFor(this.from, this.topic) : this.from,
      this.timestampMs,
    );
    changed.#id = this.#id;
    return changed;
  }

  /**
   * A frame of this message in the layout asked for: the one it came in when that fits, else one
   * encoded once for all receivers. Found in `FrameRef` fields, so that asking allocates nothing.
   */
  frameFor(isV5: boolean, hasPacketId: boolean, into: FrameRef): void {
    const layout = layoutOf(isV5, hasPacketId);
    if (layout === this.#frameLayout) {
      into.bytes = this.#bytes;
      into.start = this.#frameStart;
      into.end = this.#payloadEnd;
      into.idAt = this.#frameIdAt;
      return;
    }
    this.#encoded ??= [undefined, undefined, undefined, undefined];
    const frame = (this.#encoded[layout] ??= this.#encode(isV5, hasPacketId));
    into.bytes = frame;
    into.start = 0;
    into.end = frame.length;
    into.idAt = hasPacketId ? packetIdAt(frame) : 0;
  }

  /**
   * The frame to store: the one it came in, else one encoded so that nothing is lost. Its flags and
   * packet id are no one's. Answers whether it is laid out as in MQTT 5.
   */
  frameToKeep(into: FrameRef): boolean {
    const isV5 = this.#frameLayout < 0 || this.#frameLayout >= 2;
    this.frameFor(isV5, this.qos > 0, into);
    return isV5;
  }

  #encode(isV5: boolean, hasPacketId: boolean): Buffer {
    return encodePublish(
      {
        type: 'publish',
        topic: this.topic,
        payload: this.payload,
        qos: hasPacketId ? 1 : 0,
        dup: false,
        retain: false,
        packetId: hasPacketId ? 1 : 0,
        properties: this.properties ?? {},
      },
      isV5 ? 5 : 4,
    );
  }
}

function askedFor(from: Publisher, topic: string): Publisher {
  return from.zone === undefined ? from : { askedTopic: topic, ...from };
}

/** Where `frameFor` puts its answer. */
export interface FrameRef {
  bytes: Buffer;
  start: number;
  end: number;
  idAt: number;
}

function packetIdAt(frame: Buffer): number {
  let at = 1;
  while (((frame[at++] as number) & 0x80) !== 0);
  return at + 2 + (((frame[at] as number) << 8) | (frame[at + 1] as number));
}
