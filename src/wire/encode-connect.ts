// The bytes of a CONNECT, as bridges, tests and the load generator send it.

import { bridgeBit, connectFlags, willQosShift } from './connect-flags.ts';
import { type ConnectPacket, packetTypes } from './packet.ts';
import { binarySize, startPacket, writeBinary, writeUint16 } from './packet-writer.ts';
import { propertiesSize, writeProperties } from './properties.ts';
import { utf8Size, writeUtf8 } from './utf8.ts';
import { varintSize } from './varint.ts';

export function encodeConnect(packet: ConnectPacket): Buffer {
  refuseUnsayable(packet);
  const { version, properties, will } = packet;
  const isV5 = version === 5;
  const name = version === 3 ? 'MQIsdp' : 'MQTT';
  const blockSize = isV5 ? propertiesSize(properties, 'connect') : 0;
  const willBlockSize = isV5 && will !== undefined ? propertiesSize(will.properties, 'will') : 0;
  const remaining = sizeOf(packet, name, blockSize, willBlockSize);
  const bytes = startPacket(packetTypes.connect << 4, remaining);
  let at = writeUtf8(bytes, bytes.length - remaining, name, name.length);
  bytes[at++] = version | (packet.isBridge ? bridgeBit : 0);
  bytes[at++] = flagsOf(packet);
  at = writeUint16(bytes, at, packet.keepaliveSeconds);
  if (isV5) at = writeProperties(bytes, at, properties, 'connect', blockSize);
  // [MQTT-3.1.3-1]
  at = writeText(bytes, at, packet.clientId);
  if (will !== undefined) {
    if (isV5) at = writeProperties(bytes, at, will.properties, 'will', willBlockSize);
    at = writeText(bytes, at, will.topic);
    at = writeBinary(bytes, at, will.payload);
  }
  if (packet.username !== undefined) at = writeText(bytes, at, packet.username);
  if (packet.password !== undefined) writeBinary(bytes, at, packet.password);
  return bytes;
}

/** What no CONNECT of that version can say, and a peer would refuse to read. */
function refuseUnsayable(packet: ConnectPacket): void {
  const { version } = packet;
  if (version === 5 && packet.isBridge) {
    throw new RangeError('Cannot write CONNECT: the bridge bit exists only before MQTT 5.0');
  }
  if (version !== 5 && packet.password !== undefined && packet.username === undefined) {
    throw new RangeError('Cannot write CONNECT: password without username needs MQTT 5.0');
  }
}

function sizeOf(
  packet: ConnectPacket,
  name: string,
  blockSize: number,
  willBlockSize: number,
): number {
  const { version, will, username, password } = packet;
  let size = 2 + name.length + 4 + 2 + utf8Size(packet.clientId);
  if (version === 5) size += varintSize(blockSize) + blockSize;
  if (will !== undefined) {
    if (version === 5) size += varintSize(willBlockSize) + willBlockSize;
    size += 4 + utf8Size(will.topic) + binarySize(will.payload);
  }
  if (username !== undefined) size += 2 + utf8Size(username);
  if (password !== undefined) size += 2 + binarySize(password);
  return size;
}

function flagsOf(packet: ConnectPacket): number {
  const { will } = packet;
  let flags = packet.cleanStart ? connectFlags.cleanStart : 0;
  if (will !== undefined) {
    flags |= connectFlags.will | (will.qos << willQosShift);
    if (will.retain) flags |= connectFlags.willRetain;
  }
  if (packet.username !== undefined) flags |= connectFlags.username;
  if (packet.password !== undefined) flags |= connectFlags.password;
  return flags;
}

function writeText(bytes: Buffer, at: number, text: string): number {
  return writeUtf8(bytes, at, text, utf8Size(text));
}
