// The commands `recon …`.

import {
  type AnyOperation,
  defineOperation,
  noParams,
  OperatingError,
  Type,
} from '#sdk/operations';
import type { Allocations } from './allocations.ts';
import { type ByThread, type NodeSample, type Recon, sumOf } from './control.ts';
import type { Peak } from './heap-watch.ts';

const tag = 'Recon';
const keyColumns = 20;
const spaceColumns = 42;
const samplesMax = 60;
const watchSecondsMax = 30;

type Figures = Readonly<Record<string, number>>;
const figures = Type.Record(Type.String(), Type.Number());

export default (recon: Recon): AnyOperation[] => [
  memory(recon),
  allocated(recon),
  topAllocations(recon),
  binLeak(recon),
  nodeStats(recon),
];

const printFigures = (found: Figures, columns: number): string =>
  Object.entries(found)
    .map(([key, value]) => {
      const shown = Number.isInteger(value) ? String(value) : value.toFixed(2);
      return `${key.padEnd(columns)}: ${shown}`;
    })
    .join('\n');

function memory(recon: Recon): AnyOperation {
  return defineOperation({
    name: 'recon_memory',
    descr: 'Show how much of the memory that was taken is used, now and at its highest',
    tag,
    cli: {
      words: 'recon memory',
      args: [],
      print: (found: Figures) => printFigures(found, keyColumns),
    },
    params: noParams,
    result: figures,
    async run() {
      const heaps = (await recon.heaps()).map(([, heap]) => heap);
      const used = sumOf(heaps.map((heap) => heap.used));
      const taken = sumOf(heaps.map((heap) => heap.allocated));
      const by = (of: (peak: keyof Peak) => number) => [of('current'), of('max')] as const;
      const rows = {
        usage: by((peak) => used[peak] / taken[peak]),
        used: by((peak) => used[peak]),
        allocated: by((peak) => taken[peak]),
        unused: by((peak) => taken[peak] - used[peak]),
      };
      return Object.fromEntries(
        Object.entries(rows).flatMap(([name, [current, max]]) => [
          [`${name}/current`, current],
          [`${name}/max`, max],
        ]),
      );
    },
  });
}

function allocated(recon: Recon): AnyOperation {
  return defineOperation({
    name: 'recon_allocated',
    descr: 'Show what the memory was taken for: spaces of the heaps, and memory outside of them',
    tag,
    cli: {
      words: 'recon allocated',
      args: [],
      print: (found: Figures) => printFigures(found, spaceColumns),
    },
    params: noParams,
    result: figures,
    async run() {
      const heaps = (await recon.heaps()).map(([, { spaces }]) => spaces);
      const names = new Set(heaps.flatMap((spaces) => Object.keys(spaces)));
      const sums = [...names].map((name) => {
        return [name, sumOf(heaps.flatMap((spaces) => spaces[name] ?? []))] as const;
      });
      const rows = (peak: keyof Peak) =>
        sums.map(([name, sum]) => [`${name}/${peak}`, sum[peak]] as const);
      return Object.fromEntries([...rows('current'), ...rows('max')]);
    },
  });
}

interface ThreadAllocations extends Allocations {
  readonly thread: string;
}

const allocations = Type.Object({
  thread: Type.String(),
  bytes: Type.Integer({ description: 'Allocated meanwhile, whether collected since or not' }),
  top: Type.Array(
    Type.Object({ function: Type.String(), at: Type.String(), bytes: Type.Integer() }),
  ),
});

function topAllocations(recon: Recon): AnyOperation {
  return defineOperation({
    name: 'recon_top_allocations',
    descr: 'Watch for some seconds which functions allocate most in each thread',
    tag,
    cli: {
      words: 'recon top_allocations',
      args: ['seconds?'],
      options: { '--worker': 'worker' },
      usage: '[<Seconds>] [--worker <Number>]',
      print: printAllocations,
    },
    params: Type.Object({
      seconds: Type.Integer({ minimum: 1, maximum: watchSecondsMax, default: 10 }),
      worker: Type.Optional(Type.Integer({ minimum: 0, maximum: 255, description: 'Only this' })),
    }),
    result: Type.Array(allocations),
    async run({ seconds, worker }, { signal }): Promise<ThreadAllocations[]> {
      const found = await recon.allocations(seconds * 1000, signal);
      const wanted = worker === undefined ? found : onlyOf(found, `worker ${worker}`);
      return wanted.map(([thread, one]) => ({ thread, ...one }));
    },
  });
}

