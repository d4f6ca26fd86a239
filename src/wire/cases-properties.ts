// Cases of properties that are refused; those that are read stand with the packets that carry them.

import { raw, type WireCase } from './wire-case.ts';

export const propertyCases: readonly WireCase[] = [
  {
    name: 'A property that does not exist is refused',
    version: 5,
    bytes: raw("30 06 0001 'a' 02 7f 00"),
    failure: 0x81,
  },
  {
    name: 'A property id of two bytes is refused',
    version: 5,
    bytes: raw("30 07 0001 'a' 03 8101 00"),
    failure: 0x81,
  },
  {
    name: 'A property of another packet is refused',
    version: 5,
    bytes: raw("30 09 0001 'a' 05 11 00000001"),
    failure: 0x82,
  },
  {
    name: 'A property of CONNECT in its will is refused',
    version: 5,
    bytes: raw("10 18 0004 'MQTT' 05 06 003c 00 0001 'd' 03 21 0001 0001 'w' 0001 'x'"),
    failure: 0x82,
  },
  {
    name: 'A property of a will in its CONNECT is refused',
    version: 5,
    bytes: raw("10 13 0004 'MQTT' 05 02 003c 05 18 00000001 0001 'd'"),
    failure: 0x82,
  },
  {
    name: 'A subscription id in UNSUBSCRIBE is refused',
    version: 5,
    bytes: raw("a2 08 0001 02 0b 01 0001 'a'"),
    failure: 0x82,
  },
  {
    name: 'A property that stands twice is refused',
    version: 5,
    bytes: raw("30 0a 0001 'a' 06 23 0001 23 0001"),
    failure: 0x82,
  },
  {
    name: 'A flag that stands twice is refused even when the first was false',
    version: 5,
    bytes: raw("10 12 0004 'MQTT' 05 02 003c 04 17 00 17 00 0001 'd'"),
    failure: 0x82,
  },
  {
    name: 'A text that stands twice is refused even when the first was empty',
    version: 5,
    bytes: raw("30 0a 0001 'a' 06 03 0000 03 0000"),
    failure: 0x82,
  },
  {
    name: 'A second subscription id in SUBSCRIBE is refused',
    version: 5,
    bytes: raw("82 0b 0001 04 0b 01 0b 02 0001 'a' 00"),
    failure: 0x82,
  },
  {
    name: 'A subscription id of 0 in SUBSCRIBE is refused',
    version: 5,
    bytes: raw("82 09 0001 02 0b 00 0001 'a' 00"),
    failure: 0x82,
  },
  {
    name: 'A subscription id of 0 in PUBLISH is refused',
    version: 5,
    bytes: raw("30 06 0001 'a' 02 0b 00"),
    failure: 0x82,
  },
  {
    name: 'A subscription id of five bytes is refused',
    version: 5,
    bytes: raw("82 0d 0001 06 0b ffffffff01 0001 'a' 00"),
    failure: 0x81,
  },
  {
    name: '[MQTT-3.3.2-8] A topic alias of 0 is refused',
    version: 5,
    bytes: raw("30 07 0001 'a' 03 23 0000"),
    failure: 0x94,
  },
  {
    name: 'A receive maximum of 0 is refused',
    version: 5,
    bytes: raw("10 11 0004 'MQTT' 05 02 003c 03 21 0000 0001 'd'"),
    failure: 0x82,
  },
  {
    name: 'A maximum packet size of 0 is refused',
    version: 5,
    bytes: raw("10 13 0004 'MQTT' 05 02 003c 05 27 00000000 0001 'd'"),
    failure: 0x82,
  },
  {
    name: 'A payload format of 2 is refused',
    version: 5,
    bytes: raw("30 06 0001 'a' 02 01 02"),
    failure: 0x82,
  },
  {
    name: 'A maximum QoS of 2 is refused',
    version: 5,
    bytes: raw('20 05 00 00 02 24 02'),
    failure: 0x82,
  },
  {
    name: 'A flag of 2 is refused',
    version: 5,
    bytes: raw("10 10 0004 'MQTT' 05 02 003c 02 19 02 0001 'd'"),
    failure: 0x82,
  },
  {
    name: 'Authentication data without method is refused',
    version: 5,
    bytes: raw("10 12 0004 'MQTT' 05 02 003c 04 16 0001 ff 0001 'd'"),
    failure: 0x82,
  },
  {
    name: 'A property length beyond the packet is refused',
    version: 5,
    bytes: raw("30 07 0001 'a' 04 23 0001"),
    failure: 0x81,
  },
  {
    name: 'A property that runs beyond the property length is refused',
    version: 5,
    bytes: raw("30 08 0001 'a' 02 23 0001 'x'"),
    failure: 0x81,
  },
  {
    name: 'A text that runs beyond the property length is refused',
    version: 5,
    bytes: raw("30 09 0001 'a' 04 03 0002 'x' 'y'"),
    failure: 0x81,
  },
  {
    name: 'A property id without value is refused',
    version: 5,
    bytes: raw("30 05 0001 'a' 01 01"),
    failure: 0x81,
  },
  {
    name: '[MQTT-1.5.7-1] A user property with a name that is not UTF-8 is refused',
    version: 5,
    bytes: raw("30 0b 0001 'a' 07 26 0001 ff 0001 'v'"),
    failure: 0x81,
  },
  {
    name: '[MQTT-1.5.7-1] A user property with U+0000 in its value is refused',
    version: 5,
    bytes: raw("30 0b 0001 'a' 07 26 0001 'k' 0001 00"),
    failure: 0x81,
  },
  {
    name: 'A user property without value is refused',
    version: 5,
    bytes: raw("30 08 0001 'a' 04 26 0001 'k'"),
    failure: 0x81,
  },
];
