// The counters of the platform interface. Each fact is counted once, in one typed array; the keys of
// the interface are sums of those facts, added up when somebody reads them. Counting is therefore one
// addition to `counts[i]` per packet. Law: an array has one writer, also where its memory is shared;
// `node-metrics.ts` adds those of all workers.

import { type HistogramCounts, histogramPlaces, readHistograms } from './histograms.ts';
import type { Stats } from './stats.ts';

/** What is counted, in the order of the array. Every message counted is a PUBLISH packet too. */
export const counterNames = [
  'bytesReceived',
  'bytesSent',
  'connect',
  'connack',
  'qos0Received',
  'qos1Received',
  'qos2Received',
  'qos0Sent',
  'qos1Sent',
  'qos2Sent',
  'qos2Expired',
  'qos2Dropped',
  'pubackReceived',
  'pubackSent',
  'pubackMissed',
  'pubrecReceived',
  'pubrecSent',
  'pubrecMissed',
  'pubrelReceived',
  'pubrelSent',
  'pubrelMissed',
  'pubcompReceived',
  'pubcompSent',
  'pubcompMissed',
  'subscribe',
  'suback',
  'unsubscribe',
  'unsuback',
  'pingreq',
  'pingresp',
  'disconnectReceived',
  'disconnectSent',
  'authReceived',
  'authSent',
  'messagesExpired',
  'messagesRetained',
  'messagesDropped',
  /** To other nodes, and there is one: what goes to another worker does not leave the node. */
  'messagesForward',
  'overloadEpisodes',
  'overloadPaused',
  'overloadRefused',
] as const;
export type CounterName = (typeof counterNames)[number];

/** Places in the array. */
export const Metric: { readonly [N in CounterName]: number } = Object.fromEntries(
  counterNames.map((name, index) => [name, index]),
) as { [N in CounterName]: number };

const publishReceived = ['qos0Received', 'qos1Received', 'qos2Received'] as const;
const publishSent = ['qos0Sent', 'qos1Sent', 'qos2Sent'] as const;

const sentCounters = publishSent.map((name) => Metric[name]);

/** The keys of the interface and what adds up to them; those of `overload/` are our addition. */
const sums: Readonly<Record<string, readonly CounterName[]>> = {
  'bytes/received': ['bytesReceived'],
  'bytes/sent': ['bytesSent'],
  'packets/received': [
    'connect',
    ...publishReceived,
    'pubackReceived',
    'pubrecReceived',
    'pubrelReceived',
    'pubcompReceived',
    'subscribe',
    'unsubscribe',
    'pingreq',
    'disconnectReceived',
    'authReceived',
  ],
  'packets/sent': [
    'connack',
    ...publishSent,
    'pubackSent',
    'pubrecSent',
    'pubrelSent',
    'pubcompSent',
    'suback',
    'unsuback',
    'pingresp',
    'disconnectSent',
    'authSent',
  ],
  'packets/connect': ['connect'],
  'packets/connack': ['connack'],
  'packets/publish/received': publishReceived,
  'packets/publish/sent': publishSent,
  'packets/puback/received': ['pubackReceived'],
  'packets/puback/sent': ['pubackSent'],
  'packets/puback/missed': ['pubackMissed'],
  'packets/pubrec/received': ['pubrecReceived'],
  'packets/pubrec/sent': ['pubrecSent'],
  'packets/pubrec/missed': ['pubrecMissed'],
  'packets/pubrel/received': ['pubrelReceived'],
  'packets/pubrel/sent': ['pubrelSent'],
  'packets/pubrel/missed': ['pubrelMissed'],
  'packets/pubcomp/received': ['pubcompReceived'],
  'packets/pubcomp/sent': ['pubcompSent'],
  'packets/pubcomp/missed': ['pubcompMissed'],
  'packets/subscribe': ['subscribe'],
  'packets/suback': ['suback'],
  'packets/unsubscribe': ['unsubscribe'],
  'packets/unsuback': ['unsuback'],
  'packets/pingreq': ['pingreq'],
  'packets/pingresp': ['pingresp'],
  'packets/disconnect/received': ['disconnectReceived'],
  'packets/disconnect/sent': ['disconnectSent'],
  'packets/auth': ['authReceived', 'authSent'],
  'messages/received': publishReceived,
  'messages/sent': publishSent,
  'messages/expired': ['messagesExpired'],
  'messages/retained': ['messagesRetained'],
  'messages/dropped': ['messagesDropped'],
  'messages/forward': ['messagesForward'],
  'messages/qos0/received': ['qos0Received'],
  'messages/qos0/sent': ['qos0Sent'],
  'messages/qos1/received': ['qos1Received'],
  'messages/qos1/sent': ['qos1Sent'],
  'messages/qos2/received': ['qos2Received'],
  'messages/qos2/sent': ['qos2Sent'],
  'messages/qos2/expired': ['qos2Expired'],
  'messages/qos2/dropped': ['qos2Dropped'],
  'overload/episodes': ['overloadEpisodes'],
  'overload/paused': ['overloadPaused'],
  'overload/refused': ['overloadRefused'],
};

/** Places of the array: the counters, and behind them those of histograms.ts. */
export const metricPlaces: number = counterNames.length + histogramPlaces;

export const metricKeys: readonly string[] = Object.keys(sums);

/** The value of one key of the interface, when `countOf` tells what was counted. */
export function metricOf(key: string, countOf: (index: number) => number): number {
  return (sums[key] ?? []).reduce((sum, name) => sum + countOf(Metric[name]), 0);
}

export class Metrics {
  /** Doubles: exact to 2^53, and an addition to them needs no conversion. */
  readonly counts: Float64Array;
  readonly #stats: Stats | undefined;

  /** `counts`: memory that others read. `stats`: where the number of retained messages is. */
  constructor(counts: Float64Array = new Float64Array(metricPlaces), stats?: Stats) {
    this.counts = counts;
    this.#stats = stats;
  }

  add(index: number, by = 1): void {
    (this.counts[index] as number) += by;
  }

  /** What is sent meanwhile is the broker's own and not counted: these are figures about clients. */
  withoutSent<T>(body: () => T): T {
    const before = sentCounters.map((index) => this.counts[index] as number);
    try {
      return body();
    } finally {
      sentCounters.forEach((index, place) => {
        this.counts[index] = before[place] as number;
      });
    }
  }

  /** The value of one key of the interface. */
  get(key: string): number {
    return metricOf(key, (index) => countIn(this.counts, index, this.#stats));
  }

  snapshot(): Record<string, number> {
    return Object.fromEntries(metricKeys.map((key) => [key, this.get(key)]));
  }

  /** Where histograms are counted. */
  get histogramCounts(): Float64Array {
    return this.counts.subarray(counterNames.length);
  }

  histograms(): HistogramCounts[] {
    return readHistograms((place) => this.histogramCounts[place] ?? 0);
  }
}

/** What is retained is a gauge: the interface lists it here, its owner keeps it in the stats. */
function countIn(counts: Float64Array, index: number, stats: Stats | undefined): number {
  if (index === Metric.messagesRetained && stats !== undefined) return stats.count('retained');
  return counts[index] ?? 0;
}