function onlyOf<T>(found: ByThread<T>, thread: string): ByThread<T> {
  const only = found.filter(([name]) => name === thread);
  if (only.length > 0) return only;
  const there = found.map(([name]) => name).join(', ');
  throw new OperatingError('notFound', `Cannot find ${thread}: there are ${there}`);
}

function printAllocations(found: readonly ThreadAllocations[]): string {
  const lines = found.flatMap(({ thread, bytes, top }) => {
    const columns = String(bytes).length;
    const rows = top.map(({ function: name, at, bytes: own }) => {
      const share = `${((own / bytes) * 100).toFixed(1)}%`.padStart(6);
      return `  ${String(own).padStart(columns)} ${share}  ${name} ${at}`.trimEnd();
    });
    return [`${thread}: allocated=${bytes}`, ...rows];
  });
  return lines.join('\n');
}

const collected = Type.Object({
  before: Type.Integer(),
  after: Type.Integer(),
  freed: Type.Integer(),
});

interface Leak {
  readonly before: number;
  readonly after: number;
  readonly freed: number;
  readonly threads: Readonly<Record<string, Omit<Leak, 'threads'>>>;
}

function binLeak(recon: Recon): AnyOperation {
  return defineOperation({
    name: 'recon_bin_leak',
    descr: 'Collect garbage in all threads at once, and show what it set free outside of the heaps',
    tag,
    cli: { words: 'recon bin_leak', args: [], print: printLeak },
    params: noParams,
    result: Type.Intersect([
      collected,
      Type.Object({ threads: Type.Record(Type.String(), collected) }),
    ]),
    async run(): Promise<Leak> {
      const rows = (await recon.collect()).map(([thread, { before, after }]) => {
        return [thread, { before, after, freed: Math.max(0, before - after) }] as const;
      });
      const sum = (of: keyof Omit<Leak, 'threads'>): number =>
        rows.reduce((total, [, row]) => total + row[of], 0);
      const threads = Object.fromEntries(rows.sort(([, a], [, b]) => b.freed - a.freed));
      return { before: sum('before'), after: sum('after'), freed: sum('freed'), threads };
    },
  });
}

function printLeak({ threads, ...sums }: Leak): string {
  const lines = Object.entries(threads).map(
    ([thread, { before, after, freed }]) =>
      `  ${thread}: before=${before}, after=${after}, freed=${freed}`,
  );
  return [printFigures(sums, keyColumns), ...lines].join('\n');
}

function nodeStats(recon: Recon): AnyOperation {
  return defineOperation({
    name: 'recon_node_stats',
    descr: 'Show each second what it brought: traffic, memory, and how the threads fared',
    tag,
    cli: {
      words: 'recon node_stats',
      args: ['samples?'],
      usage: '[<Samples>]',
      print: printSamples,
    },
    params: Type.Object({
      samples: Type.Integer({
        minimum: 1,
        maximum: samplesMax,
        default: 10,
        description: 'How many seconds',
      }),
    }),
    run: ({ samples }, { signal }) => recon.samples(samples, signal),
  });
}

async function* printSamples(samples: AsyncIterable<NodeSample>): AsyncGenerator<string> {
  for await (const sample of samples) yield linesOf(sample).join('\n');
}

function linesOf(sample: NodeSample): string[] {
  const { connections, messagesReceived, messagesSent, bytesReceived, bytesSent } = sample;
  const traffic =
    `messages_received=${messagesReceived}, messages_sent=${messagesSent}, ` +
    `bytes_received=${bytesReceived}, bytes_sent=${bytesSent}`;
  const node = `Node(connections=${connections}, ${traffic}, memory=${sample.memoryBytes})`;
  return [node, ...threadLines(sample.threads)];
}

function threadLines(threads: NodeSample['threads']): string[] {
  return threads.map(([thread, pulse]) => {
    const busy = `busy=${(pulse.busyShare * 100).toFixed(1)}%`;
    const delay = `delay=${pulse.delayMeanMs.toFixed(1)}ms, delay_max=${pulse.delayMaxMs.toFixed(1)}ms`;
    const garbage = `gc=${pulse.collections}, gc_time=${pulse.collectionMs.toFixed(1)}ms`;
    return `  ${thread}: ${busy}, ${delay}, ${garbage}`;
  });
}
