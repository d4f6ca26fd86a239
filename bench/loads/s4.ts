// Fan-in through a wildcard, a hundred topics. At most 4000 messages (360 KB) wait for the one
// subscriber, far below what either broker allows a client.

import type { Load } from '../load.ts';
import { runClosedLoop } from '../traffic.ts';

const shape = {
  publishers: 100,
  subscribers: 1,
  pairs: false,
  filter: 'bench/#',
  qos: 0,
  batch: 20,
  slots: 2,
} as const;

export const load: Load = {
  title: '100 publishers → 1 subscriber by `#`, QoS 0',
  figures: ['messagesPerSecond', 'cpuMicros', 'p50Ms', 'p99Ms'],
  bars: {
    messagesPerSecond: { kind: 'ratio', bar: 3, reach: 4 },
    cpuMicros: { kind: 'ratio', bar: 3, reach: 4.5 },
  },
  run: (target) => runClosedLoop(shape, target),
};
