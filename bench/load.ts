// What a load is, and the registry of loads: every file of `loads/` exports one as `load`, and its
// file name is its name on the command line. The runner knows nothing else about a load.

import { readdirSync } from 'node:fs';

export type Figure =
  | 'messagesPerSecond'
  | 'connectionsPerSecond'
  | 'cpuMicros'
  | 'p50Ms'
  | 'p99Ms'
  | 'bytesPerConnection'
  | 'startMs'
  | 'allConnectedMs'
  | 'exactMs'
  | 'exactCpuMicros'
  | 'branchMs'
  | 'branchCpuMicros'
  | 'allMs'
  | 'pingP99Ms'
  | 'bytesPerRetained'
  | 'ackedPerSecond'
  | 'ackedCpuMicros'
  | 'ackedP50Ms'
  | 'ackedP99Ms'
  | 'queuedPerSecond'
  | 'queuedCpuMicros'
  | 'queuedP50Ms'
  | 'queuedP99Ms'
  | 'lostByKill'
  | 'storeStartMs'
  | 'storeBytes'
  | 'waitingMs'
  | 'calmCpuMicros'
  | 'restCpuMicros'
  | 'restPercent'
  | 'restP50Ms'
  | 'restP99Ms'
  | 'restP50Times'
  | 'requestsPerSecond'
  | 'requestP99Ms'
  | 'plainCpuMicros'
  | 'aclCpuMicros'
  | 'aclPercent'
  | 'aclAckedPercent'
  | 'ruleCpuMicros'
  | 'rulesCpuMicros'
  | 'othersCpuMicros'
  | 'rulesTimes'
  | 'calmP50Ms'
  | 'calmP99Ms'
  | 'calmBytes'
  | 'flood0P50Ms'
  | 'flood0P50Times'
  | 'flood0P99Ms'
  | 'flood0P99Times'
  | 'flood0Bytes'
  | 'flood1P50Ms'
  | 'flood1P50Times'
  | 'flood1P99Ms'
  | 'flood1P99Times'
  | 'flood1Bytes';
export type Figures = Readonly<Partial<Record<Figure, number>>>;

export interface FigureKind {
  readonly heading: string;
  /** Decides which way a ratio is taken. */
  readonly better: 'higher' | 'lower';
  readonly unit: 'count' | 'µs' | 'ms' | 'bytes' | 'times' | '%';
}

/** Everything that a load can be judged by. */
export const figures: Readonly<Record<Figure, FigureKind>> = {
  messagesPerSecond: { heading: 'messages/s', better: 'higher', unit: 'count' },
  connectionsPerSecond: { heading: 'connections/s', better: 'higher', unit: 'count' },
  cpuMicros: { heading: 'CPU µs', better: 'lower', unit: 'µs' },
  p50Ms: { heading: 'p50 ms', better: 'lower', unit: 'ms' },
  p99Ms: { heading: 'p99 ms', better: 'lower', unit: 'ms' },
  bytesPerConnection: { heading: 'memory/connection', better: 'lower', unit: 'bytes' },
  allConnectedMs: { heading: 'ms until all were connected', better: 'lower', unit: 'ms' },
  startMs: { heading: 'start ms', better: 'lower', unit: 'ms' },
  exactMs: { heading: 'one exact topic: ms', better: 'lower', unit: 'ms' },
  exactCpuMicros: { heading: 'one exact topic: CPU µs', better: 'lower', unit: 'µs' },
  branchMs: { heading: '`+` branch of 100: ms', better: 'lower', unit: 'ms' },
  branchCpuMicros: { heading: '`+` branch of 100: CPU µs', better: 'lower', unit: 'µs' },
  allMs: { heading: '`#`, all of them: ms', better: 'lower', unit: 'ms' },
  pingP99Ms: { heading: "another client's ping meanwhile: p99 ms", better: 'lower', unit: 'ms' },
  bytesPerRetained: { heading: 'memory/retained message', better: 'lower', unit: 'bytes' },
  ackedPerSecond: { heading: 'to sessions: PUBACKs/s', better: 'higher', unit: 'count' },
  ackedCpuMicros: { heading: 'to sessions: CPU µs', better: 'lower', unit: 'µs' },
  ackedP50Ms: { heading: 'to sessions: PUBACK p50 ms, half load', better: 'lower', unit: 'ms' },
  ackedP99Ms: { heading: 'to sessions: PUBACK p99 ms, half load', better: 'lower', unit: 'ms' },
  queuedPerSecond: { heading: 'to absent sessions: PUBACKs/s', better: 'higher', unit: 'count' },
  queuedCpuMicros: { heading: 'to absent sessions: CPU µs', better: 'lower', unit: 'µs' },
  queuedP50Ms: { heading: 'absent: PUBACK p50 ms, half load', better: 'lower', unit: 'ms' },
  queuedP99Ms: { heading: 'absent: PUBACK p99 ms, half load', better: 'lower', unit: 'ms' },
  lostByKill: { heading: 'acknowledged, lost by `kill -9`', better: 'lower', unit: 'count' },
  storeStartMs: { heading: 'start to first CONNACK, ms', better: 'lower', unit: 'ms' },
  storeBytes: { heading: 'resident memory then', better: 'lower', unit: 'bytes' },
  waitingMs: { heading: 'CONNECT to the last waiting message, ms', better: 'lower', unit: 'ms' },
  calmCpuMicros: { heading: 'in calm: CPU µs of the worker', better: 'lower', unit: 'µs' },
  restCpuMicros: { heading: 'beside REST: CPU µs of the worker', better: 'lower', unit: 'µs' },
  restPercent: { heading: 'what REST takes of its core', better: 'lower', unit: '%' },
  restP50Ms: { heading: 'beside REST: p50 ms', better: 'lower', unit: 'ms' },
  restP99Ms: { heading: 'beside REST: p99 ms', better: 'lower', unit: 'ms' },
  restP50Times: { heading: '… p50 times that in calm', better: 'lower', unit: 'times' },
  requestsPerSecond: { heading: 'requests/s', better: 'higher', unit: 'count' },
  requestP99Ms: { heading: 'a request: p99 ms', better: 'lower', unit: 'ms' },
  plainCpuMicros: { heading: 'without any: CPU µs', better: 'lower', unit: 'µs' },
  aclCpuMicros: { heading: 'with rules: CPU µs', better: 'lower', unit: 'µs' },
  aclPercent: { heading: 'QoS 0 throughput that rules take', better: 'lower', unit: '%' },
  aclAckedPercent: { heading: 'QoS 1 throughput that rules take', better: 'lower', unit: '%' },
  ruleCpuMicros: { heading: 'one rule: CPU µs', better: 'lower', unit: 'µs' },
  rulesCpuMicros: { heading: 'that rule of many: CPU µs', better: 'lower', unit: 'µs' },
  othersCpuMicros: { heading: 'many about other topics: CPU µs', better: 'lower', unit: 'µs' },
  rulesTimes: { heading: 'one of many, times one alone', better: 'lower', unit: 'times' },
  calmP50Ms: { heading: 'a pair in calm: p50 ms', better: 'lower', unit: 'ms' },
  calmP99Ms: { heading: 'a pair in calm: p99 ms', better: 'lower', unit: 'ms' },
  calmBytes: { heading: 'in calm: most memory', better: 'lower', unit: 'bytes' },
  flood0P50Ms: { heading: 'beside a QoS 0 flood: p50 ms', better: 'lower', unit: 'ms' },
  flood0P50Times: { heading: '… times that in calm', better: 'lower', unit: 'times' },
  flood0P99Ms: { heading: 'beside a QoS 0 flood: p99 ms', better: 'lower', unit: 'ms' },
  flood0P99Times: { heading: '… times that in calm', better: 'lower', unit: 'times' },
  flood0Bytes: { heading: 'QoS 0 flood: most memory', better: 'lower', unit: 'bytes' },
  flood1P50Ms: { heading: 'beside a QoS 1 flood: p50 ms', better: 'lower', unit: 'ms' },
  flood1P50Times: { heading: '… times that in calm', better: 'lower', unit: 'times' },
  flood1P99Ms: { heading: 'beside a QoS 1 flood: p99 ms', better: 'lower', unit: 'ms' },
  flood1P99Times: { heading: '… times that in calm', better: 'lower', unit: 'times' },
  flood1Bytes: { heading: 'QoS 1 flood: most memory', better: 'lower', unit: 'bytes' },
};

