// Cases of SUBSCRIBE and UNSUBSCRIBE.

import { raw, type WireCase } from './wire-case.ts';

const plain = { noLocal: false, retainAsPublished: false, retainHandling: 0 } as const;

export const subscribeCases: readonly WireCase[] = [
  {
    name: 'SUBSCRIBE 3.1 is read',
    version: 3,
    bytes: raw("82 08 0001 0003 'a/b' 01"),
    packet: {
      type: 'subscribe',
      packetId: 1,
      filters: [{ filter: 'a/b', qos: 1, ...plain }],
      properties: {},
    },
  },
  {
    name: 'SUBSCRIBE 3.1 may be marked with DUP',
    version: 3,
    bytes: raw("8a 08 0001 0003 'a/b' 01"),
    decodeOnly: true,
    packet: {
      type: 'subscribe',
      packetId: 1,
      filters: [{ filter: 'a/b', qos: 1, ...plain }],
      properties: {},
    },
  },
  {
    name: 'SUBSCRIBE 3.1.1 to several filters is read',
    version: 4,
    bytes: raw("82 15 0001 0003 'a/+' 00 0001 '#' 01 0006 '$SYS/#' 02"),
    packet: {
      type: 'subscribe',
      packetId: 1,
      filters: [
        { filter: 'a/+', qos: 0, ...plain },
        { filter: '#', qos: 1, ...plain },
        { filter: '$SYS/#', qos: 2, ...plain },
      ],
      properties: {},
    },
  },
  {
    name: 'SUBSCRIBE 5.0 with every option and property is read',
    version: 5,
    bytes: raw(
      "82 1d 0001 0a 0b 8001 26 0001 'k' 0001 'v' 0001 'a' 04 0001 'b' 09 0001 'c' 12 0001 'd' 2e",
    ),
    packet: {
      type: 'subscribe',
      packetId: 1,
      filters: [
        { filter: 'a', qos: 0, noLocal: true, retainAsPublished: false, retainHandling: 0 },
        { filter: 'b', qos: 1, noLocal: false, retainAsPublished: true, retainHandling: 0 },
        { filter: 'c', qos: 2, noLocal: false, retainAsPublished: false, retainHandling: 1 },
        { filter: 'd', qos: 2, noLocal: true, retainAsPublished: true, retainHandling: 2 },
      ],
      properties: { subscriptionIds: [128], userProperties: [['k', 'v']] },
    },
  },
  {
    name: 'SUBSCRIBE 5.0 to a shared filter is read',
    version: 5,
    bytes: raw("82 10 0001 00 000a '$share/g/a' 01"),
    packet: {
      type: 'subscribe',
      packetId: 1,
      filters: [{ filter: '$share/g/a', qos: 1, ...plain }],
      properties: {},
    },
  },
  {
    name: 'UNSUBSCRIBE 3.1 may be marked with DUP',
    version: 3,
    bytes: raw("aa 07 0001 0003 'a/b'"),
    decodeOnly: true,
    packet: { type: 'unsubscribe', packetId: 1, filters: ['a/b'], properties: {} },
  },
  {
    name: 'UNSUBSCRIBE 3.1.1 from several filters is read',
    version: 4,
    bytes: raw("a2 0a 0001 0003 'a/b' 0001 '#'"),
    packet: { type: 'unsubscribe', packetId: 1, filters: ['a/b', '#'], properties: {} },
  },
  {
    name: 'UNSUBSCRIBE 5.0 is read',
    version: 5,
    bytes: raw("a2 0f 0001 07 26 0001 'k' 0001 'v' 0003 'a/b'"),
    packet: {
      type: 'unsubscribe',
      packetId: 1,
      filters: ['a/b'],
      properties: { userProperties: [['k', 'v']] },
    },
  },
  {
    name: '[MQTT-3.8.3-2] SUBSCRIBE 3.1.1 without filter is refused',
    version: 4,
    bytes: raw('82 02 0001'),
    failure: 0x82,
  },
  {
    name: '[MQTT-3.8.3-2] SUBSCRIBE 5.0 without filter is refused',
    version: 5,
    bytes: raw('82 03 0001 00'),
    failure: 0x82,
  },
  {
    name: '[MQTT-3.8.3-1] SUBSCRIBE with a filter that is not UTF-8 is refused',
    version: 4,
    bytes: raw('82 06 0001 0001 ff 00'),
    failure: 0x81,
  },
  {
    name: '[MQTT-3.8.3-4] SUBSCRIBE with no local on a shared filter is refused',
    version: 5,
    bytes: raw("82 10 0001 00 000a '$share/g/a' 05"),
    failure: 0x82,
  },
  {
    name: '[MQTT-3.8.3-5] SUBSCRIBE 5.0 with a reserved option bit is refused',
    version: 5,
    bytes: raw("82 07 0001 00 0001 'a' 40"),
    failure: 0x81,
  },
  {
    name: '[MQTT-3.8.3-5] SUBSCRIBE 5.0 with the other reserved option bit is refused',
    version: 5,
    bytes: raw("82 07 0001 00 0001 'a' 80"),
    failure: 0x81,
  },
  {
    name: 'SUBSCRIBE 3.1.1 with options of 5.0 is refused',
    version: 4,
    bytes: raw("82 06 0001 0001 'a' 04"),
    failure: 0x81,
  },
  {
    name: 'SUBSCRIBE 3.1.1 with QoS 3 is refused',
    version: 4,
    bytes: raw("82 06 0001 0001 'a' 03"),
    failure: 0x81,
  },
  {
    name: 'SUBSCRIBE 5.0 with QoS 3 is refused',
    version: 5,
    bytes: raw("82 07 0001 00 0001 'a' 03"),
    failure: 0x81,
  },
  {
    name: 'SUBSCRIBE 5.0 with retain handling 3 is refused',
    version: 5,
    bytes: raw("82 07 0001 00 0001 'a' 30"),
    failure: 0x82,
  },
  {
    name: 'SUBSCRIBE with a filter but no options is refused',
    version: 4,
    bytes: raw("82 05 0001 0001 'a'"),
    failure: 0x81,
  },
  {
    name: '[MQTT-2.2.1-3] SUBSCRIBE with packet id 0 is refused',
    version: 4,
    bytes: raw("82 06 0000 0001 'a' 00"),
    failure: 0x81,
  },
  {
    name: '[MQTT-3.8.1-1] SUBSCRIBE without header flags is refused',
    version: 4,
    bytes: raw("80 06 0001 0001 'a' 00"),
    failure: 0x81,
  },
  {
    name: '[MQTT-3.10.1-1] UNSUBSCRIBE without header flags is refused',
    version: 5,
    bytes: raw("a0 06 0001 00 0001 'a'"),
    failure: 0x81,
  },
  {
    name: '[MQTT-3.10.3-1] UNSUBSCRIBE with a filter that is not UTF-8 is refused',
    version: 4,
    bytes: raw('a2 05 0001 0001 ff'),
    failure: 0x81,
  },
  {
    name: '[MQTT-3.10.3-2] UNSUBSCRIBE 3.1.1 without filter is refused',
    version: 4,
    bytes: raw('a2 02 0001'),
    failure: 0x82,
  },
  {
    name: '[MQTT-3.10.3-2] UNSUBSCRIBE 5.0 without filter is refused',
    version: 5,
    bytes: raw('a2 03 0001 00'),
    failure: 0x82,
  },
  {
    name: '[MQTT-2.2.1-3] UNSUBSCRIBE with packet id 0 is refused',
    version: 5,
    bytes: raw("a2 06 0000 00 0001 'a'"),
    failure: 0x81,
  },
  {
    name: 'UNSUBSCRIBE with a filter longer than the packet is refused',
    version: 4,
    bytes: raw("a2 06 0001 0003 'a/'"),
    failure: 0x81,
  },
];
