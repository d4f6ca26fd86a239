// Asks several and takes what comes: who answered and who did not, in the order they were asked.
// Never rejects, so that one worker in trouble does not hide the others.

import type { Clock } from './clock.ts';
import { describeError } from './errors.ts';

export interface Gathered<Name, T> {
  readonly answers: readonly (readonly [name: Name, answer: T])[];
  readonly missing: readonly (readonly [name: Name, reason: string])[];
}

/** One limit for all of them; without it each promise ends by a deadline of its own. */
export interface GatherLimit {
  readonly clock: Clock;
  readonly deadlineMs: number;
}

export async function gather<Name, T>(
  members: Iterable<readonly [name: Name, answer: Promise<T>]>,
  limit?: GatherLimit,
): Promise<Gathered<Name, T>> {
  const asked = [...members];
  const { promise: late, reject } = Promise.withResolvers<never>();
  // Without a member there is nobody else to handle it.
  late.catch(() => {});
  const timer = limit?.clock.setTimer(limit.deadlineMs, () =>
    reject(new Error(`no answer within ${limit.deadlineMs} ms`)),
  );
  const outcomes = await Promise.allSettled(
    asked.map(([, answer]) => (limit === undefined ? answer : Promise.race([answer, late]))),
  );
  timer?.cancel();
  const answers: (readonly [Name, T])[] = [];
  const missing: (readonly [Name, string])[] = [];
  asked.forEach(([name], place) => {
    const outcome = outcomes[place];
    if (outcome?.status === 'fulfilled') answers.push([name, outcome.value]);
    else missing.push([name, describeError(outcome?.reason)]);
  });
  return { answers, missing };
}
