// The bytes of SUBSCRIBE and UNSUBSCRIBE.

import {
  type ProtocolVersion,
  packetTypes,
  type SubscribeFilter,
  type SubscribePacket,
  type UnsubscribePacket,
} from './packet.ts';
import { startPacket, writeUint16 } from './packet-writer.ts';
import { propertiesSize, writeProperties } from './properties.ts';
import { utf8Size, writeUtf8 } from './utf8.ts';
import { varintSize } from './varint.ts';

/** [MQTT-3.8.1-1] [MQTT-3.10.1-1] */
const flags = 0b0010;

export function encodeSubscribe(packet: SubscribePacket, version: ProtocolVersion): Buffer {
  const { packetId, filters, properties } = packet;
  const blockSize = version === 5 ? propertiesSize(properties, 'subscribe') : 0;
  let remaining = 2;
  if (version === 5) remaining += varintSize(blockSize) + blockSize;
  for (const { filter } of filters) remaining += 3 + utf8Size(filter);
  const bytes = startPacket((packetTypes.subscribe << 4) | flags, remaining);
  let at = writeUint16(bytes, bytes.length - remaining, packetId);
  if (version === 5) at = writeProperties(bytes, at, properties, 'subscribe', blockSize);
  for (const entry of filters) {
    at = writeUtf8(bytes, at, entry.filter, utf8Size(entry.filter));
    bytes[at++] = version === 5 ? optionsOf(entry) : entry.qos;
  }
  return bytes;
}

export function encodeUnsubscribe(packet: UnsubscribePacket, version: ProtocolVersion): Buffer {
  const { packetId, filters, properties } = packet;
  const blockSize = version === 5 ? propertiesSize(properties, 'unsubscribe') : 0;
  let remaining = 2;
  if (version === 5) remaining += varintSize(blockSize) + blockSize;
  for (const filter of filters) remaining += 2 + utf8Size(filter);
  const bytes = startPacket((packetTypes.unsubscribe << 4) | flags, remaining);
  let at = writeUint16(bytes, bytes.length - remaining, packetId);
  if (version === 5) at = writeProperties(bytes, at, properties, 'unsubscribe', blockSize);
  for (const filter of filters) at = writeUtf8(bytes, at, filter, utf8Size(filter));
  return bytes;
}

function optionsOf(entry: SubscribeFilter): number {
  return (
    entry.qos |
    (entry.noLocal ? 0b0100 : 0) |
    (entry.retainAsPublished ? 0b1000 : 0) |
    (entry.retainHandling << 4)
  );
}
