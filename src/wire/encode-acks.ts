// The bytes of PUBACK, PUBREC, PUBREL, PUBCOMP, SUBACK and UNSUBACK.

import { type AckPacket, type ProtocolVersion, packetTypes, type SubackPacket } from './packet.ts';
import { startPacket, writeUint16 } from './packet-writer.ts';
import { propertiesSize, writeProperties } from './properties.ts';
import { Reason } from './reason-codes.ts';
import { varintSize } from './varint.ts';

/** The shortest form that says it: two bytes for success, three for a reason, else properties too. */
export function encodeAck(packet: AckPacket, version: ProtocolVersion): Buffer {
  const { type, packetId, reasonCode, properties } = packet;
  // [MQTT-3.6.1-1]
  const header = (packetTypes[type] << 4) | (type === 'pubrel' ? 0b0010 : 0);
  const blockSize = version === 5 ? propertiesSize(properties, type) : 0;
  let remaining = 2;
  if (blockSize > 0) remaining = 3 + varintSize(blockSize) + blockSize;
  else if (version === 5 && reasonCode !== Reason.success) remaining = 3;
  const bytes = startPacket(header, remaining);
  const at = writeUint16(bytes, bytes.length - remaining, packetId);
  if (remaining > 2) bytes[at] = reasonCode;
  if (remaining > 3) writeProperties(bytes, at + 1, properties, type, blockSize);
  return bytes;
}

export function encodeSuback(packet: SubackPacket, version: ProtocolVersion): Buffer {
  const { type, packetId, reasonCodes, properties } = packet;
  const blockSize = version === 5 ? propertiesSize(properties, type) : 0;
  let remaining = 2;
  if (version === 5) remaining += varintSize(blockSize) + blockSize;
  // Before 5.0 an UNSUBACK says nothing but that it has happened.
  const codes = version === 5 || type === 'suback' ? reasonCodes : [];
  remaining += codes.length;
  const bytes = startPacket(packetTypes[type] << 4, remaining);
  let at = writeUint16(bytes, bytes.length - remaining, packetId);
  if (version === 5) at = writeProperties(bytes, at, properties, type, blockSize);
  for (const code of codes) bytes[at++] = version === 5 ? code : returnCode(code);
  return bytes;
}

/** SUBACK before 5.0 knows one failure. */
function returnCode(code: number): number {
  return code < Reason.unspecifiedError ? code : Reason.unspecifiedError;
}
