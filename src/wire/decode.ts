// One packet from its bytes, in both directions: what a client sends and what a broker answers, since
// bridges and tests read as clients do. Everything is a copy but the payload of a PUBLISH, which is a
// view of the input: the caller copies what it keeps.

import { decodeAck, decodeSuback, decodeUnsuback } from './decode-acks.ts';
import { decodeConnect } from './decode-connect.ts';
import { decodePublish } from './decode-publish.ts';
import { decodeAuth, decodeConnack, decodeDisconnect } from './decode-session.ts';
import { decodeSubscribe, decodeUnsubscribe } from './decode-subscribe.ts';
import { type Packet, type ProtocolVersion, packetTypes } from './packet.ts';
import { PacketReader } from './packet-reader.ts';
import { ProtocolError } from './protocol-error.ts';
import { Reason } from './reason-codes.ts';

/**
 * Reads the packet with this first byte and the body `bytes[start..end)`. Throws a `ProtocolError`
 * and nothing else, whatever the bytes are. A CONNECT brings its own version.
 */
export function decodePacket(
  header: number,
  bytes: Buffer,
  start: number,
  end: number,
  version: ProtocolVersion,
): Packet {
  const reader = new PacketReader(bytes, start, end);
  const packet = decodeBody(header, reader, version);
  reader.finish();
  return packet;
}

function decodeBody(header: number, reader: PacketReader, version: ProtocolVersion): Packet {
  const type = header >>> 4;
  if (type === packetTypes.publish) return decodePublish(header, reader, version);
  refuseFlags(header, version);
  switch (type) {
    case packetTypes.connect:
      return decodeConnect(reader);
    case packetTypes.connack:
      return decodeConnack(reader, version);
    case packetTypes.puback:
      return decodeAck('puback', reader, version);
    case packetTypes.pubrec:
      return decodeAck('pubrec', reader, version);
    case packetTypes.pubrel:
      return decodeAck('pubrel', reader, version);
    case packetTypes.pubcomp:
      return decodeAck('pubcomp', reader, version);
    case packetTypes.subscribe:
      return decodeSubscribe(reader, version);
    case packetTypes.suback:
      return decodeSuback(reader, version);
    case packetTypes.unsubscribe:
      return decodeUnsubscribe(reader, version);
    case packetTypes.unsuback:
      return decodeUnsuback(reader, version);
    case packetTypes.pingreq:
      return { type: 'pingreq' };
    case packetTypes.pingresp:
      return { type: 'pingresp' };
    case packetTypes.disconnect:
      return decodeDisconnect(reader, version);
    case packetTypes.auth:
      return decodeAuth(reader, version);
    default:
      throw new ProtocolError(Reason.malformedPacket, 'Cannot read packet: type 0 is reserved');
  }
}

const dupFlag = 0b1000;

/**
 * [MQTT-2.1.3-1] The low four bits are fixed for all but PUBLISH: 2 where 3.1 had "QoS 1"
 * ([MQTT-3.6.1-1], [MQTT-3.8.1-1], [MQTT-3.10.1-1]), else 0 ([MQTT-3.14.1-1], [MQTT-3.15.1-1]).
 * A 3.1 client may mark a repeated PUBREL, SUBSCRIBE or UNSUBSCRIBE with DUP.
 */
function refuseFlags(header: number, version: ProtocolVersion): void {
  const type = header >>> 4;
  const wanted =
    type === packetTypes.pubrel ||
    type === packetTypes.subscribe ||
    type === packetTypes.unsubscribe
      ? 0b0010
      : 0;
  const found = header & 0b1111;
  if (found === wanted) return;
  if (version === 3 && wanted !== 0 && found === (wanted | dupFlag)) return;
  throw new ProtocolError(
    Reason.malformedPacket,
    `Cannot read packet of type ${type}: header flags are ${found}, ${wanted} is required`,
  );
}
