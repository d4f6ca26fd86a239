// Ten independent streams: what it costs a broker to turn from one connection to the next.

import type { Load } from '../load.ts';
import { runClosedLoop, tenPairs } from '../traffic.ts';

export const load: Load = {
  title: '10 pairs, QoS 0',
  figures: ['messagesPerSecond', 'cpuMicros', 'p50Ms', 'p99Ms'],
  bars: {
    messagesPerSecond: { kind: 'ratio', bar: 4, reach: 6 },
    cpuMicros: { kind: 'ratio', bar: 5, reach: 7 },
  },
  run: (target) => runClosedLoop(tenPairs(0), target),
};
