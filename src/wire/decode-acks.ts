// PUBACK, PUBREC, PUBREL, PUBCOMP, SUBACK and UNSUBACK from their bytes.

import type { AckPacket, PacketType, ProtocolVersion, SubackPacket } from './packet.ts';
import type { PacketReader } from './packet-reader.ts';
import { takeProperties } from './properties.ts';
import { ProtocolError } from './protocol-error.ts';
import { isAllowedReason, Reason } from './reason-codes.ts';

export function decodeAck(
  type: AckPacket['type'],
  reader: PacketReader,
  version: ProtocolVersion,
): AckPacket {
  const packetId = reader.packetId();
  // Two bytes mean success, three a reason code without properties; before 5.0 there are only two.
  const reasonCode = version === 5 && reader.left > 0 ? takeReason(type, reader) : Reason.success;
  const properties = version === 5 && reader.left > 0 ? takeProperties(reader, type) : {};
  return { type, packetId, reasonCode, properties };
}

export function decodeSuback(reader: PacketReader, version: ProtocolVersion): SubackPacket {
  const packetId = reader.packetId();
  const properties = version === 5 ? takeProperties(reader, 'suback') : {};
  const reasonCodes: number[] = [];
  do {
    reasonCodes.push(version === 5 ? takeReason('suback', reader) : takeReturnCode(reader));
  } while (reader.left > 0);
  return { type: 'suback', packetId, reasonCodes, properties };
}

export function decodeUnsuback(reader: PacketReader, version: ProtocolVersion): SubackPacket {
  const packetId = reader.packetId();
  if (version !== 5) return { type: 'unsuback', packetId, reasonCodes: [], properties: {} };
  const properties = takeProperties(reader, 'unsuback');
  const reasonCodes: number[] = [];
  do {
    reasonCodes.push(takeReason('unsuback', reader));
  } while (reader.left > 0);
  return { type: 'unsuback', packetId, reasonCodes, properties };
}

/**
 * A code that the packet may carry: [MQTT-3.2.2-8] CONNACK, [MQTT-3.4.2-1] PUBACK, [MQTT-3.5.2-1]
 * PUBREC, [MQTT-3.6.2-1] PUBREL, [MQTT-3.7.2-1] PUBCOMP, [MQTT-3.9.3-2] SUBACK, [MQTT-3.11.3-2]
 * UNSUBACK, [MQTT-3.14.2-1] DISCONNECT, [MQTT-3.15.2-1] AUTH.
 */
export function takeReason(type: PacketType, reader: PacketReader): number {
  const code = reader.byte();
  if (!isAllowedReason(type, code)) {
    throw new ProtocolError(
      Reason.protocolError,
      `Cannot read reason code ${code}: not allowed in ${type}`,
    );
  }
  return code;
}

/** SUBACK before 5.0: a granted QoS or 0x80. */
function takeReturnCode(reader: PacketReader): number {
  const code = reader.byte();
  if (code > 2 && code !== 0x80) {
    throw new ProtocolError(
      Reason.protocolError,
      `Cannot read return code ${code}: 0, 1, 2 and 128 are allowed in suback`,
    );
  }
  return code;
}
