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
  | 'exactMs'
  | 'exactCpuMicros'
  | 'branchMs'
  | 'branchCpuMicros'
  | 'allMs'
  | 'pingP99Ms'
  | 'bytesPerRetained';
export type Figures = Readonly<Partial<Record<Figure, number>>>;

export interface FigureKind {
  readonly heading: string;
  /** Decides which way a ratio is taken. */
  readonly better: 'higher' | 'lower';
  readonly unit: 'count' | 'µs' | 'ms' | 'bytes';
}

/** Everything that a load can be judged by. */
export const figures: Readonly<Record<Figure, FigureKind>> = {
  messagesPerSecond: { heading: 'messages/s', better: 'higher', unit: 'count' },
  connectionsPerSecond: { heading: 'connections/s', better: 'higher', unit: 'count' },
  cpuMicros: { heading: 'CPU µs', better: 'lower', unit: 'µs' },
  p50Ms: { heading: 'p50 ms', better: 'lower', unit: 'ms' },
  p99Ms: { heading: 'p99 ms', better: 'lower', unit: 'ms' },
  bytesPerConnection: { heading: 'memory/connection', better: 'lower', unit: 'bytes' },
  startMs: { heading: 'start ms', better: 'lower', unit: 'ms' },
  exactMs: { heading: 'one exact topic: ms', better: 'lower', unit: 'ms' },
  exactCpuMicros: { heading: 'one exact topic: CPU µs', better: 'lower', unit: 'µs' },
  branchMs: { heading: '`+` branch of 100: ms', better: 'lower', unit: 'ms' },
  branchCpuMicros: { heading: '`+` branch of 100: CPU µs', better: 'lower', unit: 'µs' },
  allMs: { heading: '`#`, all of them: ms', better: 'lower', unit: 'ms' },
  pingP99Ms: { heading: "another client's ping meanwhile: p99 ms", better: 'lower', unit: 'ms' },
  bytesPerRetained: { heading: 'memory/retained message', better: 'lower', unit: 'bytes' },
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

export async function importLoad(name: string): Promise<Load> {
  const module = (await import(`./loads/${name}.ts`)) as { load: Load };
  return module.load;
}
