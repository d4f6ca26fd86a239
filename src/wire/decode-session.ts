// CONNACK, DISCONNECT and AUTH from their bytes: how a session's connection begins and ends.

import { takeReason } from './decode-acks.ts';
import type { AuthPacket, ConnackPacket, DisconnectPacket, ProtocolVersion } from './packet.ts';
import type { PacketReader } from './packet-reader.ts';
import { takeProperties } from './properties.ts';
import { ProtocolError } from './protocol-error.ts';
import { Reason } from './reason-codes.ts';

/** The highest CONNACK return code before 5.0, "not authorized". */
const returnCodeMax = 5;

export function decodeConnack(reader: PacketReader, version: ProtocolVersion): ConnackPacket {
  const flags = reader.byte();
  // [MQTT-3.2.2-1]
  if (flags > 1) {
    throw new ProtocolError(
      Reason.malformedPacket,
      `Cannot read CONNACK: flags are ${flags}, only the lowest bit is defined`,
    );
  }
  const sessionPresent = flags === 1;
  if (version === 5) {
    const reasonCode = takeReason('connack', reader);
    const properties = takeProperties(reader, 'connack');
    return { type: 'connack', sessionPresent, reasonCode, properties };
  }
  const reasonCode = reader.byte();
  if (reasonCode > returnCodeMax) {
    throw new ProtocolError(
      Reason.protocolError,
      `Cannot read CONNACK: return code ${reasonCode}, ${returnCodeMax} is the highest`,
    );
  }
  return { type: 'connack', sessionPresent, reasonCode, properties: {} };
}

/** Before 5.0 empty; since then empty, a reason code, or a reason code and properties. */
export function decodeDisconnect(reader: PacketReader, version: ProtocolVersion): DisconnectPacket {
  const reasonCode =
    version === 5 && reader.left > 0
      ? takeReason('disconnect', reader)
      : Reason.normalDisconnection;
  const properties = version === 5 && reader.left > 0 ? takeProperties(reader, 'disconnect') : {};
  return { type: 'disconnect', reasonCode, properties };
}

/** Empty, or a reason code and properties; unlike DISCONNECT there is no form between the two. */
export function decodeAuth(reader: PacketReader, version: ProtocolVersion): AuthPacket {
  if (version !== 5) {
    throw new ProtocolError(
      Reason.malformedPacket,
      'Cannot read packet: type 15 is reserved before MQTT 5.0',
    );
  }
  if (reader.left === 0) return { type: 'auth', reasonCode: Reason.success, properties: {} };
  const reasonCode = takeReason('auth', reader);
  return { type: 'auth', reasonCode, properties: takeProperties(reader, 'auth') };
}
