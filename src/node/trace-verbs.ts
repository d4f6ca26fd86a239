// What a worker traces. Its tracer is made for the first trace: most workers never have one.

import type { Broker } from '#core/broker';
import { type Taken, type TraceBatch, Tracer } from '#observe/tracer';
import type { TraceSpec } from '#observe/trace-line';

export type TraceVerbs = {
  /** All traces of the node. What was seen for those before has been reported when it answers. */
  setTraces: (traces: readonly TraceSpec[]) => void;
  /** The control thread has taken so many lines; each worker looks whether they were its own. */
  tracesTaken: (taken: readonly Taken[]) => void;
};

/** The worker, and its way to the control thread. */
export interface TracePlace {
  readonly broker: Broker;
  readonly report: (name: 'traced', batch: TraceBatch) => void;
}

export function traceVerbs({ broker, report }: TracePlace): TraceVerbs {
  let tracer: Tracer | undefined;
  return {
    setTraces(traces) {
      if (tracer === undefined && traces.length === 0) return;
      const { hooks, clock } = broker.core;
      tracer ??= new Tracer({ hooks, clock, send: (batch) => report('traced', batch) });
      tracer.set(traces);
    },
    tracesTaken(taken) {
      for (const one of taken) tracer?.taken(one);
    },
  };
}
