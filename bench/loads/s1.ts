// The bare data path: one stream of messages, at most 1000 of them under way.

import type { Load } from '../load.ts';
import { runClosedLoop } from '../traffic.ts';

const shape = {
  publishers: 1,
  subscribers: 1,
  pairs: true,
  qos: 0,
  batch: 100,
  slots: 10,
} as const;

export const load: Load = {
  title: '1 publisher → 1 subscriber, QoS 0',
  figures: ['messagesPerSecond', 'cpuMicros', 'p50Ms', 'p99Ms'],
  bars: {
    messagesPerSecond: { kind: 'ratio', bar: 5, reach: 9 },
    cpuMicros: { kind: 'ratio', bar: 6, reach: 10 },
  },
  run: (target) => runClosedLoop(shape, target),
};
