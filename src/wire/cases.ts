// The shared table of cases: whole packets as raw bytes, with the packet they are or the reason code
// that refuses them. It drives the tests of everything that reads or writes MQTT.

import { ackCases } from './cases-acks.ts';
import { connectCases } from './cases-connect.ts';
import { propertyCases } from './cases-properties.ts';
import { publishCases } from './cases-publish.ts';
import { sessionCases } from './cases-session.ts';
import { subscribeCases } from './cases-subscribe.ts';
import type { WireCase } from './wire-case.ts';

export const cases: readonly WireCase[] = [
  ...connectCases,
  ...publishCases,
  ...ackCases,
  ...subscribeCases,
  ...sessionCases,
  ...propertyCases,
];
