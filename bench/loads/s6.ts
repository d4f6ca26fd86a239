// Many clients that each say little, as devices do: what waking up for one message costs.

import type { Load } from '../load.ts';
import { runOpenLoop } from '../traffic.ts';

const messagesPerSecond = 10_000;
/** Processor time is counted in steps of 10 ms: a shorter span would read too coarsely. */
const secondsMin = 6;

export const load: Load = {
  title: '500 pairs, 10 k messages/s in all, QoS 0',
  figures: ['messagesPerSecond', 'cpuMicros', 'p50Ms', 'p99Ms'],
  bars: { cpuMicros: { kind: 'ratio', bar: 1.6, reach: 2 } },
  run: (target) =>
    runOpenLoop({ publishers: 500, subscribers: 500, pairs: true }, messagesPerSecond, {
      ...target,
      seconds: Math.max(secondsMin, target.seconds),
    }),
};
