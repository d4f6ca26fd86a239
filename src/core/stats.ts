// The gauges of the platform interface, each with the highest value it has had since the start.
// Whoever owns the thing counted moves its gauge; nobody recounts. Where several threads are one node
// the counts are those of the node, in every thread.

import { SharedGauges } from '#base/shared-gauges';

export const gaugeNames = [
  'connections',
  'sessions',
  'sessions/persistent',
  'subscriptions',
  'subscriptions/shared',
  'subscribers',
  'topics',
  'routes',
  'retained',
] as const;
export type GaugeName = (typeof gaugeNames)[number];

const indexOf = Object.fromEntries(gaugeNames.map((name, index) => [name, index])) as {
  readonly [N in GaugeName]: number;
};

/** Places of an Int32Array that so many workers and their control share. */
export function statsPlaces(workers: number): number {
  return SharedGauges.placesOf(gaugeNames.length, workers + 1);
}

export class Stats {
  readonly #gauges: SharedGauges;

  /** `worker`: whose share this is; control has the one behind those of the workers. */
  constructor(memory: Int32Array = new Int32Array(statsPlaces(0)), worker = 0) {
    this.#gauges = new SharedGauges(memory, gaugeNames.length, worker);
  }

  move(name: GaugeName, by: number): void {
    this.#gauges.move(indexOf[name], by);
  }

  /** What this worker has of it is so much now, whatever the others have. */
  set(name: GaugeName, count: number): void {
    const by = count - this.#gauges.share(indexOf[name]);
    if (by !== 0) this.move(name, by);
  }

  count(name: GaugeName): number {
    return this.#gauges.total(indexOf[name]);
  }

  max(name: GaugeName): number {
    return this.#gauges.highest(indexOf[name]);
  }

  /** Takes out what a dead worker had; its successor begins at 0. */
  forget(worker: number): void {
    this.#gauges.forget(worker);
  }

  /** `connections/count`, `connections/max`, … */
  snapshot(): Record<string, number> {
    return Object.fromEntries(
      gaugeNames.flatMap((name) => [
        [`${name}/count`, this.count(name)],
        [`${name}/max`, this.max(name)],
      ]),
    );
  }
}
