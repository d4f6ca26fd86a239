// A subscriber that does not read, flooded at QoS 0 and then at QoS 1: what the broker takes in memory
// meanwhile, and how long the messages of another pair of clients take compared with a calm broker.

import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Client } from '../client.ts';
import { residentBytes } from '../cpu.ts';
import type { FloodOrder, FloodReport } from '../flood.ts';
import type { Qos } from '../frames.ts';
import type { Load, Outcome, Target } from '../load.ts';
import { watchMachine } from '../measure.ts';
import { PacedPair } from '../paced-pair.ts';

const pairRate = 1000;
const floodRate = 20_000;
const floodBytes = 1000;
const floodFile = new URL('../flood.ts', import.meta.url);
/** 20 MB: more than a kernel takes for a client that does not read. */
const fillMs = 1000;
/** Ours ends a connection whose client reads nothing for 15 s. */
const phaseSecondsMax = 10;

export const load: Load = {
  title: `a pair beside a client that does not read ${floodRate / 1000} k messages/s of 1 KB`,
  figures: [
    'calmP50Ms',
    'calmP99Ms',
    'calmBytes',
    'flood0P50Ms',
    'flood0P50Times',
    'flood0P99Ms',
    'flood0P99Times',
    'flood0Bytes',
    'flood1P50Ms',
    'flood1P50Times',
    'flood1P99Ms',
    'flood1P99Times',
    'flood1Bytes',
  ],
  bars: {
    flood0P50Times: { kind: 'atMost', bar: 2 },
    flood0P99Times: { kind: 'atMost', bar: 2 },
    flood1P50Times: { kind: 'atMost', bar: 2 },
    flood1P99Times: { kind: 'atMost', bar: 2 },
  },
  mosquittoNodelay: true,
  run,
};

async function run(target: Target): Promise<Outcome> {
  const doubts = watchMachine(target.pid);
  const pair = await PacedPair.open(target.port, {
    name: 'pair',
    rate: pairRate,
    isEachTimed: true,
  });
  await delay(fillMs);
  const calm = await observe(pair, target);
  const flood0 = await flooded(pair, target, 0);
  const flood1 = await flooded(pair, target, 1);
  const missing = await pair.end();
  return {
    figures: {
      calmP50Ms: calm.p50Ms,
      calmP99Ms: calm.p99Ms,
      calmBytes: calm.bytes,
      flood0P50Ms: flood0.p50Ms,
      flood0P50Times: flood0.p50Ms / calm.p50Ms,
      flood0P99Ms: flood0.p99Ms,
      flood0P99Times: flood0.p99Ms / calm.p99Ms,
      flood0Bytes: flood0.bytes,
      flood1P50Ms: flood1.p50Ms,
      flood1P50Times: flood1.p50Ms / calm.p50Ms,
      flood1P99Ms: flood1.p99Ms,
      flood1P99Times: flood1.p99Ms / calm.p99Ms,
      flood1Bytes: flood1.bytes,
    },
    lost: Math.max(0, missing),
    extra: Math.max(0, -missing),
    notes: [...flood0.notes, ...flood1.notes, ...doubts()],
  };
}

interface Phase {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The most resident memory seen. */
  readonly bytes: number;
}

async function observe(pair: PacedPair, { pid, seconds }: Target): Promise<Phase> {
  pair.latency.clear();
  const end = performance.now() + Math.min(seconds, phaseSecondsMax) * 1000;
  let bytes = 0;
  while (performance.now() < end) {
    bytes = Math.max(bytes, residentBytes(pid));
    await delay(100);
  }
  return { p50Ms: pair.latency.quantile(0.5), p99Ms: pair.latency.quantile(0.99), bytes };
}

async function flooded(
  pair: PacedPair,
  target: Target,
  qos: Qos,
): Promise<Phase & { readonly notes: string[] }> {
  const topic = `bench/flood/${qos}`;
  const stalled = await Client.open(target.port, `bench-stalled-${qos}`);
  await stalled.subscribe(topic, qos);
  stalled.socket.pause();
  const order = { port: target.port, topic, qos, rate: floodRate, payloadBytes: floodBytes };
  const worker = new Worker(floodFile, { workerData: order satisfies FloodOrder });
  await reportOf(worker);
  await delay(fillMs);
  const before = await ask(worker, 'report');
  const begin = performance.now();
  const phase = await observe(pair, target);
  // Asked for before the stop: the end may come with the report.
  const exited = once(worker, 'exit');
  const after = await ask(worker, 'stop');
  const rate = (after.sent - before.sent) / ((performance.now() - begin) / 1000);
  await exited;
  stalled.socket.destroy();
  const notes: string[] = [];
  if (rate < floodRate * 0.95) notes.push(`QoS ${qos}: flooded with ${Math.round(rate)}/s only`);
  if (!after.isOpen) notes.push(`QoS ${qos}: the broker closed the flooding client`);
  return { ...phase, notes };
}

function ask(worker: Worker, word: 'report' | 'stop'): Promise<FloodReport> {
  const report = reportOf(worker);
  worker.postMessage(word);
  return report;
}

async function reportOf(worker: Worker): Promise<FloodReport> {
  const [report] = (await once(worker, 'message')) as [FloodReport];
  return report;
}
