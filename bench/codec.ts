// What reading and writing one PUBLISH costs without a socket: the data path's scan in place, and the
// whole packet value in both directions. 64 bytes of payload, a topic of 21. Run: node bench/codec.ts

import { decodePacket } from '#wire/decode';
import { encodePublish } from '#wire/encode-publish';
import type { Properties, ProtocolVersion, PublishPacket, QoS } from '#wire/packet';
import { type PublishParts, publishParts, scanPublish } from '#wire/publish-scan';
import { report, type Work } from './repeat.ts';

/** Both fit into one byte of remaining length, so that every body begins behind two bytes. */
const bodyAt = 2;
/** More than one packet: a branch predictor learns a single one by heart. */
const variety = 64;

const kinds: readonly { name: string; version: ProtocolVersion; qos: QoS; has: Properties }[] = [
  { name: 'v3.1.1, QoS 0', version: 4, qos: 0, has: {} },
  { name: 'v5, QoS 1', version: 5, qos: 1, has: {} },
  {
    name: 'v5, QoS 1, two properties',
    version: 5,
    qos: 1,
    has: { messageExpirySeconds: 60, contentType: 'text/plain' },
  },
];

report('PUBLISH', [
  ...kinds.map(({ name, version, qos, has }) => scanning(name, version, packetsOf(qos, has))),
  ...kinds.map(({ name, version, qos, has }) => decoding(name, version, packetsOf(qos, has))),
  ...kinds.map(({ name, version, qos, has }) => encoding(name, version, packetsOf(qos, has))),
]);

function packetsOf(qos: QoS, properties: Properties): PublishPacket[] {
  return Array.from({ length: variety }, (_, i) => ({
    type: 'publish',
    topic: `bench/hall/${String(i).padStart(5, '0')}/temp`,
    payload: Buffer.alloc(64, i),
    qos,
    dup: false,
    retain: false,
    packetId: qos === 0 ? 0 : i + 1,
    properties,
  }));
}

function scanning(name: string, version: ProtocolVersion, packets: PublishPacket[]): Work {
  const frames = packets.map((packet) => encodePublish(packet, version));
  const parts: PublishParts = publishParts();
  return {
    name: `scan ${name}`,
    run(times) {
      let sum = 0;
      for (let i = 0; i < times; i++) {
        const frame = frames[i % variety] as Buffer;
        scanPublish(parts, frame[0] as number, frame, bodyAt, frame.length, version === 5);
        sum += parts.topicEnd + parts.packetId + parts.payloadStart;
      }
      return sum;
    },
  };
}

function decoding(name: string, version: ProtocolVersion, packets: PublishPacket[]): Work {
  const frames = packets.map((packet) => encodePublish(packet, version));
  return {
    name: `decode ${name}`,
    run(times) {
      let sum = 0;
      for (let i = 0; i < times; i++) {
        const frame = frames[i % variety] as Buffer;
        const packet = decodePacket(frame[0] as number, frame, bodyAt, frame.length, version);
        if (packet.type === 'publish') sum += packet.topic.length + packet.payload.length;
      }
      return sum;
    },
  };
}

function encoding(name: string, version: ProtocolVersion, packets: PublishPacket[]): Work {
  return {
    name: `encode ${name}`,
    run(times) {
      let sum = 0;
      for (let i = 0; i < times; i++) {
        const bytes = encodePublish(packets[i % variety] as PublishPacket, version);
        sum += (bytes[bodyAt + 1] as number) + bytes.length;
      }
      return sum;
    },
  };
}
