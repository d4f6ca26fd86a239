// Which level the signals of a node ask for. Pure. Law: it takes less to stay on a level than to get
// there, so that a node at the edge does not go to and fro with every sample.

import { Level } from './pressure.ts';

export interface Signals {
  /** What waits for clients, as a share of the budget. */
  readonly held: number;
  /** The heap in use, as a share of its limit. */
  readonly heap: number;
  /** How late timers have been, at the least, for some time; in ms. */
  readonly delayMs: number;
}

/**
 * Where each level begins. The delay of the event loop was measured: a thousand clients that publish
 * as fast as they can, in batches of a hundred, make it 0.4 to 0.9 s late for as long as they do, with
 * memory to spare and nothing lost; that is a busy broker, not one in trouble. The heap leaves room
 * for what has been read already and for the garbage that a collection needs to run.
 */
const begins: { readonly [S in keyof Signals]: readonly [pausing: number, refusing: number] } = {
  held: [0.8, 1],
  heap: [0.8, 0.9],
  delayMs: [1000, 5000],
};
/** A level that was reached is left below this part of where it begins. */
const leaveShare = 0.9;

/** Reading even one more client for the sake of its acknowledgements is a risk from here on. */
const farOver = { held: 1.2, heap: 0.95 } as const;

export function isFarOver({ held, heap }: Signals): boolean {
  return held >= farOver.held || heap >= farOver.heap;
}

export function levelFor(signals: Signals, present: Level): Level {
  let level: Level = Level.calm;
  for (const signal of ['held', 'heap', 'delayMs'] as const) {
    const [pausing, refusing] = begins[signal];
    const value = signals[signal];
    if (value >= limit(refusing, present >= Level.refusing)) return Level.refusing;
    if (value >= limit(pausing, present >= Level.pausing)) level = Level.pausing;
  }
  return level;
}

function limit(begin: number, isReached: boolean): number {
  return isReached ? begin * leaveShare : begin;
}

/** The share of the budget where it becomes worse: at which the next level begins, or far over does. */
export function nextHeldShare(present: Level): number {
  return present === Level.refusing ? farOver.held : (begins.held[present] as number);
}
