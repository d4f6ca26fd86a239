// What `threads` tries: its parts, and of each part the trials that are held against each other. A
// trial is a load under a number of workers; some loads come in variants besides.

import type { LoadFolder } from '../load.ts';

export const trafficParts = ['s1', 's2', 's3', 's4', 's5', 's6'] as const;
export type TrafficPart = (typeof trafficParts)[number];
export type PartName = TrafficPart | 'crossing' | 'storm';
export const partNames: readonly PartName[] = [...trafficParts, 'crossing', 'storm'];

export interface Trial {
  readonly part: PartName;
  readonly folder: LoadFolder;
  readonly workers: number;
  readonly variant?: string;
}

/** Everything in the main thread, as before there were workers; one worker; two. */
const workerCounts = [0, 1, 2];

/** Pairs of clients in the same worker, or in two. */
export const crossingVariants = [
  'within, QoS 0',
  'across, QoS 0',
  'within, QoS 1',
  'across, QoS 1',
] as const;
export type CrossingVariant = (typeof crossingVariants)[number];

export const stormVariants = ['tls', 'tcp'] as const;
export type StormVariant = (typeof stormVariants)[number];
export const stormWorkers: readonly number[] = [1, 2];

/** In the order in which they run: what is compared stands side by side. */
export function trialsOf(part: PartName): Trial[] {
  if (part === 'crossing') {
    return crossingVariants.map((variant) => ({ part, folder: 'threads', workers: 2, variant }));
  }
  if (part === 'storm') {
    return stormVariants.flatMap((variant) =>
      stormWorkers.map((workers) => ({ part, folder: 'threads' as const, workers, variant })),
    );
  }
  return workerCounts.map((workers) => ({ part, folder: 'loads', workers }));
}

export function nameOf({ part, workers, variant }: Trial): string {
  const which = variant === undefined ? part : `${part} ${variant}`;
  return `${which}, ${workers} ${workers === 1 ? 'worker' : 'workers'}`;
}
