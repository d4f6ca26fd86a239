// Acknowledged on both legs. The 500 messages of a stream fit the queue of a client whose window
// is full, so nothing may be dropped at shipped settings.

import type { Load } from '../load.ts';
import { runClosedLoop } from '../traffic.ts';

const shape = {
  publishers: 10,
  subscribers: 10,
  pairs: true,
  qos: 1,
  batch: 50,
  slots: 10,
} as const;

export const load: Load = {
  title: '10 pairs, QoS 1',
  figures: ['messagesPerSecond', 'cpuMicros', 'p50Ms', 'p99Ms'],
  bars: {
    messagesPerSecond: { kind: 'ratio', bar: 8, reach: 18 },
    cpuMicros: { kind: 'ratio', bar: 10, reach: 18 },
  },
  run: (target) => runClosedLoop(shape, target),
};
