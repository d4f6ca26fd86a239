// The bytes of a PUBLISH: the encoder that runs most. A packet id of 0 with QoS 1 or 2 is written as
// it is, because the core encodes a message once and sets each receiver's id into its copy.

import { type ProtocolVersion, type PublishPacket, packetTypes } from './packet.ts';
import { startPacket, writeUint16 } from './packet-writer.ts';
import { propertiesSize, writeProperties } from './properties.ts';
import { utf8Size, writeUtf8 } from './utf8.ts';
import { varintSize } from './varint.ts';

export function encodePublish(packet: PublishPacket, version: ProtocolVersion): Buffer {
  const { topic, payload, qos, properties } = packet;
  const topicSize = utf8Size(topic);
  let remaining = 2 + topicSize + payload.length;
  if (qos > 0) remaining += 2;
  let blockSize = 0;
  if (version === 5) {
    blockSize = propertiesSize(properties, 'publish');
    remaining += varintSize(blockSize) + blockSize;
  }
  // [MQTT-3.3.1-2] QoS 0 is never a duplicate, and [MQTT-2.2.1-2] has no packet id.
  const dup = packet.dup && qos > 0 ? 0b1000 : 0;
  const flags = dup | (qos << 1) | (packet.retain ? 1 : 0);
  const bytes = startPacket((packetTypes.publish << 4) | flags, remaining);
  let at = writeUtf8(bytes, bytes.length - remaining, topic, topicSize);
  if (qos > 0) at = writeUint16(bytes, at, packet.packetId);
  if (version === 5) at = writeProperties(bytes, at, properties, 'publish', blockSize);
  bytes.set(payload, at);
  return bytes;
}
