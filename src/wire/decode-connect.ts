// CONNECT from its bytes. Shape only: whether a client id, a topic or a will is acceptable to this
// broker is for the core to say.

import { bridgeBit, connectFlags, willQosShift } from './connect-flags.ts';
import type { ConnectPacket, ProtocolVersion, QoS, Will } from './packet.ts';
import type { PacketReader } from './packet-reader.ts';
import { takeProperties } from './properties.ts';
import { ProtocolError } from './protocol-error.ts';
import { Reason } from './reason-codes.ts';

export function decodeConnect(reader: PacketReader): ConnectPacket {
  const name = reader.text();
  const level = reader.byte();
  const version = versionOf(name, level);
  const flags = reader.byte();
  refuseFlags(flags, version);
  const keepaliveSeconds = reader.uint16();
  const properties = version === 5 ? takeProperties(reader, 'connect') : {};
  // [MQTT-3.1.3-1] Client id, will, username, password: always in this order. [MQTT-3.1.3-4]
  const clientId = reader.text();
  const packet: ConnectPacket = {
    type: 'connect',
    version,
    isBridge: (level & bridgeBit) !== 0,
    cleanStart: (flags & connectFlags.cleanStart) !== 0,
    keepaliveSeconds,
    clientId,
    properties,
  };
  if ((flags & connectFlags.will) !== 0) packet.will = readWill(reader, flags, version);
  if ((flags & connectFlags.username) !== 0 && !isLeftOut(reader, version)) {
    packet.username = reader.text(); // [MQTT-3.1.3-12]
  }
  if ((flags & connectFlags.password) !== 0 && !isLeftOut(reader, version)) {
    packet.password = reader.binary();
  }
  return packet;
}

/** [MQTT-3.1.2-1] [MQTT-3.1.2-2] Name and level together; bridges of old add 0x80 to the level. */
function versionOf(name: string, level: number): ProtocolVersion {
  if (name === 'MQTT') {
    if (level === 5) return 5;
    if ((level & ~bridgeBit) === 4) return 4;
  } else if (name === 'MQIsdp' && (level & ~bridgeBit) === 3) {
    return 3;
  }
  throw new ProtocolError(
    Reason.unsupportedProtocolVersion,
    `Cannot speak protocol ${JSON.stringify(name)} level ${level}: MQIsdp 3, MQTT 4 and MQTT 5 are known`,
  );
}

function refuseFlags(flags: number, version: ProtocolVersion): void {
  // [MQTT-3.1.2-3]
  if ((flags & connectFlags.reserved) !== 0) throw malformed('reserved flag is set');
  const willQos = (flags >>> willQosShift) & 3;
  if ((flags & connectFlags.will) === 0) {
    // [MQTT-3.1.2-11]
    if (willQos !== 0) throw malformed('will QoS without will');
    // [MQTT-3.1.2-13]
    if ((flags & connectFlags.willRetain) !== 0) throw malformed('will retain without will');
  } else if (willQos === 3) {
    throw malformed('will QoS 3'); // [MQTT-3.1.2-12]
  }
  // [v3 MQTT-3.1.2-22] 5.0 has lifted this: a token may come as a password alone.
  if (
    version !== 5 &&
    (flags & connectFlags.password) !== 0 &&
    (flags & connectFlags.username) === 0
  ) {
    throw malformed('password without username');
  }
}

/** [MQTT-3.1.2-9] The will flag promises properties (5.0), topic and payload. */
function readWill(reader: PacketReader, flags: number, version: ProtocolVersion): Will {
  const properties = version === 5 ? takeProperties(reader, 'will') : {};
  const topic = reader.text(); // [MQTT-3.1.3-11]
  if (topic === '') throw malformed('will topic is empty');
  return {
    topic,
    payload: reader.binary(),
    qos: ((flags >>> willQosShift) & 3) as QoS,
    retain: (flags & connectFlags.willRetain) !== 0,
    properties,
  };
}

/** In 3.1 the length of the packet wins over the username and password flags. */
function isLeftOut(reader: PacketReader, version: ProtocolVersion): boolean {
  return version === 3 && reader.left === 0;
}

function malformed(found: string): ProtocolError {
  return new ProtocolError(Reason.malformedPacket, `Cannot read CONNECT: ${found}`);
}
