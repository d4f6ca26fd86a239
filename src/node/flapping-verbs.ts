// Whose coming and going a worker reports. Its watch is made when a zone wants it: most workers never
// have one.

import type { Broker } from '#core/broker';
import { type FlappingEvent, FlappingWatch } from '#observe/flapping';

export type FlappingVerbs = {
  /** What happens there is reported as `flapping`. */
  watchFlapping: (zones: readonly string[]) => void;
};

/** The worker, and its way to the control thread. */
export interface FlappingPlace {
  readonly broker: Broker;
  readonly report: (name: 'flapping', events: readonly FlappingEvent[]) => void;
}

export function flappingVerbs({ broker, report }: FlappingPlace): FlappingVerbs {
  let watch: FlappingWatch | undefined;
  return {
    watchFlapping(zones) {
      if (watch === undefined && zones.length === 0) return;
      watch ??= new FlappingWatch(broker.hooks, (events) => report('flapping', events));
      watch.set(zones);
    },
  };
}
