// SUBSCRIBE and UNSUBSCRIBE from their bytes. Whether a filter is well formed is for the core to say:
// a bad filter is answered in the SUBACK, a bad packet ends the connection.

import type {
  ProtocolVersion,
  QoS,
  SubscribeFilter,
  SubscribePacket,
  UnsubscribePacket,
} from './packet.ts';
import type { PacketReader } from './packet-reader.ts';
import { takeProperties } from './properties.ts';
import { ProtocolError } from './protocol-error.ts';
import { Reason } from './reason-codes.ts';

export function decodeSubscribe(reader: PacketReader, version: ProtocolVersion): SubscribePacket {
  const packetId = reader.packetId();
  const properties = version === 5 ? takeProperties(reader, 'subscribe') : {};
  // [MQTT-3.8.3-2]
  if (reader.left === 0) throw noFilters('SUBSCRIBE');
  const filters: SubscribeFilter[] = [];
  while (reader.left > 0) filters.push(takeFilter(reader, version));
  return { type: 'subscribe', packetId, filters, properties };
}

export function decodeUnsubscribe(
  reader: PacketReader,
  version: ProtocolVersion,
): UnsubscribePacket {
  const packetId = reader.packetId();
  const properties = version === 5 ? takeProperties(reader, 'unsubscribe') : {};
  // [MQTT-3.10.3-2]
  if (reader.left === 0) throw noFilters('UNSUBSCRIBE');
  const filters: string[] = [];
  while (reader.left > 0) filters.push(reader.text()); // [MQTT-3.10.3-1]
  return { type: 'unsubscribe', packetId, filters, properties };
}

/** Bits of the options byte: 0–1 QoS, 2 no local, 3 retain as published, 4–5 retain handling. */
function takeFilter(reader: PacketReader, version: ProtocolVersion): SubscribeFilter {
  const filter = reader.text(); // [MQTT-3.8.3-1]
  const options = reader.byte();
  // [MQTT-3.8.3-5] Before 5.0 all but the QoS is reserved.
  if ((options & (version === 5 ? 0b1100_0000 : 0b1111_1100)) !== 0) {
    throw new ProtocolError(
      Reason.malformedPacket,
      `Cannot read subscription options ${options}: reserved bits are set`,
    );
  }
  if ((options & 3) === 3) {
    throw new ProtocolError(
      Reason.malformedPacket,
      `Cannot read subscription options ${options}: QoS 3`,
    );
  }
  const retainHandling = options >>> 4;
  if (retainHandling === 3) {
    throw new ProtocolError(
      Reason.protocolError,
      `Cannot read subscription options ${options}: retain handling 3`,
    );
  }
  const noLocal = (options & 0b0100) !== 0;
  // [MQTT-3.8.3-4]
  if (noLocal && (filter.startsWith('$share/') || filter.startsWith('$queue/'))) {
    throw new ProtocolError(
      Reason.protocolError,
      `Cannot subscribe to "${filter}" with no local: the subscription is shared`,
    );
  }
  return {
    filter,
    qos: (options & 3) as QoS,
    noLocal,
    retainAsPublished: (options & 0b1000) !== 0,
    retainHandling: retainHandling as 0 | 1 | 2,
  };
}

function noFilters(name: string): ProtocolError {
  return new ProtocolError(Reason.protocolError, `Cannot read ${name}: no topic filter`);
}
