// PUBLISH from its bytes, whole. Wildcards in the topic, alias ranges and subscription ids from a
// client are for the core to refuse.

import type { ProtocolVersion, PublishPacket, QoS } from './packet.ts';
import type { PacketReader } from './packet-reader.ts';
import { takeProperties } from './properties.ts';
import { ProtocolError } from './protocol-error.ts';
import { Reason } from './reason-codes.ts';

export function decodePublish(
  header: number,
  reader: PacketReader,
  version: ProtocolVersion,
): PublishPacket {
  const qos = (header >>> 1) & 3;
  const dup = (header & 0b1000) !== 0;
  // [MQTT-3.3.1-4]
  if (qos === 3) {
    throw new ProtocolError(Reason.malformedPacket, 'Cannot read PUBLISH: QoS 3');
  }
  // [MQTT-3.3.1-2]
  if (qos === 0 && dup) {
    throw new ProtocolError(Reason.malformedPacket, 'Cannot read PUBLISH: DUP with QoS 0');
  }
  const topic = reader.text(); // [MQTT-3.3.2-1]
  // [MQTT-2.2.1-2] Without QoS there is no packet id.
  const packetId = qos === 0 ? 0 : reader.packetId();
  const properties = version === 5 ? takeProperties(reader, 'publish') : {};
  if (topic === '' && properties.topicAlias === undefined) {
    throw new ProtocolError(
      Reason.protocolError,
      'Cannot read PUBLISH: topic is empty and there is no topic alias',
    );
  }
  return {
    type: 'publish',
    topic,
    payload: reader.rest(),
    qos: qos as QoS,
    dup,
    retain: (header & 1) !== 0,
    packetId,
    properties,
  };
}
