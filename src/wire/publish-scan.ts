// Finds the parts of a PUBLISH in place, without making an object: the data path's own reader.
// `decode-publish.ts` makes the full packet value; both obey the same rules and the same cases.

import { ProtocolError } from './protocol-error.ts';
import { Reason } from './reason-codes.ts';

/** Offsets into the scanned bytes. One instance serves a whole thread: read it before the next scan. */
export interface PublishParts {
  topicStart: number;
  topicEnd: number;
  /** 0 for QoS 0. */
  packetId: number;
  /** `propertiesStart === propertiesEnd` when there are none. They exclude their length field. */
  propertiesStart: number;
  propertiesEnd: number;
  payloadStart: number;
}

/** To be filled by `scanPublish`, again and again: scanning allocates nothing. */
export function publishParts(): PublishParts {
  return {
    topicStart: 0,
    topicEnd: 0,
    packetId: 0,
    propertiesStart: 0,
    propertiesEnd: 0,
    payloadStart: 0,
  };
}

const malformed = (what: string): ProtocolError =>
  new ProtocolError(Reason.malformedPacket, `Cannot read PUBLISH: ${what}`);

export function scanPublish(
  parts: PublishParts,
  header: number,
  bytes: Buffer,
  start: number,
  end: number,
  isV5: boolean,
): void {
  const qos = (header >> 1) & 3;
  if (qos === 3) throw malformed('QoS 3 does not exist'); // [MQTT-3.3.1-4]
  if (qos === 0 && (header & 8) !== 0) throw malformed('DUP is set with QoS 0'); // [MQTT-3.3.1-2]
  if (start + 2 > end) throw malformed('it ends before the topic');
  const topicStart = start + 2;
  const topicEnd = topicStart + (((bytes[start] as number) << 8) | (bytes[start + 1] as number));
  let at = topicEnd;
  parts.packetId = 0;
  if (qos > 0) {
    at += 2;
    if (at > end) throw malformed('it ends before the packet id');
    parts.packetId = ((bytes[at - 2] as number) << 8) | (bytes[at - 1] as number);
    // [MQTT-2.2.1-3]
    if (parts.packetId === 0) throw malformed('packet id 0 is not allowed');
  }
  parts.topicStart = topicStart;
  parts.topicEnd = topicEnd;
  parts.propertiesStart = at;
  if (isV5) at = scanPropertyLength(parts, bytes, at, end);
  if (at > end) throw malformed('it ends before the payload');
  parts.propertiesEnd = at;
  parts.payloadStart = at;
}

function scanPropertyLength(parts: PublishParts, bytes: Buffer, from: number, end: number): number {
  let at = from;
  let length = 0;
  for (let shift = 0; shift <= 21; shift += 7) {
    if (at >= end) throw malformed('it ends before the property length');
    const digit = bytes[at++] as number;
    length |= (digit & 0x7f) << shift;
    if (digit === 0 && shift > 0) break; // [MQTT-1.5.5-1]
    if (digit < 0x80) {
      parts.propertiesStart = at;
      return at + length;
    }
  }
  throw malformed('the property length has more bytes than it may or needs');
}
