// The bytes of one packet, in both directions, as one buffer of the exact size. What a version does
// not have (properties and most reason codes before 5.0) is left out. A value that no packet can hold
// is our own fault and a RangeError.

import { encodeAck, encodeSuback } from './encode-acks.ts';
import { encodeConnect } from './encode-connect.ts';
import { encodePublish } from './encode-publish.ts';
import { encodeAuth, encodeConnack, encodeDisconnect, encodePing } from './encode-session.ts';
import { encodeSubscribe, encodeUnsubscribe } from './encode-subscribe.ts';
import type { Packet, ProtocolVersion } from './packet.ts';

/** A CONNECT is written in the version it names itself. */
export function encodePacket(packet: Packet, version: ProtocolVersion): Buffer {
  switch (packet.type) {
    case 'publish':
      return encodePublish(packet, version);
    case 'puback':
    case 'pubrec':
    case 'pubrel':
    case 'pubcomp':
      return encodeAck(packet, version);
    case 'suback':
    case 'unsuback':
      return encodeSuback(packet, version);
    case 'subscribe':
      return encodeSubscribe(packet, version);
    case 'unsubscribe':
      return encodeUnsubscribe(packet, version);
    case 'pingreq':
    case 'pingresp':
      return encodePing(packet);
    case 'connect':
      return encodeConnect(packet);
    case 'connack':
      return encodeConnack(packet, version);
    case 'disconnect':
      return encodeDisconnect(packet, version);
    case 'auth':
      return encodeAuth(packet, version);
  }
}
