// Writes a PUBLISH into a client's outbox. Most receivers are sent a frame that exists already (the
// one the message came in, or one encoded for its layout) with three bytes patched: flags and packet
// id. Receivers that want bytes of their own get them here: subscription identifiers, aliases, a
// message expiry that has run down, a topic without its mountpoint.

import { encodePublish } from '#wire/encode-publish';
import type { Properties, QoS } from '#wire/packet';
import { unmount } from '#topics/topic';
import type { OutboundAliases } from './aliases.ts';
import type { Delivery, Sent } from './delivery.ts';
import type { FrameRef, Message } from './message.ts';
import { copyBytes, type Outbox, sharedPieceBytesMin } from './outbox.ts';

/** What the writer needs to know of the receiving client. */
export interface Receiver {
  readonly outbox: Outbox;
  readonly isV5: boolean;
  readonly isBridge: boolean;
  readonly packetBytesMax: number;
  readonly mountpoint: string;
  readonly aliases: OutboundAliases | null;
}

const frame: FrameRef = { bytes: Buffer.alloc(0), start: 0, end: 0, idAt: 0 };

export function writePublish(
  to: Receiver,
  message: Message,
  delivery: Delivery,
  qos: QoS,
  packetId: number,
  isDuplicate: boolean,
  nowMs: number,
): Sent {
  const header = headerFor(to, message, delivery, qos, isDuplicate);
  if (needsOwnBytes(to, message, delivery, nowMs)) {
    return writeOwn(to, message, delivery, header, qos, packetId, nowMs);
  }
  message.frameFor(to.isV5, qos > 0, frame);
  const { bytes, start, end } = frame;
  const length = end - start;
  if (length > to.packetBytesMax) return 'too_large';
  const { outbox } = to;
  if (length < sharedPieceBytesMin) {
    const at = outbox.reserve(length);
    patch(outbox.slab as Buffer, at, bytes, start, end, header, frame.idAt - start, packetId);
    return 'sent';
  }
  writeLarge(to, message, header, qos, packetId);
  return 'sent';
}

/** The head is patched and therefore this client's own; the payload is shared by all receivers. */
function writeLarge(
  { outbox, isV5 }: Receiver,
  message: Message,
  header: number,
  qos: QoS,
  packetId: number,
): void {
  message.own().frameFor(isV5, qos > 0, frame);
  const { bytes, start, end } = frame;
  const headEnd = end - message.payloadBytes;
  const head = Buffer.allocUnsafe(headEnd - start);
  patch(head, 0, bytes, start, headEnd, header, frame.idAt - start, packetId);
  outbox.copy(head, 0, head.length);
  outbox.share(bytes.subarray(headEnd, end));
}

function patch(
  slab: Buffer,
  at: number,
  bytes: Buffer,
  start: number,
  end: number,
  header: number,
  idAt: number,
  packetId: number,
): void {
  copyBytes(bytes, start, end, slab, at);
  slab[at] = header;
  if (packetId === 0) return;
  slab[at + idAt] = packetId >> 8;
  slab[at + idAt + 1] = packetId & 0xff;
}

/** Replays are retained; live messages only on request [MQTT-3.3.1-12], [MQTT-3.3.1-13]. */
function headerFor(
  to: Receiver,
  message: Message,
  delivery: Delivery,
  qos: QoS,
  isDuplicate: boolean,
): number {
  const keepsRetain = delivery.isReplay || delivery.retainAsPublished || to.isBridge;
  const retain = message.retain && keepsRetain ? 1 : 0;
  return 0x30 | (isDuplicate ? 8 : 0) | (qos << 1) | retain;
}

function needsOwnBytes(to: Receiver, message: Message, delivery: Delivery, nowMs: number): boolean {
  if (to.mountpoint !== '') return true;
  if (!to.isV5) return false;
  return (
    to.aliases !== null ||
    delivery.subscriptionIds !== undefined ||
    (message.expiresAtMs !== Number.POSITIVE_INFINITY && nowMs - message.timestampMs >= 1000)
  );
}

function writeOwn(
  to: Receiver,
  message: Message,
  delivery: Delivery,
  header: number,
  qos: QoS,
  packetId: number,
  nowMs: number,
): Sent {
  // `#` under a mountpoint matches its parent too, which is not this client's to see.
  if (!message.topic.startsWith(to.mountpoint)) return 'hidden';
  const topic = unmount(to.mountpoint, message.topic);
  const properties: Properties = { ...message.properties };
  if (properties.messageExpirySeconds !== undefined) {
    // [MQTT-3.3.2-6] What has passed here is taken off.
    const leftMs = Math.max(0, message.expiresAtMs - nowMs);
    // The clock of another worker may be a moment ahead of ours.
    const left = Math.min(properties.messageExpirySeconds, Math.ceil(leftMs / 1000));
    properties.messageExpirySeconds = left;
  }
  if (delivery.subscriptionIds !== undefined) {
    properties.subscriptionIds = [...delivery.subscriptionIds]; // [MQTT-3.3.4-3]
  }
  const known = to.aliases?.known(topic);
  const encode = (alias: number | undefined): Buffer =>
    encodePublish(
      {
        type: 'publish',
        topic: known === undefined ? topic : '',
        payload: message.payload,
        qos,
        dup: (header & 8) !== 0,
        retain: (header & 1) !== 0,
        packetId,
        properties: alias === undefined ? properties : { ...properties, topicAlias: alias },
      },
      to.isV5 ? 5 : 4,
    );
  let fresh = known === undefined ? to.aliases?.free() : undefined;
  let own = encode(known ?? fresh);
  if (own.length > to.packetBytesMax && fresh !== undefined) {
    // Telling an alias takes bytes that the packet may not have.
    fresh = undefined;
    own = encode(undefined);
  }
  if (own.length > to.packetBytesMax) return 'too_large';
  to.outbox.copy(own, 0, own.length);
  if (fresh !== undefined) to.aliases?.given(topic, fresh);
  return 'sent';
}
