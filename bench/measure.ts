// The measured part of a run: a fixed span of time after a warm-up, with counters, clock and
// processor time read together at both ends, and a look at who else was using the machine.

import { setTimeout as delay } from 'node:timers/promises';
import { cpuMicros, machineMicros } from './cpu.ts';
import type { Busy } from './load.ts';

export interface Plan {
  readonly pid: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
  /** Deliveries or connections so far: their growth is the rate. */
  readonly count: () => number;
  /** Work of the broker so far, by which its processor time is divided: messages in and out. */
  readonly work: () => number;
  /** Called when the warm-up is over: what it left in histograms must not be judged. */
  readonly onStart?: () => void;
}

export interface Span {
  readonly perSecond: number;
  /** Processor time of the broker per unit of work. */
  readonly cpuMicros: number;
  readonly busy: Busy;
  /** Why the figures may not say what they seem to. */
  readonly notes: readonly string[];
}

export async function measure(plan: Plan): Promise<Span> {
  await delay(plan.warmUpSeconds * 1000);
  plan.onStart?.();
  const start = reading(plan);
  await delay(plan.seconds * 1000);
  const end = reading(plan);
  const busy = busyBetween(start, end);
  return {
    perSecond: (end.count - start.count) / ((end.ms - start.ms) / 1000),
    cpuMicros: (end.broker - start.broker) / (end.work - start.work),
    busy,
    notes: doubtsAbout(busy),
  };
}

/** For loads without a span of their own: answers, at their end, what to doubt about them. */
export function watchMachine(pid: number): () => string[] {
  const plan = { pid, warmUpSeconds: 0, seconds: 0, count: () => 0, work: () => 0 };
  const start = reading(plan);
  return () => doubtsAbout(busyBetween(start, reading(plan)));
}

function busyBetween(start: Reading, end: Reading): Busy {
  const micros = (end.ms - start.ms) * 1000;
  const broker = end.broker - start.broker;
  const generator = end.generator - start.generator;
  const others = Math.max(0, end.machine - start.machine - broker - generator);
  return { broker: broker / micros, generator: generator / micros, others: others / micros };
}

function doubtsAbout(busy: Busy): string[] {
  const doubts: string[] = [];
  // A generator without idle time beside a broker with some: the rate is the generator's own.
  if (busy.generator > 0.95 && busy.broker < 0.95) doubts.push('rate bound by the generator');
  if (busy.others > 0.1) doubts.push('the machine was not quiet');
  return doubts;
}

interface Reading extends Record<'broker' | 'generator' | 'machine', number> {
  readonly ms: number;
  readonly count: number;
  readonly work: number;
}

function reading(plan: Plan): Reading {
  const own = process.cpuUsage();
  return {
    ms: performance.now(),
    count: plan.count(),
    work: plan.work(),
    broker: cpuMicros(plan.pid),
    generator: own.user + own.system,
    machine: machineMicros(),
  };
}
