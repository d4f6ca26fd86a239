// Fan-out: a hundred copies of each message. The next batch waits for the slowest subscriber.

import type { Load } from '../load.ts';
import { runClosedLoop } from '../traffic.ts';

const shape = {
  publishers: 1,
  subscribers: 100,
  pairs: false,
  qos: 0,
  batch: 50,
  slots: 10,
} as const;

export const load: Load = {
  title: '1 publisher → 100 subscribers, QoS 0',
  figures: ['messagesPerSecond', 'cpuMicros', 'p50Ms', 'p99Ms'],
  bars: {
    messagesPerSecond: { kind: 'ratio', bar: 5, reach: 8 },
    cpuMicros: { kind: 'ratio', bar: 6, reach: 9 },
  },
  run: (target) => runClosedLoop(shape, target),
};
