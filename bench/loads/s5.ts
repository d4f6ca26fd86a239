// Acknowledged on both legs. Neither broker has a window (Mosquitto: max_inflight_messages 0, ours:
// max_inflight 0), so that both may send what they have; the generator bounds what is under way.

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
  settings: ['zone.external.max_inflight=0'],
  run: (target) => runClosedLoop(shape, target),
};
