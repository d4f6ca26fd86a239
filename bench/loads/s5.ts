// Acknowledged on both legs. Neither broker has a window (Mosquitto: max_inflight_messages 0, ours:
// max_inflight 0), so that both may send what they have; the generator bounds what is under way.

import type { Load } from '../load.ts';
import { runClosedLoop, tenPairs } from '../traffic.ts';

export const load: Load = {
  title: '10 pairs, QoS 1',
  figures: ['messagesPerSecond', 'cpuMicros', 'p50Ms', 'p99Ms'],
  bars: {
    messagesPerSecond: { kind: 'ratio', bar: 8, reach: 18 },
    cpuMicros: { kind: 'ratio', bar: 10, reach: 18 },
  },
  settings: ['zone.external.max_inflight=0'],
  run: (target) => runClosedLoop(tenPairs(1), target),
};
