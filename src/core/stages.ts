// A list of things that happen to a packet, in order, inside the current tick until one of them
// really has to wait. While it waits the connection reads nothing, which gives order and
// backpressure for nothing.

import type { Wait } from './ports.ts';

/** What goes through the stages. */
export interface Staged {
  /** A stage had the last word, or the client is gone: the stages after it are not run. */
  readonly isDone: boolean;
  /** Called before the tick is left: what lies in the read buffer must be kept now. */
  keep(): void;
}

export type Stage<S extends Staged> = (subject: S) => Wait;

export function runStages<S extends Staged>(
  stages: readonly Stage<S>[],
  subject: S,
  from = 0,
): Wait {
  for (let i = from; i < stages.length; i++) {
    const wait = (stages[i] as Stage<S>)(subject);
    if (wait !== undefined) {
      subject.keep();
      return wait.then(() => (subject.isDone ? undefined : runStages(stages, subject, i + 1)));
    }
    if (subject.isDone) return undefined;
  }
  return undefined;
}
