// How long a part of a plugin may take to start, and to be undone. Law: nobody waits for ever for a plugin,
// neither those who load another one nor those who stop the broker.

import type { Clock } from '#base/clock';

export const startMsMax: number = 10_000;
export const undoMsMax: number = 5_000;

/** Rejects when it takes too long; what comes of it later is not looked at. */
export function startedInTime<T>(clock: Clock, started: Promise<T>): Promise<T> {
  return inTime(clock, started, startMsMax, `it has not started within ${startMsMax} ms`);
}

export function inTime<T>(clock: Clock, work: Promise<T>, ms: number, late: string): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const timer = clock.setTimer(ms, () => reject(new Error(late)));
  work.then(resolve, reject).finally(() => timer.cancel());
  return promise;
}
