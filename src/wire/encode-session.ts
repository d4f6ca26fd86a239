// The bytes of CONNACK, DISCONNECT, AUTH and the pings.

import {
  type AuthPacket,
  type ConnackPacket,
  type DisconnectPacket,
  type PingPacket,
  type ProtocolVersion,
  packetTypes,
} from './packet.ts';
import { startPacket } from './packet-writer.ts';
import { propertiesSize, writeProperties } from './properties.ts';
import { Reason } from './reason-codes.ts';
import { varintSize } from './varint.ts';

export function encodeConnack(packet: ConnackPacket, version: ProtocolVersion): Buffer {
  const { sessionPresent, reasonCode, properties } = packet;
  const blockSize = version === 5 ? propertiesSize(properties, 'connack') : 0;
  let remaining = 2;
  if (version === 5) remaining += varintSize(blockSize) + blockSize;
  const bytes = startPacket(packetTypes.connack << 4, remaining);
  const at = bytes.length - remaining;
  bytes[at] = sessionPresent ? 1 : 0;
  bytes[at + 1] = reasonCode;
  if (version === 5) writeProperties(bytes, at + 2, properties, 'connack', blockSize);
  return bytes;
}

/** Before 5.0 always empty; since then the shortest of empty, reason code, and properties too. */
export function encodeDisconnect(packet: DisconnectPacket, version: ProtocolVersion): Buffer {
  const { reasonCode, properties } = packet;
  const blockSize = version === 5 ? propertiesSize(properties, 'disconnect') : 0;
  let remaining = 0;
  if (blockSize > 0) remaining = 1 + varintSize(blockSize) + blockSize;
  else if (version === 5 && reasonCode !== Reason.normalDisconnection) remaining = 1;
  const bytes = startPacket(packetTypes.disconnect << 4, remaining);
  const at = bytes.length - remaining;
  if (remaining > 0) bytes[at] = reasonCode;
  if (remaining > 1) writeProperties(bytes, at + 1, properties, 'disconnect', blockSize);
  return bytes;
}

/** Empty for success without properties; there is no form with a reason code alone. */
export function encodeAuth(packet: AuthPacket, version: ProtocolVersion): Buffer {
  if (version !== 5) {
    throw new RangeError(`Cannot write AUTH: protocol level is ${version}, 5 is required`);
  }
  const { reasonCode, properties } = packet;
  const blockSize = propertiesSize(properties, 'auth');
  const isShort = blockSize === 0 && reasonCode === Reason.success;
  const remaining = isShort ? 0 : 1 + varintSize(blockSize) + blockSize;
  const bytes = startPacket(packetTypes.auth << 4, remaining);
  if (isShort) return bytes;
  const at = bytes.length - remaining;
  bytes[at] = reasonCode;
  writeProperties(bytes, at + 1, properties, 'auth', blockSize);
  return bytes;
}

export function encodePing(packet: PingPacket): Buffer {
  return startPacket(packetTypes[packet.type] << 4, 0);
}