/** `ratio`: how many times better than Mosquitto; the others bound our own figure. */
export interface Bar {
  readonly kind: 'ratio' | 'atMost' | 'atLeast';
  readonly bar: number;
  readonly reach?: number;
}

export type BrokerName = 'ours' | 'mosquitto';

export interface Load {
  readonly title: string;
  readonly figures: readonly Figure[];
  readonly bars: Readonly<Partial<Record<Figure, Bar>>>;
  /** Seconds beyond the measured ones that it takes, where two minutes do not do. */
  readonly overheadSeconds?: number;
  /** Rounds beyond this would say nothing new. */
  readonly roundsMax?: number;
  /** `key=value` for our broker, where its shipped defaults guard against this very load. */
  readonly settings?: readonly string[];
  /** Left out: every broker. */
  readonly brokers?: readonly BrokerName[];
  /** For loads that wait for single packets, which Nagle's algorithm would hold back for 40 ms. */
  readonly mosquittoNodelay?: boolean;
  /** The load launches its brokers itself: none runs when it begins, and `pid` is 0. */
  readonly launches?: boolean;
  /** Runs in the generator's process. */
  run(target: Target): Promise<Outcome>;
}

export interface Target {
  readonly broker: BrokerName;
  readonly port: number;
  readonly pid: number;
  readonly seconds: number;
  /** `key=value` for a broker of ours that the load launches itself. */
  readonly settings?: readonly string[];
  /** Which one, of a load that comes in several. */
  readonly variant?: string;
}

export interface Outcome {
  readonly figures: Figures;
  /** Deliveries that never came, and those that came without having been sent. */
  readonly lost: number;
  readonly extra: number;
  readonly notes: readonly string[];
  readonly busy?: Busy;
}

/** Shares of one core over the measured span. */
export interface Busy {
  readonly broker: number;
  readonly generator: number;
  readonly others: number;
}

/** Names of all loads: the numbered ones of the design first, then the rest by name. */
export function loadNames(): string[] {
  const names = readdirSync(new URL('loads/', import.meta.url))
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => file.slice(0, -'.ts'.length));
  const rank = (name: string): string => (/^s\d/.test(name) ? `0${name}` : `1${name}`);
  return names.sort((a, b) => rank(a).localeCompare(rank(b)));
}

/** `loads`: compared with Mosquitto; `threads`: only ours with itself. */
export type LoadFolder = 'loads' | 'threads';

export async function importLoad(name: string, folder: LoadFolder = 'loads'): Promise<Load> {
  const module = (await import(`./${folder}/${name}.ts`)) as { load: Load };
  return module.load;
}
