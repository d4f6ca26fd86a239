// PUBACK, PUBREC, PUBREL and PUBCOMP from a client: the second halves of QoS 1 and 2. Ids that we do
// not know are counted as missed; where the protocol wants an answer all the same, it gets one.

import { decodePacket } from '#wire/decode';
import type { AckPacket } from '#wire/packet';
import { Reason } from '#wire/reason-codes';
import type { Channel } from './channel.ts';
import { Metric } from './metrics.ts';
import type { Session } from './session.ts';

type OnAck = (channel: Channel, session: Session, packetId: number, reasonCode: number) => void;

const onAck: { readonly [T in AckPacket['type']]: OnAck } = {
  puback: (channel, session, packetId, reasonCode) => {
    channel.core.metrics.add(Metric.pubackReceived);
    if (session.onPuback(packetId, reasonCode) === 'unknown') {
      channel.core.metrics.add(Metric.pubackMissed);
    }
  },
  pubrec: (channel, session, packetId, reasonCode) => {
    channel.core.metrics.add(Metric.pubrecReceived);
    if (session.onPubrec(packetId, reasonCode) === 'done') return;
    channel.core.metrics.add(Metric.pubrecMissed);
    // A client that was not told would wait for its PUBREL for ever.
    if (reasonCode < 0x80) channel.sendAck('pubrel', packetId, Reason.packetIdentifierNotFound);
  },
  pubrel: (channel, session, packetId) => {
    channel.core.metrics.add(Metric.pubrelReceived);
    const isKnown = session.awaitingRel.has(packetId);
    if (!isKnown) channel.core.metrics.add(Metric.pubrelMissed);
    const code = isKnown ? Reason.success : Reason.packetIdentifierNotFound;
    session.free(packetId, () => channel.sendAck('pubcomp', packetId, code)); // [MQTT-4.3.3-11]
  },
  pubcomp: (channel, session, packetId) => {
    channel.core.metrics.add(Metric.pubcompReceived);
    if (session.onPubcomp(packetId) === 'unknown') channel.core.metrics.add(Metric.pubcompMissed);
  },
};

/** The same by packet type, which begins at 4. */
const byNumber: readonly OnAck[] = [onAck.puback, onAck.pubrec, onAck.pubrel, onAck.pubcomp];
const firstNumber = 4;
/** First bytes with the flags that each of the four must have. */
const headers = [0x40, 0x50, 0x62, 0x70];

export function onAcknowledgement(
  channel: Channel,
  bytes: Buffer,
  start: number,
  body: number,
  end: number,
): undefined {
  const header = bytes[start] as number;
  const number = (header >> 4) - firstNumber;
  const session = channel.session as Session;
  // Two bytes of body are an id and success: no packet object for the commonest packet there is.
  if (end - body === 2 && header === headers[number]) {
    const packetId = ((bytes[body] as number) << 8) | (bytes[body + 1] as number);
    if (packetId !== 0) {
      (byNumber[number] as OnAck)(channel, session, packetId, Reason.success);
      return;
    }
  }
  const packet = decodePacket(header, bytes, body, end, channel.version) as AckPacket;
  onAck[packet.type](channel, session, packet.packetId, packet.reasonCode);
}
